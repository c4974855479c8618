"""Names on demand: what of the public namespace is loaded when it is first named, since few programs name it.

Importing the package runs none of these modules: they are a third of the frontend, and whoever uses one does not mind
a millisecond. To users they are names like all others: `dir`, completion and `from tensorframe import *` know them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# a module of the frontend, and the public names that it is loaded for: all that it exports
EXPORTS = {
    "autocast": "autocast",
    "calibration": "Calibration calibrate",
    "doctor": "doctor",
    "files.leaves": "from_reader",
    "files.loading": "load load_metadata",
    "files.saving": "save",
    "functions.elementwise": "elementwise",
    "grad_scaler": "GradScaler",
    "indexing.segments": "index_add segment_max segment_mean segment_min segment_prod segment_sum",
    "jit": "jit",
    "machine_limits": "finfo iinfo",
    "ordering.histograms": "Histogram bincount digitize histogram histogram_bin_edges",
    "ordering.interpolation": "interp",
    "ordering.order_statistics": "median nanmedian nanpercentile nanquantile percentile quantile",
    "ordering.sets": "UniqueAll UniqueCounts UniqueInverse intersect1d isin setdiff1d union1d unique unique_all "
    "unique_counts unique_inverse unique_values",
    "profiling": "Profile profile",
    "reductions.calculus": "convolve gradient trapezoid",
    "reductions.covariance": "corrcoef cov",
    "reductions.differences": "diff ediff1d",
    "reductions.nan_reductions": "nanargmax nanargmin nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar",
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
    "cache": "tensorframe.frontend.cache",
    "fft": "tensorframe.frontend.fft",
    "memory": "tensorframe.frontend.memory",
    "nn": "tensorframe.nn",
    "optim": "tensorframe.optim",
    "random": "tensorframe.frontend.random",
}

_HOMES = {name: module for module, names in EXPORTS.items() for name in names.split()}

__all__ = [*_HOMES, *NAMESPACES]  # noqa: PLE0604 - these are names


def __getattr__(name: str) -> Any:
    """Return a public name of the package that was not asked for before; from then on it is there."""
    import tensorframe

    if name in NAMESPACES:
        module: Any = import_module(NAMESPACES[name])
    elif name in _HOMES:
        module = getattr(import_module(f"tensorframe.frontend.{_HOMES[name]}"), name)
    else:
        message = f"module {tensorframe.__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=tensorframe)
    setattr(tensorframe, name, module)
    return module


def __dir__() -> list[str]:
    """Return the names of the package, those that were not asked for yet among them."""
    import tensorframe

    return sorted({*vars(tensorframe), *__all__})
