"""Differences between neighbours along an axis."""

from __future__ import annotations

from typing import Any

from tensorframe.dtypes import BOOL
from tensorframe.errors import ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.fast_paths.memoization import memoized
from tensorframe.frontend.manipulation.joining import concat
from tensorframe.frontend.manipulation.views import part_of, ravel
from tensorframe.frontend.operands import expanded, operand, promoted, with_axes
from tensorframe.frontend.parameters import count
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import normalize_axis
from tensorframe.ops.elementwise import NOT_EQUAL, SUBTRACT

__all__ = ["diff", "ediff1d"]


@memoized
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Tensor:
    """Return the differences of neighbours along `axis`, `n` times over; of bools, whether neighbours differ.

    `prepend` and `append` are joined to `a` first; a number or 0-d tensor stands for one more place. Unsigned
    integers wrap.

    >>> tfr.diff(tfr.asarray([1, 4, 9])).tolist()
    [3, 5]
    >>> tfr.diff(tfr.asarray([[1, 4, 9], [0, 5, 5]]), axis=0).tolist()
    [[-1, 1, -4]]
    """
    tensor = operand(a)
    n = count("diff", "n", n)
    if tensor.ndim == 0:
        raise ShapeError("diff: a 0-d tensor has no neighbours", suggestions=("tfr.ravel(a)",))
    along = normalize_axis("diff", axis, tensor.ndim)
    ends = [_end(value, tensor, along) for value in (prepend, append)]
    parts = [part for part in (ends[0], tensor, ends[1]) if part is not None]
    result = tensor if len(parts) == 1 else concat(parts, axis=along)
    for _ in range(n):
        result = _differences(result, along)
    return result


def _end(value: Any, tensor: Tensor, axis: int) -> Tensor | None:
    """Return what is joined to one side of `tensor`."""
    if value is None:
        return None
    _, end = promoted(tensor, value)
    if end.ndim:
        return end
    return expanded(
        with_axes(end, tensor.ndim), (*tensor.shape[:axis], 1, *tensor.shape[axis + 1 :])
    )


def _differences(tensor: Tensor, axis: int) -> Tensor:
    size = max(0, tensor.shape[axis] - 1)
    if size == 0:
        return part_of(tensor, axis, 0, 0)
    op = NOT_EQUAL if tensor.dtype in BOOL else SUBTRACT
    return apply(op, part_of(tensor, axis, 1, size), part_of(tensor, axis, 0, size))


@memoized
def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Tensor:
    """Return the differences of neighbours in the flattened `ary`, with `to_begin` and `to_end` around them.

    >>> tfr.ediff1d(tfr.asarray([1, 4, 9]), to_end=0).tolist()
    [3, 5, 0]
    """
    middle = diff(ravel(ary))
    ends = [
        None if value is None else operand(value, dtype=middle.dtype)
        for value in (to_begin, to_end)
    ]
    parts = [part for part in (ends[0], middle, ends[1]) if part is not None]
    return concat(parts, axis=None) if len(parts) > 1 else middle
