"""Scans: sums and products of all elements up to each position."""

from __future__ import annotations

from tensorframe.dtypes import COMPLEX, DTypeLike
from tensorframe.errors import ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.operands import accumulated, flattened
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import flag
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.graph.shape import normalize_axis
from tensorframe.ops.movement import PAD
from tensorframe.ops.reduction import CUMULATIVE_PROD, CUMULATIVE_SUM

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum"]


def scanned(op: Op, x: Tensor, axis: int | None, *, start: int | None) -> Tensor:
    """Return the scan `op` along `axis`, with the value `start` in front unless it is None."""
    if not x.ndim:
        x = flattened(x)  # one element is a vector of one, as in NumPy
    if axis is None and x.ndim != 1:
        raise ShapeError(
            f"{op.name}: a tensor of {x.ndim} dimensions needs an axis",
            suggestions=("axis=0", "x.reshape(-1) first, to run through all elements"),
        )
    along = normalize_axis(op.name, 0 if axis is None else axis, x.ndim)
    if start is None:
        return call(op, x, attrs=(along,))
    padding = (tuple(int(dimension == along) for dimension in range(x.ndim)), (0,) * x.ndim, start)
    if op is CUMULATIVE_PROD and x.dtype in COMPLEX:
        # one kernel more, but 1 * complex(inf, 0) is not complex(inf, 0)
        return call(PAD, call(op, x, attrs=(along,)), attrs=padding)
    return call(op, call(PAD, x, attrs=padding), attrs=(along,))


def cumulative_sum(
    x: ArrayLike,
    /,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    out: Output = None,
    include_initial: bool = False,
) -> Tensor:
    """Sums of the elements up to each position along `axis`, which only a 1-d tensor may leave out.

    Dtypes as for `sum`. `include_initial` puts a 0 in front: the axis becomes one longer.

    >>> tfr.cumulative_sum(tfr.asarray([1, 2, 3]), include_initial=True).tolist()
    [0, 1, 3, 6]
    >>> tfr.cumulative_sum(tfr.asarray([[1, 2, 3], [4, 5, 6]]), axis=1).tolist()
    [[1, 3, 6], [4, 9, 15]]
    """
    start = 0 if flag("cumulative_sum", "include_initial", include_initial) else None
    result = scanned(CUMULATIVE_SUM, accumulated(x, dtype), axis, start=start)
    return delivered("cumulative_sum", result, out)


def cumulative_prod(
    x: ArrayLike,
    /,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    out: Output = None,
    include_initial: bool = False,
) -> Tensor:
    """Products of the elements up to each position along `axis`, which only a 1-d tensor may leave out.

    Dtypes as for `sum`. `include_initial` puts a 1 in front: the axis becomes one longer.

    >>> tfr.cumulative_prod(tfr.asarray([2, 3, 4])).tolist()
    [2, 6, 24]
    >>> tfr.cumulative_prod(tfr.asarray([[1, 2, 3], [4, 5, 6]]), axis=0).tolist()
    [[1, 2, 3], [4, 10, 18]]
    """
    start = 1 if flag("cumulative_prod", "include_initial", include_initial) else None
    result = scanned(CUMULATIVE_PROD, accumulated(x, dtype), axis, start=start)
    return delivered("cumulative_prod", result, out)


def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Output = None
) -> Tensor:
    """Sums of the elements up to each position along `axis`; None runs through all elements in C order.

    >>> tfr.cumsum(tfr.asarray([[1, 2], [3, 4]])).tolist()
    [1, 3, 6, 10]
    """
    tensor = accumulated(a, dtype)
    tensor = flattened(tensor) if axis is None else tensor
    return delivered("cumsum", scanned(CUMULATIVE_SUM, tensor, axis, start=None), out)


def cumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Output = None
) -> Tensor:
    """Products of the elements up to each position along `axis`; None runs through all elements in C order.

    >>> tfr.cumprod(tfr.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [[1, 2], [3, 8]]
    """
    tensor = accumulated(a, dtype)
    tensor = flattened(tensor) if axis is None else tensor
    return delivered("cumprod", scanned(CUMULATIVE_PROD, tensor, axis, start=None), out)
