"""NumPy's functions on tensors: np.mean(t) is tfr.mean(t), and what we do not have runs in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from inspect import Parameter, signature
from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX, DType
from tensorframe.errors import DTypeError
from tensorframe.frontend.outputs import deliver
from tensorframe.frontend.protocols.ufuncs import through_numpy
from tensorframe.frontend.tensor import Tensor, method

Function = Callable[..., Any]

# Functions that mean the same here, as far as both take the same arguments. Others of one name do not: NumPy's
# allclose answers in Python, its nanargmax raises on NaN alone, its can_cast follows other rules.
SAME = frozenset(
    """
    all angle any append apply_along_axis apply_over_axes arange argmax argmin argpartition
    argsort argwhere around array array2string array_repr array_split array_str asarray
    astype atleast_1d atleast_2d atleast_3d average bitwise_count block broadcast_arrays
    broadcast_to choose clip column_stack compress convolve copyto corrcoef correlate
    count_nonzero cov cross cumprod cumsum cumulative_prod cumulative_sum delete diag
    diag_indices_from diagflat diagonal diff digitize dot dsplit dstack ediff1d einsum
    einsum_path empty empty_like expand_dims extract eye fill_diagonal fix flatnonzero flip
    fliplr flipud full full_like geomspace gradient histogram histogram2d
    histogram_bin_edges histogramdd hsplit hstack i0 identity imag inner insert interp
    intersect1d isclose iscomplex isin isneginf isposinf isreal ix_ kron lexsort linspace
    logspace matrix_transpose max mean median meshgrid min moveaxis nan_to_num nancumprod
    nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd
    nansum nanvar nonzero ones ones_like outer packbits pad partition percentile
    permute_dims piecewise place poly polyadd polyder polydiv polyfit polyint polymul
    polysub polyval prod ptp put put_along_axis putmask quantile ravel ravel_multi_index
    real real_if_close repeat reshape resize roll rollaxis roots rot90 round searchsorted
    select setdiff1d setxor1d sinc sort sort_complex split squeeze stack std sum swapaxes
    take take_along_axis tensordot tile trace transpose trapezoid tril tril_indices_from
    trim_zeros triu triu_indices_from union1d unique unique_all unique_counts unique_inverse
    unique_values unpackbits unravel_index unstack unwrap vander var vdot vecdot vsplit
    vstack where zeros zeros_like
    """.split()  # noqa: SIM905 - a table reads better than a hundred quoted names
)
RENAMED = {
    "amax": "max",
    "amin": "min",
    "concatenate": "concat",
    "conjugate": "conj",
}

# answered from shapes and dtypes alone, or with other words; filled by `answers`
ANSWERS: dict[Function, Function] = {}


@method
def __array_function__(
    _self: Tensor, function: Function, types: Iterable[type], args: Any, options: dict[str, Any]
) -> Any:
    if not all(issubclass(kind, Tensor | np.ndarray) for kind in types):
        return NotImplemented
    out = options.get("out")
    options = {name: value for name, value in options.items() if name != "out"}
    record = ANSWERS.get(function) or recorder(function)
    if record is not None and _accepts(record, args, options):
        try:
            result = record(*args, **options)
        except DTypeError as error:
            result = _beside_other_data(function, args, options, error)
    else:
        result = through_numpy(function, args, options)
    return result if out is None else deliver(result, out)


def _beside_other_data(
    function: Function, args: Any, options: dict[str, Any], refused: DTypeError
) -> Any:
    """Return what NumPy gives where tensors stand beside text, objects and the like; else raise our error."""
    try:
        return through_numpy(function, args, options)
    except Exception:  # of any kind: our words help more
        raise refused from None


@cache
def recorder(function: Function) -> Function | None:
    """Return our function that means the same as NumPy's, or None."""
    import tensorframe

    name = function.__name__
    home = getattr(function, "__module__", "numpy")
    if home in ("numpy.linalg", "numpy.fft"):
        extension = getattr(tensorframe, home.removeprefix("numpy."), None)
        return getattr(extension, name, None)
    if home != "numpy" or name not in SAME | RENAMED.keys():
        return None
    return getattr(tensorframe, RENAMED.get(name, name), None)


def _accepts(function: Function, args: Any, options: dict[str, Any]) -> bool:
    """Whether the function has these arguments; NumPy has options that we do not."""
    positions, names = _arguments(function)
    return len(args) <= positions and (names is None or options.keys() <= names)


@cache
def _arguments(function: Function) -> tuple[float, frozenset[str] | None]:
    """Return how many arguments a function takes by position, and which by name (None: any)."""
    parameters = signature(function).parameters.values()
    kinds = [parameter.kind for parameter in parameters]
    by_position = kinds.count(Parameter.POSITIONAL_ONLY) + kinds.count(
        Parameter.POSITIONAL_OR_KEYWORD
    )
    positions = math.inf if Parameter.VAR_POSITIONAL in kinds else by_position
    if Parameter.VAR_KEYWORD in kinds:
        return positions, None
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return positions, frozenset(
        parameter.name for parameter in parameters if parameter.kind in named
    )


def answers(*functions: Function) -> Callable[[Function], Function]:
    """Register the decorated function as the answer to NumPy `functions`."""

    def register(answer: Function) -> Function:
        ANSWERS.update(dict.fromkeys(functions, answer))
        return answer

    return register


@answers(np.shape)
def _shape(a: Tensor) -> tuple[int, ...]:
    return a.shape


@answers(np.ndim)
def _ndim(a: Tensor) -> int:
    return a.ndim


@answers(np.size)
def _size(a: Tensor, axis: int | None = None) -> int:
    return a.size if axis is None else a.shape[axis]


@answers(np.iscomplexobj)
def _is_complex(x: Tensor) -> bool:
    return x.dtype in COMPLEX


@answers(np.isrealobj)
def _is_real(x: Tensor) -> bool:
    return x.dtype not in COMPLEX


@answers(np.result_type)
def _result_type(*operands: Any) -> DType:
    import tensorframe

    dtype: DType = tensorframe.result_type(*operands)
    return dtype


@answers(np.copy)
def _copy(a: Tensor) -> Tensor:
    return Tensor(a.node)


__all__: list[str] = []
