"""Sorting: elements in order, wholly or as far as asked, and the positions that put them so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

from tensorframe.dtypes import COMPLEX, int64
from tensorframe.errors import ArgumentError, IndexingError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.fast_paths.memoization import memoized
from tensorframe.frontend.indexing.index_nodes import check_bounds
from tensorframe.frontend.operands import along, along_line
from tensorframe.frontend.parameters import choice, integer, integers
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.ops.movement import PART
from tensorframe.ops.sorting import ARGPARTITION, ARGSORT, PARTITION, SORT, TOPK
from tensorframe.quick_tuples import NamedTuple

__all__ = ["TopK", "argpartition", "argsort", "partition", "sort", "topk"]


Kind = Literal["quicksort", "heapsort", "stable", "mergesort"] | None


class TopK(NamedTuple):
    """What `topk` gives.

    A pair: the values in the order that was asked for, and their positions along the axis.
    """

    values: Tensor
    indices: Tensor


# NumPy's names of ways to sort; here all of them are one, which is stable where that can be seen
_KINDS: Final = (None, "quicksort", "heapsort", "stable", "mergesort", "introselect")


def _read_kind(name: str, kind: Any, order: Any) -> None:
    """Check NumPy's options: a way to sort, and names of fields, which no tensor has."""
    choice(name, "kind", kind, _KINDS)
    if order is not None:
        raise ArgumentError(f"{name}: order= names fields, and tensors have none")


@memoized
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: Kind = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Tensor:
    """The elements in order along `axis`, of the flattened tensor for None; NaN last in either order.

    Complex elements are in the order of their real parts, then of their imaginary ones. Elements that compare equal are
    alike but for the sign of zero, which `stable` says nothing about; `kind` is NumPy's, and changes nothing.

    >>> tfr.sort(tfr.asarray([3, 1, 2]), descending=True).tolist()
    [3, 2, 1]
    >>> tfr.sort(tfr.asarray([[3, 1], [2, 4]]), axis=0).tolist()
    [[2, 1], [3, 4]]
    """
    del stable
    if kind is not None or order is not None:
        _read_kind("sort", kind, order)
    a, dimension = along("sort", a, axis)
    if a.dtype in COMPLEX:
        from tensorframe.frontend.ordering.lexicographic import sorted_complex  # for few calls

        return sorted_complex(a, dimension, bool(descending))
    return call(SORT, a, attrs=(dimension, bool(descending)))


@memoized
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: Kind = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Tensor:
    """The positions that sort the elements along `axis`, of the flattened tensor for None; NaN last in either order.

    Equal elements keep their order unless `stable` is False, descending too. The dtype is int64. Complex elements and
    `kind` as for `sort`.

    >>> tfr.argsort(tfr.asarray([3, 1, 3, 2]), descending=True).tolist()
    [0, 2, 3, 1]
    >>> tfr.argsort(tfr.asarray([[3, 1], [2, 4]]), axis=0).tolist()
    [[1, 0], [0, 1]]
    """
    if kind is not None or order is not None:
        _read_kind("argsort", kind, order)
    a, dimension = along_line("argsort", a, axis)
    if a.dtype in COMPLEX:
        from tensorframe.frontend.ordering.lexicographic import order_of_complex  # for few calls

        return order_of_complex(a, dimension, bool(descending))
    return call(ARGSORT, a, attrs=(dimension, bool(descending), stable is None or bool(stable)))


def topk(x: ArrayLike, k: int, /, axis: int = -1, *, largest: bool = True) -> TopK:
    """The `k` largest elements along `axis` (the smallest unless `largest`) in order, and their positions.

    Both have `k` elements along the axis; NaN counts as the last in either order. Which of equal elements are
    chosen is not said. IndexingError if there are fewer than `k` elements.

    >>> values, indices = tfr.topk(tfr.asarray([1.0, 4.0, 3.0]), 2)
    >>> values.tolist(), indices.tolist()
    ([4.0, 3.0], [1, 2])
    >>> tfr.topk(tfr.asarray([[1.0, 4.0, 3.0], [7.0, 0.0, 8.0]]), 1, axis=1)[1].tolist()
    [[1], [2]]
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


@memoized
def partition(
    a: ArrayLike,
    kth: int | Iterable[int],
    axis: int | None = -1,
    kind: Literal["introselect"] = "introselect",
    order: None = None,
) -> Tensor:
    """The elements with the `kth` ones where sorting would put them: none before is larger, none after smaller.

    >>> tfr.partition(tfr.asarray([4, 1, 3, 2]), 1)[1].item()
    2
    >>> tfr.partition(tfr.asarray([[4, 1], [3, 2]]), 0, axis=0).tolist()
    [[3, 1], [4, 2]]
    """
    _read_kind("partition", kind, order)
    return _partitioned(PARTITION, a, kth, axis)


@memoized
def argpartition(
    a: ArrayLike,
    kth: int | Iterable[int],
    axis: int | None = -1,
    kind: Literal["introselect"] = "introselect",
    order: None = None,
) -> Tensor:
    """The positions that partition the elements: see `partition`. The dtype is int64.

    >>> x = tfr.asarray([4, 1, 3, 2])
    >>> tfr.take(x, tfr.argpartition(x, 1))[1].item()
    2
    >>> tfr.argpartition(tfr.asarray([[4, 1, 3], [0, 5, 6]]), 0, axis=1)[:, 0].tolist()
    [1, 0]
    """
    _read_kind("argpartition", kind, order)
    return _partitioned(ARGPARTITION, a, kth, axis)


def _partitioned(op: Op, x: Any, kth: int | Iterable[int], axis: int | None) -> Tensor:
    x, dimension = (along if op is PARTITION else along_line)(op.name, x, axis)
    wanted = integers(op.name, "kth", kth)
    if not wanted:
        raise ArgumentError(f"{op.name}: kth names no position")
    positions = tuple(check_bounds(number, dimension, x.shape[dimension]) for number in wanted)
    if x.dtype in COMPLEX:
        return sort(x, dimension) if op is PARTITION else argsort(x, dimension)
    return call(op, x, attrs=(positions, dimension))
