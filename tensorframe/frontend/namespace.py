"""The public namespace: every name of the Array API standard, and what NumPy users reach for beside it.

What few programs need stands in `on_demand`.
"""

from __future__ import annotations

from tensorframe import backends, config, dtypes, errors
from tensorframe.backends.registry import get_backend, set_backend, use_backend
from tensorframe.backends.selection import set_backend_priority
from tensorframe.dtypes import get_default_dtype, set_default_dtype
from tensorframe.frontend import linalg
from tensorframe.frontend.computing import *
from tensorframe.frontend.creation.filled import *
from tensorframe.frontend.creation.ranges import *
from tensorframe.frontend.creation.triangles import *
from tensorframe.frontend.diagnostics.plans import *
from tensorframe.frontend.dtypes.constants import *
from tensorframe.frontend.dtypes.data_types import *
from tensorframe.frontend.dtypes.numpy_only_dtypes import taking_any_data
from tensorframe.frontend.dtypes.scalar_types import *
from tensorframe.frontend.elementwise import operators
from tensorframe.frontend.elementwise.closeness import *
from tensorframe.frontend.elementwise.functions import *
from tensorframe.frontend.elementwise.limits import *
from tensorframe.frontend.elementwise.rounding import *
from tensorframe.frontend.indexing import assignment, items
from tensorframe.frontend.indexing.searching import *
from tensorframe.frontend.linalg.contractions import *
from tensorframe.frontend.linalg.einstein_summation import *
from tensorframe.frontend.manipulation.editing import *
from tensorframe.frontend.manipulation.joining import *
from tensorframe.frontend.manipulation.padding import *
from tensorframe.frontend.manipulation.views import *
from tensorframe.frontend.numpy_names.aliases import *
from tensorframe.frontend.ordering.sorting import *
from tensorframe.frontend.protocols import (
    array_methods,
    dlpack_export,
    host,
    ndarray,
    numpy_functions,
    printing,
    scalars,
    ufuncs,
)
from tensorframe.frontend.protocols.array_methods import diagonal, trace
from tensorframe.frontend.protocols.inspection import __array_namespace_info__
from tensorframe.frontend.protocols.native import *
from tensorframe.frontend.reductions.elementary import *
from tensorframe.frontend.reductions.scans import *
from tensorframe.frontend.reductions.softmax import *
from tensorframe.frontend.reductions.statistics import *
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.transformations import pending
from tensorframe.graph.device import Device

__array_api_version__ = "2025.12"

# these modules are imported for what they attach to Tensor
_ATTACHING = {
    "array_methods",
    "assignment",
    "dlpack_export",
    "host",
    "items",
    "ndarray",
    "numpy_functions",
    "operators",
    "pending",
    "printing",
    "scalars",
    "ufuncs",
}
# and these for what the namespace is made with
_MAKING = {"taking_any_data"}

__all__ = ["__array_api_version__", "__array_namespace_info__"]
__all__ += [
    name for name in dir() if name[0] != "_" and name not in {"annotations", *_ATTACHING, *_MAKING}
]
array_methods.attach(globals())
globals().update(taking_any_data({name: globals()[name] for name in __all__}))
