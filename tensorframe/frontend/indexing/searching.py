"""Searching: elements by position or condition, and positions by value."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from tensorframe.dtypes import BITWISE, BOOL, COMPLEX, INTEGER, bool_, int64
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.indexing import masks
from tensorframe.frontend.indexing.index_nodes import index_node
from tensorframe.frontend.operand_nodes import (
    PYTHON_NUMBERS,
    SEQUENCES,
    as_node,
    data_node,
    home_of,
)
from tensorframe.frontend.operands import (
    along,
    along_line,
    array_beside,
    comparable,
    converted,
    operand,
    promoted,
)
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import choice
from tensorframe.frontend.tensor import Tensor
from tensorframe.ops.elementwise import MAXIMUM, MINIMUM, NOT_EQUAL, REMAINDER, WHERE
from tensorframe.ops.indexing import GATHER, TAKE_ALONG_AXIS
from tensorframe.ops.sorting import SEARCHSORTED

__all__ = [
    "argwhere",
    "flatnonzero",
    "nonzero",
    "searchsorted",
    "take",
    "take_along_axis",
    "where",
]


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: Output = None,
    mode: Literal["raise", "wrap", "clip"] = "raise",
) -> Tensor:
    """Elements of `a` at `indices` along `axis`; of the flattened `a` without an axis.

    The result has the shape of the indices in the place of the axis. IndexingError if an index is out of bounds, unless
    `mode` is "wrap", which counts on from the other end, or "clip", which takes the element at the end (the first one
    for negative indices).

    >>> tfr.take(tfr.asarray([[1, 2, 3], [4, 5, 6]]), tfr.asarray([2, 0]), axis=1).tolist()
    [[3, 1], [6, 4]]
    """
    a, dimension = along_line("take", a, axis)
    if mode != "raise":
        indices = within(mode, indices, a.shape[dimension])
    index = indices_along("take", indices, dimension, a)
    result = call(GATHER, a, index, attrs=((dimension,), dimension))
    return result if out is None else delivered("take", result, out)


def within(mode: str, indices: Any, size: int) -> Tensor:
    """Return indices within an axis, those outside of it wrapped or clipped."""
    index = operand(indices)
    if choice("take", "mode", mode, ("raise", "wrap", "clip")) == "wrap":
        return apply(REMAINDER, index, size)
    return apply(MAXIMUM, apply(MINIMUM, index, size - 1), 0)


def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int | None = -1) -> Tensor:
    """The elements that `indices` pick from their own line of `arr` along `axis`: what `argsort` or `argmax` found.

    `arr` and `indices` have as many axes, and broadcast outside `axis`. Without an axis both are flattened.

    >>> x = tfr.asarray([[3, 1, 2], [4, 6, 5]])
    >>> tfr.take_along_axis(x, tfr.argsort(x)).tolist()
    [[1, 2, 3], [4, 5, 6]]
    """
    arr, dimension = along("take_along_axis", arr, axis)
    index = indices_along("take_along_axis", indices, dimension, arr)
    need_line("take_along_axis", arr, index)
    return call(TAKE_ALONG_AXIS, arr, index, attrs=(dimension,))


def need_line(name: str, x: Tensor, index: Tensor) -> None:
    if index.ndim != x.ndim:
        raise ShapeError(
            f"{name}: x has {x.ndim} axes, the indices have {index.ndim}",
            suggestions=("x[indices] or take to select the same elements of every line",),
        )


def indices_along(name: str, indices: Any, axis: int, x: Tensor) -> Tensor:
    """Return indices into an axis of `x` as a Tensor of integers within its bounds."""
    if not isinstance(indices, Tensor):
        indices = array_beside(indices, x.device)
        indices = indices.astype(int64) if indices.size == 0 else indices
    if indices.dtype not in INTEGER:
        raise DTypeError(
            f"{name}: indices are integers, got {indices.dtype}",
            suggestions=("x[mask] selects by a mask",) if indices.dtype in BOOL else (),
        )
    return Tensor(index_node(indices, axis, x.shape[axis], x.device))


@overload
def where(condition: ArrayLike, /) -> tuple[Tensor, ...]: ...
@overload
def where(condition: ArrayLike, x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def where(condition: ArrayLike, x1: ArrayLike | None = None, x2: ArrayLike | None = None, /) -> Any:
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
    if type(condition) is Tensor and condition.node.dtype is bool_:
        return apply(WHERE, condition, x1, x2)
    if isinstance(condition, SEQUENCES):
        place = next((side.device for side in (x1, x2) if isinstance(side, Tensor)), None)
        condition = operand(condition, device=place)
    if type(condition) not in PYTHON_NUMBERS:
        condition = Tensor(as_node(condition, home_of((condition, x1, x2))))
        condition = condition if condition.dtype in BOOL else apply(NOT_EQUAL, condition, 0)
    return apply(WHERE, condition, x1, x2)


def nonzero(a: ArrayLike) -> tuple[Tensor, ...]:
    """Positions of the elements that are not zero: one tensor for each axis, in C order.

    Computes at once, since the shape depends on the elements. ShapeError for a 0-d tensor.

    >>> [axis.tolist() for axis in tfr.nonzero(tfr.asarray([[0, 1], [2, 0]]))]
    [[0, 1], [1, 0]]
    """
    a = operand(a)
    if a.ndim == 0:
        raise ShapeError("nonzero: a 0-d tensor has no positions", suggestions=("bool(a)",))
    flat = masks.positions(a)
    if flat is not None:
        return masks.coordinates(flat, a.shape)
    return tuple(Tensor(data_node(places, a.device)) for places in np.nonzero(a._array()))


def argwhere(a: ArrayLike) -> Tensor:
    """Positions of the elements that are not zero: one row for each. Computes at once.

    >>> tfr.argwhere(tfr.asarray([[0, 1], [2, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    a = operand(a)
    flat = masks.positions(a)
    if flat is not None:
        from tensorframe.frontend.manipulation.joining import stack  # which takes `take` from here

        return stack(masks.coordinates(flat, a.shape), axis=1)
    return Tensor(data_node(np.argwhere(a._array()), a.device))


def flatnonzero(a: ArrayLike) -> Tensor:
    """Positions of the elements that are not zero, in the flattened tensor. Computes at once.

    >>> tfr.flatnonzero(tfr.asarray([[0, 1], [2, 0]])).tolist()
    [1, 2]
    """
    a = operand(a)
    flat = masks.positions(a)
    return Tensor(data_node(np.flatnonzero(a._array()), a.device)) if flat is None else flat


def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: Literal["left", "right"] = "left",
    sorter: ArrayLike | None = None,
) -> Tensor:
    """Where to insert the values `v` into the sorted vector `a` to keep it sorted.

    `side="left"` gives `x1[i - 1] < v <= x1[i]`, `side="right"` gives `x1[i - 1] <= v < x1[i]`. `sorter` holds
    positions that sort `a` (from `argsort`). The shape is that of `v`; NaN sorts last.

    >>> tfr.searchsorted(tfr.asarray([1.0, 2.0, 3.0]), tfr.asarray([2.0, 9.0])).tolist()
    [1, 3]
    """
    if side not in ("left", "right"):
        raise ArgumentError(f'searchsorted: side is "left" or "right", got {side!r}')
    inputs = promoted(*comparable(a, v))
    a = inputs[0]
    if a.ndim != 1:
        raise ShapeError(f"searchsorted: a is a sorted vector, got shape {a.shape}")
    if sorter is not None:
        sorter = operand(sorter)
        if sorter.dtype not in BITWISE or sorter.shape != a.shape:
            raise ShapeError(
                f"searchsorted: sorter holds one position for each of the {a.size} elements of a, "
                f"got {sorter.dtype} of shape {sorter.shape}"
            )
        inputs.append(converted(sorter, int64))
    if a.dtype in COMPLEX:
        from tensorframe.frontend.ordering.lexicographic import places_among_complex

        return places_among_complex(*inputs, side=side)
    return call(SEARCHSORTED, *inputs, attrs=(side,))
