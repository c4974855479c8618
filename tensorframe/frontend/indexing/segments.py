"""Values combined with the elements that indices select: `index_add`, and sums, products and extremes of segments."""

from __future__ import annotations

from typing import Any

from tensorframe.dtypes import BOOL, COMPLEX, INTEGER
from tensorframe.errors import DTypeError, IndexingError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.indexing.assignment import combined_at
from tensorframe.frontend.indexing.index_nodes import as_array, index_node
from tensorframe.frontend.operands import accumulated, expanded, filled, floating, operand, reshaped
from tensorframe.frontend.parameters import count
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.ops.elementwise import MAXIMUM
from tensorframe.ops.indexing import SCATTER_ADD, SCATTER_MAX, SCATTER_MIN, SCATTER_PROD
from tensorframe.ops.reduction import least, most

__all__ = [
    "index_add",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
]


def index_add(x: ArrayLike, key: ArrayLike, values: ArrayLike, /) -> Tensor:
    """`x` with `values` added to the elements that `key` selects; an element that is selected twice gets both.

    What `np.add.at(x, key, values)` does, as a function: `x` stays as it is. `key` is anything that `x[key]` takes;
    `values` broadcast to its selection and are cast to the dtype of `x`: ShapeError and DTypeError if they cannot be.
    PyTorch's `index_add(dim=1)` is `key=(slice(None), indices)`. Floats add up in float64 and are rounded once, in an
    order that positions and sizes decide: the same bits in every run. IndexingError if an index is out of bounds.

    >>> tfr.index_add(tfr.zeros(3), tfr.asarray([0, 2, 2]), tfr.asarray([1.0, 2.0, 3.0])).tolist()
    [1.0, 0.0, 5.0]
    """
    x = operand(x)
    if x.dtype in BOOL:
        raise DTypeError(
            "index_add: takes numbers, got bool", suggestions=("x.astype(tfr.int64) to count",)
        )
    return Tensor(combined_at(SCATTER_ADD, x.node, key, values))


def segment_sum(x: ArrayLike, segment_ids: ArrayLike, /, num_segments: int | None = None) -> Tensor:
    """Sums of the parts of `x` along its first axes that have the same segment number.

    `segment_ids` are integers in any order, of the shape of the first axes of `x`; a negative one counts from the
    end, IndexingError if one is out of bounds. The result has `num_segments` in the place of these axes; a segment
    without parts is 0. Without `num_segments` it is one more than the largest number, which is computed at once. The
    dtype is that of `sum`: small integers and bools become the default integers.

    >>> tfr.segment_sum(tfr.asarray([1.0, 2.0, 3.0]), tfr.asarray([0, 0, 2]), 4).tolist()
    [3.0, 0.0, 3.0, 0.0]
    """
    x = accumulated(x, None)
    return combined(SCATTER_ADD, x, *_segments("segment_sum", x, segment_ids, num_segments), 0)


def segment_prod(
    x: ArrayLike, segment_ids: ArrayLike, /, num_segments: int | None = None
) -> Tensor:
    """Products of the parts of `x` that have the same segment number; 1 for a segment without parts.

    Shapes, dtypes, errors and the default of `num_segments` are those of `segment_sum`.

    >>> tfr.segment_prod(tfr.asarray([2.0, 3.0, 4.0]), tfr.asarray([0, 0, 2]), 3).tolist()
    [6.0, 1.0, 4.0]
    """
    x = accumulated(x, None)
    return combined(SCATTER_PROD, x, *_segments("segment_prod", x, segment_ids, num_segments), 1)


def segment_max(x: ArrayLike, segment_ids: ArrayLike, /, num_segments: int | None = None) -> Tensor:
    """Largest elements of the parts of `x` that have the same segment number, in the dtype of `x`.

    A segment without parts is -inf, or the smallest integer, or False; NaN in a part gives NaN. Complex numbers, which
    have no order, raise DTypeError. Shapes and the default of `num_segments` are those of `segment_sum`.

    >>> tfr.segment_max(tfr.asarray([1, 5, 3]), tfr.asarray([1, 1, 0]), 2).tolist()
    [3, 5]
    """
    x = _ordered("segment_max", x)
    ids = _segments("segment_max", x, segment_ids, num_segments)
    return combined(SCATTER_MAX, x, *ids, least(x.dtype))


