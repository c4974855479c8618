"""Reductions and scans: elements combined along axes."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from tensorframe.dtypes import ANY, BOOL, LIMITS, NUMERIC, REAL, DType, int64
from tensorframe.errors import ShapeError
from tensorframe.graph.op import (
    FULL,
    NONE,
    Combination,
    DTypeRule,
    Kind,
    Op,
    boolean,
    register,
    same,
)
from tensorframe.graph.shape import Shape, reduced
from tensorframe.ops.derivatives import Rule
from tensorframe.ops.elementwise import ADD, LOGICAL_AND, LOGICAL_OR, MAXIMUM, MINIMUM, MULTIPLY
from tensorframe.ops.rules.reduction import extremum, product, running_product, running_sum, spread


def _reduced(shapes: tuple[Shape, ...], axes: tuple[int, ...], keepdims: bool) -> Shape:
    return reduced(shapes[0], axes, keepdims=keepdims)


def non_empty(name: str) -> Callable[..., Shape]:
    """Return the shape rule of a reduction that has no result for no elements."""

    def rule(shapes: tuple[Shape, ...], axes: tuple[int, ...], keepdims: bool) -> Shape:
        if 0 in shapes[0] and any(shapes[0][axis] == 0 for axis in axes):
            message = f"{name}: no elements along the axes {axes} of shape {shapes[0]}, and no identity"
            raise ShapeError(message, suggestions=("check the size first",))
        return reduced(shapes[0], axes, keepdims=keepdims)

    return rule


def _unchanged(shapes: tuple[Shape, ...], *_: Any) -> Shape:
    return shapes[0]


def index_dtype(*_: Any) -> DType:
    """Result dtype rule: the dtype of indices."""
    return int64


def zero(_dtype: DType) -> int:
    """Return what sums begin with."""
    return 0


def one(_dtype: DType) -> int:
    """Return what products begin with."""
    return 1


def least(dtype: DType) -> float:
    """Return the smallest element of a real dtype, or of bool."""
    return 0 if dtype.kind == "b" else LIMITS[dtype][0] if dtype in LIMITS else -inf


def most(dtype: DType) -> float:
    """Return the largest element of a real dtype, or of bool."""
    return 1 if dtype.kind == "b" else LIMITS[dtype][1] if dtype in LIMITS else inf


def reduce(
    name: str,
    accepts: frozenset[DType],
    result: DTypeRule,
    doc: str,
    combination: Combination | None = None,
    **facts: Any,
) -> Op:
    """Define a row that combines the elements along `axes`. That is all there is to do for a new one, but its function."""
    facts.setdefault("shape", _reduced)
    facts |= {"attributes": ("axes", "keepdims"), "combination": combination}
    return register(Op(name, Kind.REDUCE, 1, accepts, result, doc, costly=True, **facts))


def scan(name: str, doc: str, combination: Combination, vjp: Rule) -> Op:
    """Define a row that combines all elements up to each position along `axis`."""
    # every engine accumulates in the widest dtype, one element after the other
    facts: dict[str, Any] = {"attributes": ("axis",), "combination": combination, "exact": ANY}
    return register(Op(name, Kind.SCAN, 1, ANY, same, doc, shape=_unchanged, costly=True, precision=FULL, vjp=vjp, **facts))


_TOTAL, _PRODUCT = Combination(ADD, zero, wide=True), Combination(MULTIPLY, one, wide=True)

SUM = reduce("sum", NUMERIC, same, "Sum along axes, in the tensor's own dtype.", _TOTAL, precision=FULL, vjp=lambda ct, _out, x, axes, keepdims: (spread(ct, x, axes, keepdims),))
PROD = reduce("prod", NUMERIC, same, "Product along axes, in the tensor's own dtype.", _PRODUCT, precision=FULL, vjp=product)
MAX = reduce("max", BOOL | REAL, same, "Largest element along axes; NaN if any is NaN.", Combination(MAXIMUM, least), vjp=extremum("max"), shape=non_empty("max"))
MIN = reduce("min", BOOL | REAL, same, "Smallest element along axes; NaN if any is NaN.", Combination(MINIMUM, most), vjp=extremum("min"), shape=non_empty("min"))
ANY_TRUE = reduce("any", ANY, boolean, "Whether any element along axes is true.", Combination(LOGICAL_OR, zero, final=True), exact=ANY, vjp=NONE)
ALL_TRUE = reduce("all", ANY, boolean, "Whether all elements along axes are true.", Combination(LOGICAL_AND, one, final=False), exact=ANY, vjp=NONE)
ARGMAX = reduce("argmax", BOOL | REAL, index_dtype, "Position of the first largest element.", shape=non_empty("argmax"), exact=REAL, vjp=NONE)
ARGMIN = reduce("argmin", BOOL | REAL, index_dtype, "Position of the first smallest element.", shape=non_empty("argmin"), exact=REAL, vjp=NONE)

CUMULATIVE_SUM = scan("cumulative_sum", "Sums of all elements up to each position.", _TOTAL, running_sum)
CUMULATIVE_PROD = scan("cumulative_prod", "Products of all elements up to each position.", _PRODUCT, running_product)
