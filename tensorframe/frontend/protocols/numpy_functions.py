"""NumPy's functions on tensors: np.mean(t) is tfr.mean(t), and what we do not have runs in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache, partial
from inspect import Parameter, signature
from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX, DType
from tensorframe.frontend.protocols.ufuncs import deliver, through_numpy, written_to
from tensorframe.frontend.tensor import Tensor, method

Function = Callable[..., Any]

# Functions that mean the same here, as far as both take the same arguments. Others of one name do not: NumPy's
# allclose answers in Python, its nanargmax raises on NaN alone, its can_cast follows other rules.
SAME = frozenset(
    """
    all any append arange argmax argmin argpartition argsort argwhere array array_split
    asarray astype atleast_1d atleast_2d atleast_3d average block broadcast_arrays
    broadcast_to clip column_stack convolve corrcoef count_nonzero cov cross cumprod cumsum
    cumulative_prod cumulative_sum delete diag diagflat diff digitize dot dsplit dstack
    ediff1d einsum empty empty_like expand_dims eye fix flatnonzero flip fliplr flipud full
    full_like geomspace gradient histogram histogram_bin_edges hsplit hstack identity imag
    inner insert interp intersect1d isclose isin isneginf isposinf kron linspace logspace
    matrix_transpose max mean median meshgrid min moveaxis nan_to_num nancumsum nanmax
    nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar nonzero
    ones ones_like outer pad partition percentile permute_dims prod ptp put_along_axis
    quantile ravel real repeat reshape roll rollaxis rot90 searchsorted setdiff1d sinc sort
    split squeeze stack std sum swapaxes take take_along_axis tensordot tile transpose
    trapezoid tril triu union1d unique unique_all unique_counts unique_inverse unique_values
    unstack var vdot vecdot vsplit vstack where zeros zeros_like
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
        result = record(*args, **options)
    else:
        result = through_numpy(function, args, options)
    return result if out is None else deliver(result, out)


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


@answers(np.copyto)
def _copyto(dst: Any, src: Any) -> None:
    dst[...] = src


for _function in (np.fill_diagonal, np.place, np.put, np.putmask):
    ANSWERS[_function] = partial(written_to, _function)


@answers(np.array_repr)
def _repr(arr: Tensor) -> str:
    return repr(arr)


@answers(np.array_str)
def _str(a: Tensor) -> str:
    return str(a)


@answers(np.round, np.around)
def _round(a: Tensor, decimals: int = 0) -> Any:
    return a.round(decimals)


@answers(np.diagonal)
def _diagonal(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return a.diagonal(offset, axis1, axis2)


@answers(np.trace)
def _trace(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return a.trace(offset, axis1, axis2, dtype)


@answers(np.std)
def _std(a: Tensor, axis: Any = None, dtype: Any = None, *, ddof: float = 0, **options: Any) -> Any:
    options.setdefault("correction", ddof)
    return _in(a, dtype).std(axis=axis, **options)


@answers(np.var)
def _var(a: Tensor, axis: Any = None, dtype: Any = None, *, ddof: float = 0, **options: Any) -> Any:
    options.setdefault("correction", ddof)
    return _in(a, dtype).var(axis=axis, **options)


def _in(tensor: Tensor, dtype: Any) -> Tensor:
    return tensor if dtype is None else tensor.astype(dtype)


__all__: list[str] = []
