"""Searching: elements by position or condition, and positions by value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

import numpy as np

from tensorframe.dtypes import BITWISE, BOOL, INTEGER, int64
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.dispatch import (
    PYTHON_NUMBERS,
    SEQUENCES,
    apply,
    as_node,
    call,
    data_node,
)
from tensorframe.frontend.indexing.selection import index_node
from tensorframe.frontend.operands import (
    along,
    comparable,
    converted,
    flattened,
    operand,
    promoted,
    reshaped,
)
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import broadcast, normalize_axes, normalize_axis
from tensorframe.ops.elementwise import NOT_EQUAL, WHERE
from tensorframe.ops.indexing import GATHER, TAKE_ALONG_AXIS
from tensorframe.ops.reduction import SUM
from tensorframe.ops.sorting import SEARCHSORTED

__all__ = [
    "argwhere",
    "count_nonzero",
    "flatnonzero",
    "nonzero",
    "put_along_axis",
    "searchsorted",
    "take",
    "take_along_axis",
    "where",
]


def take(x: Any, indices: Any, /, axis: int | None = None) -> Tensor:
    """Elements of `x` at `indices` along `axis`; of the flattened `x` without an axis.

    The result has the shape of the indices in the place of the axis. IndexingError if an index is out of bounds.

    >>> tfr.take(tfr.asarray([[1, 2, 3], [4, 5, 6]]), tfr.asarray([2, 0]), axis=1).tolist()
    [[3, 1], [6, 4]]
    """
    x, dimension = along("take", x, axis)
    index = _indices("take", indices, dimension, x)
    return call(GATHER, x, index, attrs=((dimension,), dimension))


def take_along_axis(x: Any, indices: Any, /, axis: int | None = -1) -> Tensor:
    """The elements that `indices` pick from their own line of `x` along `axis`: what `argsort` or `argmax` found.

    `x` and `indices` have as many axes, and broadcast outside `axis`. Without an axis both are flattened.

    >>> x = tfr.asarray([[3, 1, 2], [4, 6, 5]])
    >>> tfr.take_along_axis(x, tfr.argsort(x)).tolist()
    [[1, 2, 3], [4, 5, 6]]
    """
    x, dimension = along("take_along_axis", x, axis)
    index = _indices("take_along_axis", indices, dimension, x)
    _need_line("take_along_axis", x, index)
    return call(TAKE_ALONG_AXIS, x, index, attrs=(dimension,))


def put_along_axis(x: Tensor, indices: Any, values: Any, /, axis: int | None = -1) -> None:
    """Make `x` a handle on a copy with `values` at the positions that `take_along_axis` would read.

    No other tensor changes. The values broadcast to the indices. DTypeError if their dtype is of a higher kind.

    >>> x = tfr.asarray([[3, 1], [2, 5]])
    >>> tfr.put_along_axis(x, tfr.asarray([[1], [0]]), 0, axis=1)
    >>> x.tolist()
    [[3, 0], [0, 5]]
    """
    if not isinstance(x, Tensor):
        raise DTypeError(
            f"put_along_axis: changes a Tensor, got {type(x).__name__}",
            suggestions=("tfr.asarray(x) first",),
        )
    if axis is None:
        flat = flattened(operand(x))
        flat[operand(indices)] = values
        x._rebind(reshaped(flat, x.shape).node)
        return
    axis = normalize_axis("put_along_axis", axis, x.ndim)
    index = _indices("put_along_axis", indices, axis, x)
    _need_line("put_along_axis", x, index)
    shape = broadcast("put_along_axis", x.shape[:axis] + (1,) + x.shape[axis + 1 :], index.shape)
    key: list[Any] = [
        np.arange(size).reshape((-1,) + (1,) * (x.ndim - 1 - number))
        for number, size in enumerate(shape)
    ]
    key[axis] = index
    x[tuple(key)] = values


def _need_line(name: str, x: Tensor, index: Tensor) -> None:
    if index.ndim != x.ndim:
        raise ShapeError(
            f"{name}: x has {x.ndim} axes, the indices have {index.ndim}",
            suggestions=("x[indices] or take to select the same elements of every line",),
        )


def _indices(name: str, indices: Any, axis: int, x: Tensor) -> Tensor:
    """Return indices into an axis of `x` as a Tensor of integers within its bounds."""
    if not isinstance(indices, Tensor):
        indices = operand(indices)
        indices = indices.astype(int64) if indices.size == 0 else indices
    if indices.dtype not in INTEGER:
        raise DTypeError(
            f"{name}: indices are integers, got {indices.dtype}",
            suggestions=("x[mask] selects by a mask",) if indices.dtype in BOOL else (),
        )
    return Tensor(index_node(indices, axis, x.shape[axis], x.device))


@overload
def where(condition: Any, /) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Any, x1: Any, x2: Any, /) -> Tensor: ...
def where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    """Elements of `x1` where the condition holds, of `x2` elsewhere; positions of true elements without both.

    All three broadcast; numbers and sequences of numbers may stand for tensors. The condition alone computes, and
    gives `nonzero(condition)`.

    >>> x = tfr.asarray([1.0, -2.0, 3.0])
    >>> tfr.where(x > 0, x, 0.0).tolist()
    [1.0, 0.0, 3.0]
    """
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise DTypeError("where: takes the condition alone, or two values beside it")
    if isinstance(condition, SEQUENCES):
        place = next((side.device for side in (x1, x2) if isinstance(side, Tensor)), None)
        condition = operand(condition, device=place)
    if type(condition) not in PYTHON_NUMBERS:
        condition = Tensor(as_node(condition))
        condition = condition if condition.dtype in BOOL else apply(NOT_EQUAL, condition, 0)
    return apply(WHERE, condition, x1, x2)


def nonzero(x: Any, /) -> tuple[Tensor, ...]:
    """Positions of the elements that are not zero: one tensor for each axis, in C order.

    Computes at once, since the shape depends on the elements. ShapeError for a 0-d tensor.

    >>> [axis.tolist() for axis in tfr.nonzero(tfr.asarray([[0, 1], [2, 0]]))]
    [[0, 1], [1, 0]]
    """
    x = operand(x)
    if x.ndim == 0:
        raise ShapeError("nonzero: a 0-d tensor has no positions", suggestions=("bool(x)",))
    return tuple(Tensor(data_node(places, x.device)) for places in np.nonzero(x._array()))


def argwhere(x: Any, /) -> Tensor:
    """Positions of the elements that are not zero: one row for each. Computes at once.

    >>> tfr.argwhere(tfr.asarray([[0, 1], [2, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    x = operand(x)
    return Tensor(data_node(np.argwhere(x._array()), x.device))


def flatnonzero(x: Any, /) -> Tensor:
    """Positions of the elements that are not zero, in the flattened tensor. Computes at once.

    >>> tfr.flatnonzero(tfr.asarray([[0, 1], [2, 0]])).tolist()
    [1, 2]
    """
    x = operand(x)
    return Tensor(data_node(np.flatnonzero(x._array()), x.device))


def count_nonzero(
    x: Any, /, axis: int | Iterable[int] | None = None, *, keepdims: bool = False
) -> Tensor:
    """How many elements along `axis` (all axes for None) are not zero; NaN is not zero. The dtype is int64.

    >>> tfr.count_nonzero(tfr.asarray([[0, 1], [2, 3]]), axis=0).tolist()
    [1, 2]
    """
    x = operand(x)
    axes = normalize_axes("count_nonzero", axis, x.ndim)
    present = x if x.dtype in BOOL else apply(NOT_EQUAL, x, 0)
    return call(SUM, converted(present, int64), attrs=(axes, keepdims))


def searchsorted(x1: Any, x2: Any, /, side: str = "left", sorter: Any = None) -> Tensor:
    """Where to insert the values `x2` into the sorted vector `x1` to keep it sorted.

    `side="left"` gives `x1[i - 1] < v <= x1[i]`, `side="right"` gives `x1[i - 1] <= v < x1[i]`. `sorter` holds
    positions that sort `x1` (from `argsort`). The shape is that of `x2`; NaN sorts last.

    >>> tfr.searchsorted(tfr.asarray([1.0, 2.0, 3.0]), tfr.asarray([2.0, 9.0])).tolist()
    [1, 3]
    """
    if side not in ("left", "right"):
        raise ArgumentError(f'searchsorted: side is "left" or "right", got {side!r}')
    inputs = promoted(*comparable(x1, x2))
    x1 = inputs[0]
    if x1.ndim != 1:
        raise ShapeError(f"searchsorted: x1 is a sorted vector, got shape {x1.shape}")
    if sorter is not None:
        sorter = operand(sorter)
        if sorter.dtype not in BITWISE or sorter.shape != x1.shape:
            raise ShapeError(
                f"searchsorted: sorter holds one position for each of the {x1.size} elements of x1, "
                f"got {sorter.dtype} of shape {sorter.shape}"
            )
        inputs.append(converted(sorter, int64))
    return call(SEARCHSORTED, *inputs, attrs=(side,))
