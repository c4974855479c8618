"""The public namespace: every name of the Array API standard, and what NumPy users reach for beside it."""

from __future__ import annotations

from tensorframe import backends, config, dtypes, errors
from tensorframe.backends.registry import use_backend
from tensorframe.dtypes import get_default_dtype, set_default_dtype
from tensorframe.frontend import (
    array_methods,
    dlpack,
    fft,
    host,
    indexing,
    linalg,
    numpy_functions,
    operators,
    printing,
    random,
    scalars,
    ufuncs,
)
from tensorframe.frontend.aliases import *
from tensorframe.frontend.array_methods import diagonal, trace
from tensorframe.frontend.calculus import *
from tensorframe.frontend.closeness import *
from tensorframe.frontend.computing import *
from tensorframe.frontend.constants import *
from tensorframe.frontend.contractions import *
from tensorframe.frontend.covariance import *
from tensorframe.frontend.creation import *
from tensorframe.frontend.data_types import *
from tensorframe.frontend.editing import *
from tensorframe.frontend.einsum import *
from tensorframe.frontend.elementwise import *
from tensorframe.frontend.histograms import *
from tensorframe.frontend.inspection import __array_namespace_info__
from tensorframe.frontend.interpolation import *
from tensorframe.frontend.io import *
from tensorframe.frontend.joining import *
from tensorframe.frontend.limits import *
from tensorframe.frontend.manipulation import *
from tensorframe.frontend.nan_reductions import *
from tensorframe.frontend.order_statistics import *
from tensorframe.frontend.padding import *
from tensorframe.frontend.plans import *
from tensorframe.frontend.ranges import *
from tensorframe.frontend.reductions import *
from tensorframe.frontend.scalar_types import *
from tensorframe.frontend.scans import *
from tensorframe.frontend.searching import *
from tensorframe.frontend.sets import *
from tensorframe.frontend.softmax import *
from tensorframe.frontend.sorting import *
from tensorframe.frontend.statistics import *
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.triangles import *
from tensorframe.graph.device import Device

__array_api_version__ = "2025.12"

# these modules are imported for what they attach to Tensor
_ATTACHING = {
    "array_methods",
    "dlpack",
    "host",
    "indexing",
    "numpy_functions",
    "operators",
    "printing",
    "scalars",
    "ufuncs",
}

__all__ = ["__array_api_version__", "__array_namespace_info__"]
__all__ += [name for name in dir() if name[0] != "_" and name not in {"annotations", *_ATTACHING}]
array_methods.attach(globals())