def segment_min(x: ArrayLike, segment_ids: ArrayLike, /, num_segments: int | None = None) -> Tensor:
    """Smallest elements of the parts of `x` that have the same segment number, in the dtype of `x`.

    A segment without parts is inf, or the largest integer, or True; NaN in a part gives NaN. Complex numbers, which
    have no order, raise DTypeError. Shapes and the default of `num_segments` are those of `segment_sum`.

    >>> tfr.segment_min(tfr.asarray([1, 5, 3]), tfr.asarray([1, 1, 0]), 2).tolist()
    [3, 1]
    """
    x = _ordered("segment_min", x)
    ids = _segments("segment_min", x, segment_ids, num_segments)
    return combined(SCATTER_MIN, x, *ids, most(x.dtype))


def segment_mean(
    x: ArrayLike, segment_ids: ArrayLike, /, num_segments: int | None = None
) -> Tensor:
    """Means of the parts of `x` that have the same segment number; 0 for a segment without parts.

    Integers and bools become the default real dtype. Shapes, errors and the default of `num_segments` are those of
    `segment_sum`.

    >>> tfr.segment_mean(tfr.asarray([1.0, 2.0, 6.0]), tfr.asarray([0, 0, 2]), 3).tolist()
    [1.5, 0.0, 6.0]
    """
    (x,) = floating(x)
    ids, number = _segments("segment_mean", x, segment_ids, num_segments)
    total = combined(SCATTER_ADD, x, ids, number, 0)
    ones = expanded(filled((), 1, ids.dtype, x.device), ids.shape)
    parts = apply(MAXIMUM, combined(SCATTER_ADD, ones, ids, number, 0), 1)
    return total / reshaped(parts, (number,) + (1,) * (total.ndim - 1))


def combined(op: Op, x: Tensor, ids: Tensor, number: int, first: float) -> Tensor:
    """Return what `op` makes of the parts of `x` in each of `number` segments, beginning with `first`."""
    start = filled((number, *x.shape[ids.ndim :]), first, x.dtype, x.device)
    return call(op, start, x, ids, attrs=((0,), 0))


def _ordered(name: str, x: Any) -> Tensor:
    tensor = operand(x)
    if tensor.dtype in COMPLEX:
        raise DTypeError(
            f"{name}: takes real or bool dtypes, got {tensor.dtype}",
            suggestions=("tfr.abs(x), or tfr.real(x)",),
        )
    return tensor


def _segments(name: str, x: Tensor, segment_ids: Any, num_segments: Any) -> tuple[Tensor, int]:
    """Return the numbers of segments as an index tensor, and how many segments there are."""
    ids = operand(segment_ids)
    if ids.size == 0 and not isinstance(segment_ids, Tensor):
        ids = operand(segment_ids, dtype="int64")
    if ids.dtype not in INTEGER:
        raise DTypeError(
            f"{name}: segment_ids are integers, got {ids.dtype}",
            suggestions=("segment_ids.astype(tfr.int64)",),
        )
    if not ids.ndim or ids.shape != x.shape[: ids.ndim]:
        raise ShapeError(
            f"{name}: segment_ids of shape {ids.shape} are not one for each part along the first axes of x, "
            f"whose shape is {x.shape}",
            suggestions=("tfr.moveaxis(x, axis, 0) if another axis has the parts",),
        )
    given = num_segments is not None
    number = count(name, "num_segments", num_segments) if given else _needed(name, ids)
    return Tensor(index_node(ids, 0, number, x.device)), number


def _needed(name: str, ids: Tensor) -> int:
    """Return how many segments the largest number asks for; IndexingError if one counts from the unknown end."""
    values = as_array(ids)
    if not values.size:
        return 0
    if values.min() < 0:
        raise IndexingError(
            f"{name}: segment number {values.min()} counts from an end that only num_segments says",
            suggestions=("num_segments=...",),
        )
    return int(values.max()) + 1
