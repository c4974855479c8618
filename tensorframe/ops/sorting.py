"""Library ops that order elements: sorting, the largest few, binary search, histograms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.dtypes import BOOL, REAL, DType, int64
from tensorframe.graph.op import NONE, DTypeRule, Kind, Op, register, same
from tensorframe.graph.shape import Shape
from tensorframe.ops.reduction import index_dtype
from tensorframe.ops.rules.ordering import of_histogram, of_partition, of_select, of_sort, of_topk


def _unchanged(shapes: tuple[Shape, ...], *_: Any) -> Shape:
    return shapes[0]


def _first(shapes: tuple[Shape, ...], count: int, axis: int, _largest: bool) -> Shape:
    shape = shapes[0]
    return shape[:axis] + (count,) + shape[axis + 1 :]


def _both(shapes: tuple[Shape, ...], dtype: DType, *attrs: Any) -> tuple[tuple[Shape, DType], ...]:
    shape = _first(shapes, *attrs)
    return (shape, dtype), (shape, int64)


def _like_second(shapes: tuple[Shape, ...], *_: Any) -> Shape:
    return shapes[1]


def _bins(shapes: tuple[Shape, ...], *_: Any) -> Shape:
    return (shapes[1][0] - 1,)


def _counted(_dtype: DType, _uniform: bool, dtype: DType) -> DType:
    return dtype


def library(name: str, result: DTypeRule, shape: Callable[..., Shape], doc: str, *attributes: str, **facts: Any) -> Op:
    """Define a row that orders the elements of one tensor of real numbers or bools."""
    facts.setdefault("arity", 1)
    # some ten nanoseconds for each element, whatever the number of them
    facts.setdefault("cost", 30.0)
    return register(
        Op(name=name, kind=Kind.LIBRARY, accepts=BOOL | REAL, result=result, doc=doc, shape=shape, attributes=attributes, costly=True, **facts)
    )


SORT = library("sort", same, _unchanged, "Elements in order along the axis; NaN last, whichever the order.", "axis", "descending", vjp=of_sort)
ARGSORT = library("argsort", index_dtype, _unchanged, "Positions that sort the elements along the axis; NaN last, whichever the order.", "axis", "descending", "stable", vjp=NONE)
PARTITION = library("partition", same, _unchanged, "Elements along the axis with each of `kth` where sorting puts it, smaller ones before it.", "kth", "axis", in_standard=False, vjp=of_partition)
# Operands: lines along the last axis, and places in them (int64), several for each line.
SELECT = library("select", same, _like_second, "The elements that sorting would put at the given places of lines.", arity=2, in_standard=False, vjp=of_select)
ARGPARTITION = library("argpartition", index_dtype, _unchanged, "Positions that partition the elements along the axis.", "kth", "axis", in_standard=False, vjp=NONE)
TOPK = library("topk", same, _first, "The `count` largest or smallest elements along the axis in order, and their positions.", "count", "axis", "largest", parts=2, results=_both, vjp=of_topk)
# Operands: the sorted tensor, the values to insert, and optionally the positions that sort the first.
SEARCHSORTED = library("searchsorted", index_dtype, _like_second, "Where to insert values into a sorted vector to keep it sorted.", "side", arity=None, vjp=NONE)
# Operands: the values, the edges, and optionally weights; `uniform` edges let an engine compute the bin.
HISTOGRAM = library("histogram", _counted, _bins, "How many values, or how much of their weight, lies between each two edges.", "uniform", "dtype", arity=None, in_standard=False, vjp=of_histogram)
