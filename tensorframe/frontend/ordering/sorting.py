"""Sorting: elements in order, wholly or as far as asked, and the positions that put them so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tensorframe.dtypes import int64
from tensorframe.errors import ArgumentError, IndexingError
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.indexing.selection import check_bounds
from tensorframe.frontend.operands import along
from tensorframe.frontend.parameters import integer, integers
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.ops.movement import PART
from tensorframe.ops.sorting import ARGPARTITION, ARGSORT, PARTITION, SORT, TOPK

__all__ = ["TopK", "argpartition", "argsort", "partition", "sort", "topk"]


class TopK(NamedTuple):
    """What `topk` gives."""

    values: Tensor
    indices: Tensor


def sort(
    x: Any,
    /,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,  # noqa: ARG001 - the standard's; equal elements are alike
) -> Tensor:
    """The elements in order along `axis`, of the flattened tensor for None; NaN last in either order.

    DTypeError for complex elements. Elements that compare equal are alike but for the sign of zero, which `stable`
    says nothing about.

    >>> tfr.sort(tfr.asarray([3, 1, 2]), descending=True).tolist()
    [3, 2, 1]
    """
    x, dimension = along("sort", x, axis)
    return call(SORT, x, attrs=(dimension, bool(descending)))


def argsort(
    x: Any, /, axis: int | None = -1, *, descending: bool = False, stable: bool = True
) -> Tensor:
    """The positions that sort the elements along `axis`, of the flattened tensor for None; NaN last in either order.

    Equal elements keep their order if `stable`, descending too. The dtype is int64.

    >>> tfr.argsort(tfr.asarray([3, 1, 3, 2]), descending=True).tolist()
    [0, 2, 3, 1]
    """
    x, dimension = along("argsort", x, axis)
    return call(ARGSORT, x, attrs=(dimension, bool(descending), bool(stable)))


def topk(x: Any, k: int, /, axis: int = -1, *, largest: bool = True) -> TopK:
    """The `k` largest elements along `axis` (the smallest unless `largest`) in order, and their positions.

    Both have `k` elements along the axis; NaN counts as the last in either order. Which of equal elements are
    chosen is not said. IndexingError if there are fewer than `k` elements.

    >>> values, indices = tfr.topk(tfr.asarray([1.0, 4.0, 3.0]), 2)
    >>> values.tolist(), indices.tolist()
    ([4.0, 3.0], [1, 2])
    """
    x, dimension = along("topk", x, axis)
    size = x.shape[dimension]
    k = integer("topk", "k", k)
    if not 0 <= k <= size:
        raise IndexingError(f"topk: axis {dimension} has {size} elements, asked for {k}")
    both = call(TOPK, x, attrs=(int(k), dimension, bool(largest)))
    shape = both.shape
    return TopK(
        call(PART, both, attrs=(0, shape, x.dtype)), call(PART, both, attrs=(1, shape, int64))
    )


def partition(x: Any, kth: int | Iterable[int], /, axis: int | None = -1) -> Tensor:
    """The elements with the `kth` ones where sorting would put them: none before is larger, none after smaller.

    >>> tfr.partition(tfr.asarray([4, 1, 3, 2]), 1)[1].item()
    2
    """
    return _partitioned(PARTITION, x, kth, axis)


def argpartition(x: Any, kth: int | Iterable[int], /, axis: int | None = -1) -> Tensor:
    """The positions that partition the elements: see `partition`. The dtype is int64.

    >>> x = tfr.asarray([4, 1, 3, 2])
    >>> tfr.take(x, tfr.argpartition(x, 1))[1].item()
    2
    """
    return _partitioned(ARGPARTITION, x, kth, axis)


def _partitioned(op: Op, x: Any, kth: int | Iterable[int], axis: int | None) -> Tensor:
    x, dimension = along(op.name, x, axis)
    wanted = integers(op.name, "kth", kth)
    if not wanted:
        raise ArgumentError(f"{op.name}: kth names no position")
    positions = tuple(check_bounds(number, dimension, x.shape[dimension]) for number in wanted)
    return call(op, x, attrs=(positions, dimension))
