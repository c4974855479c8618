"""Names on demand: what of the public namespace is loaded when it is first named, since few programs name it.

Importing the package runs none of these modules: they are a third of the frontend, and whoever uses one does not mind
a millisecond. To users they are names like all others: `dir`, completion and `from tensorframe import *` know them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorframe.documentation.docstrings import complete
from tensorframe.frontend.dtypes.numpy_only_dtypes import taking_any_data

if TYPE_CHECKING:
    from importlib.abc import Loader as _Loader
else:  # importing it takes as long as two modules of ours
    _Loader = object

# a module of the frontend, and the public names that it is loaded for: all that it exports
EXPORTS = {
    "mixed_precision.autocast": "autocast",
    "diagnostics.autotuning": "Autotuning autotune",
    "diagnostics.calibration": "Calibration calibrate",
    "creation.geometric": "geomspace logspace",
    "creation.grids": "fromfunction indices meshgrid",
    "diagnostics.doctor": "doctor",
    "files.leaves": "from_reader",
    "files.loading": "load load_metadata",
    "files.saving": "save",
    "user_functions.elementwise": "elementwise",
    "mixed_precision.grad_scaler": "GradScaler",
    "indexing.segments": "index_add segment_max segment_mean segment_min segment_prod segment_sum",
    "jit.jit": "jit",
    "linalg.stacks": "einsum_path matvec vecmat",
    "dtypes.machine_limits": "finfo iinfo",
    "numpy_names.along": "apply_along_axis apply_over_axes",
    "numpy_names.bits": "packbits unpackbits",
    "numpy_names.choosing": "choose compress extract piecewise resize select",
    "numpy_names.copies": "asanyarray asarray_chkfinite ascontiguousarray asfortranarray copy frombuffer fromiter "
    "fromstring",
    "numpy_names.elementwise": "angle bitwise_count divmod fabs fix float_power frexp gcd i0 iscomplex iscomplexobj "
    "isreal isrealobj lcm ldexp logaddexp2 modf real_if_close rint spacing unwrap",
    "numpy_names.files": "fromfile genfromtxt loadtxt savetxt savez savez_compressed",
    "numpy_names.joint_histograms": "histogram2d histogramdd trim_zeros",
    "numpy_names.names": "False_ True_ array2string array_repr array_str base_repr binary_repr byte cdouble "
    "complexfloating csingle double dtype errstate euler_gamma exceptions floating format_float_positional "
    "format_float_scientific generic get_printoptions geterr half index_exp inexact int_ intc integer intp "
    "isscalar issubdtype iterable long longlong ndarray ndim ndindex number printoptions s_ set_printoptions "
    "seterr shape short signedinteger single size typename ubyte uint uintc uintp ulong ulonglong unsignedinteger "
    "ushort vectorize",
    "numpy_names.numpys_own": "ScalarType asmatrix bmat broadcast busday_count busday_offset busdaycalendar bytes_ "
    "character clongdouble common_type datetime64 datetime_as_string datetime_data flatiter flexible frompyfunc "
    "fromregex get_include getbufsize geterrcall info is_busday isfortran isnat little_endian longdouble "
    "matrix may_share_memory memmap min_scalar_type mintypecode nditer nested_iters object_ recarray "
    "record require row_stack sctypeDict setbufsize seterrcall shares_memory show_config show_runtime "
    "str_ timedelta64 typecodes ufunc void",
    "numpy_names.polynomials": "poly poly1d polyadd polyder polydiv polyfit polyint polymul polysub polyval roots "
    "vander",
    "numpy_names.positions": "c_ diag_indices diag_indices_from ix_ mask_indices mgrid ndenumerate ogrid r_ "
    "ravel_multi_index tril_indices_from triu_indices_from unravel_index",
    "numpy_names.writing": "copyto fill_diagonal place put put_along_axis putmask",
    "numpy_names.windows": "bartlett blackman hamming hanning kaiser",
    "ordering.histograms": "Histogram bincount digitize histogram histogram_bin_edges",
    "ordering.interpolation": "interp",
    "ordering.lexicographic": "lexsort sort_complex",
    "ordering.order_statistics": "median nanmedian nanpercentile nanquantile percentile quantile",
    "ordering.sets": "UniqueAll UniqueCounts UniqueInverse intersect1d isin setdiff1d setxor1d union1d unique "
    "unique_all unique_counts unique_inverse unique_values",
    "diagnostics.profiling": "Profile profile",
    "raw_kernels.kernel": "raw_kernel",
    "reductions.calculus": "convolve correlate gradient trapezoid",
    "reductions.covariance": "corrcoef cov",
    "reductions.differences": "diff ediff1d",
    "reductions.nan_reductions": "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd "
    "nansum nanvar",
    "transformations.checking": "check_gradient",
    "transformations.checkpoints": "checkpoint",
    "transformations.custom": "custom_gradient stop_gradient",
    "transformations.directional": "hessian hvp jacobian jvp",
    "transformations.gradients": "grad value_and_grad vjp",
    "transformations.mapping": "vmap",
    "trees": "register_tree",
    "trials.estimates": "Estimate estimate",
    "trials.timing": "Benchmark bench",
    "trials.verification": "Verification verify",
}
# public names that are modules themselves, and where they stand
NAMESPACES = {
    "cache": "tensorframe.frontend.diagnostics.cache",
    "char": "numpy.char",
    "ctypeslib": "numpy.ctypeslib",
    "emath": "tensorframe.frontend.numpy_names.emath",
    "extensions": "tensorframe.extensions",
    "fft": "tensorframe.frontend.fft",
    "lib": "tensorframe.frontend.numpy_names.lib",
    "ma": "numpy.ma",
    "memory": "tensorframe.frontend.diagnostics.memory",
    "nn": "tensorframe.nn",
    "polynomial": "numpy.polynomial",
    "optim": "tensorframe.optim",
    "quantization": "tensorframe.nn.quantization",
    "rec": "numpy.rec",
    "random": "tensorframe.frontend.random",
    "sparse": "tensorframe.sparse",
    "special": "tensorframe.frontend.special",
    "strings": "numpy.strings",
    "testing": "tensorframe.testing",
    "typing": "numpy.typing",
}

# public modules that have other names in the import system
_ELSEWHERE = {"exceptions", "linalg"} | {
    name for name, place in NAMESPACES.items() if place != f"tensorframe.{name}"
}

_HOMES = {name: module for module, names in EXPORTS.items() for name in names.split()}

__all__ = [*_HOMES, *NAMESPACES]  # noqa: PLE0604 - these are names


def __getattr__(name: str) -> Any:
    """Return a public name of the package that was not used before; from then on it is there."""
    import tensorframe

    if name in NAMESPACES:
        module: Any = import_module(NAMESPACES[name])
    elif name in _HOMES:
        home = import_module(f"tensorframe.frontend.{_HOMES[name]}")
        module = getattr(home, name)
        module = taking_any_data({name: module}).get(name, module)
    else:
        message = f"module {tensorframe.__name__!r} has no attribute {name!r}{_removed(name)}"
        raise AttributeError(message, name=name, obj=tensorframe)
    complete(tensorframe.__name__, [(name, module)])
    setattr(tensorframe, name, module)
    return module


class _ImportedElsewhere(_Loader):
    """A loader for public names of modules that stand elsewhere: it gives the module that is there already."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    def create_module(self, _spec: ModuleSpec) -> ModuleType:
        """Return the module, of which the import system takes the specification for its own."""
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module back its own specification."""
        module.__spec__ = self._spec


class _PublicModules:
    """A finder, so that `from tensorframe.linalg import norm` imports what `tensorframe.linalg` is."""

    @staticmethod
    def find_spec(
        name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how a public module, or one within it, is imported; None for every other name."""
        package, _, rest = name.partition(".")
        first, *parts = rest.split(".")
        if package != _PACKAGE or first not in _ELSEWHERE:
            return None
        module = getattr(sys.modules[package], first)  # as if it were named without an import
        for part in parts:
            inner = getattr(module, part, None)
            with suppress(ModuleNotFoundError):
                inner = inner or import_module(f"{module.__name__}.{part}")
            if not isinstance(inner, ModuleType):
                return None
            module = inner
        return ModuleSpec(name, _ImportedElsewhere(module))


_PACKAGE = __name__.partition(".")[0]
# first: where such a module is a package, a search along its path would find modules in it, and load them once more
sys.meta_path.insert(0, _PublicModules)


def _removed(name: str) -> str:
    """Return what NumPy says about a name that it had and has no more, or nothing."""
    import warnings

    try:
        with warnings.catch_warnings(action="ignore"):
            getattr(np, name)
    except AttributeError as error:
        text = str(error)
        return f": {text}" if " was " in text else ""
    return ""


def __dir__() -> list[str]:
    """Return the names of the package, those that were not used yet among them."""
    import tensorframe

    return sorted({*vars(tensorframe), *__all__})
