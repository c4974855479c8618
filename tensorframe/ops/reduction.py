"""Reductions and scans: elements combined along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.dtypes import ANY, BOOL, NUMERIC, REAL, DType, int64
from tensorframe.errors import ShapeError
from tensorframe.graph.op import DTypeRule, Kind, Op, boolean, register, same
from tensorframe.graph.shape import Shape, reduced


def _reduced(shapes: tuple[Shape, ...], axes: tuple[int, ...], keepdims: bool) -> Shape:
    return reduced(shapes[0], axes, keepdims=keepdims)


def _non_empty(name: str) -> Callable[..., Shape]:
    def rule(shapes: tuple[Shape, ...], axes: tuple[int, ...], keepdims: bool) -> Shape:
        if any(shapes[0][axis] == 0 for axis in axes):
            message = f"{name}: no elements along the axes {axes} of shape {shapes[0]}, and no identity"
            raise ShapeError(message, suggestions=("check the size first",))
        return reduced(shapes[0], axes, keepdims=keepdims)

    return rule


def _unchanged(shapes: tuple[Shape, ...], *_: Any) -> Shape:
    return shapes[0]


def index_dtype(*_: Any) -> DType:
    """Result dtype rule: the dtype of indices."""
    return int64


def reduce(name: str, accepts: frozenset[DType], result: DTypeRule, doc: str, **facts: Any) -> Op:
    """Define a row that combines the elements along `axes`."""
    facts.setdefault("shape", _reduced)
    attributes = ("axes", "keepdims")
    return register(
        Op(name, Kind.REDUCE, 1, accepts, result, doc, attributes=attributes, costly=True, **facts)
    )


def scan(name: str, doc: str) -> Op:
    """Define a row that combines all elements up to each position along `axis`."""
    return register(
        Op(name, Kind.SCAN, 1, ANY, same, doc, shape=_unchanged, attributes=("axis",), costly=True)
    )


SUM = reduce("sum", NUMERIC, same, "Sum along axes, in the tensor's own dtype.", identity=0)
PROD = reduce("prod", NUMERIC, same, "Product along axes, in the tensor's own dtype.", identity=1)
MAX = reduce("max", BOOL | REAL, same, "Largest element along axes; NaN if any is NaN.", shape=_non_empty("max"))
MIN = reduce("min", BOOL | REAL, same, "Smallest element along axes; NaN if any is NaN.", shape=_non_empty("min"))
ANY_TRUE = reduce("any", ANY, boolean, "Whether any element along axes is true.", identity=0)
ALL_TRUE = reduce("all", ANY, boolean, "Whether all elements along axes are true.", identity=1)
ARGMAX = reduce("argmax", BOOL | REAL, index_dtype, "Position of the first largest element.", shape=_non_empty("argmax"))
ARGMIN = reduce("argmin", BOOL | REAL, index_dtype, "Position of the first smallest element.", shape=_non_empty("argmin"))

CUMULATIVE_SUM = scan("cumulative_sum", "Sums of all elements up to each position.")
CUMULATIVE_PROD = scan("cumulative_prod", "Products of all elements up to each position.")
