"""Exactness: which ops give the same bits on each engine, so that it makes no difference which one computes them.

Arithmetic that is rounded once, comparisons, what moves elements and all work on integers do; functions such as exp have
a formula in each engine, and a sum of floats its order. A row says so for what it is defined on (`Op.exact`); what is
written in other rows is exact where these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.dtypes import BITWISE, INTEGER, DType
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.ops.term import Term

_COMPUTING = frozenset({Kind.MAP, Kind.REDUCE, Kind.SCAN, Kind.FORMULA})

# of formulas, by their operands
_known: dict[tuple[Op, tuple[DType, ...]], bool] = {}


def is_exact(op: Op, operands: Sequence[DType], result: DType) -> bool:
    """Whether every engine gives the same bits for `op` on operands of these dtypes.

    Libraries and matrix products count as exact: the engines of the cpu call the same ones. What becomes of a
    float beyond an integer's range does not: each instruction has its own answer.
    """
    if op.kind not in _COMPUTING:
        return True
    if op.kind is Kind.FORMULA or op.compiled is not None:
        return False
    if op.expand is not None:
        key = (op, tuple(operands))
        known = _known.get(key)
        if known is None:
            known = _known[key] = _is_exact_formula(op, operands)
        return known
    if result in INTEGER and op.kind is Kind.MAP and not BITWISE.issuperset(operands):
        return False
    return op.exact.issuperset(operands[op.conditions :])


def is_exact_region(region: Region) -> bool:
    """Whether every engine gives the same bits for all ops of a region."""
    return all(
        is_exact(op.op, [region.dtype_of(source) for source in op.inputs], op.dtype)
        for op in region.ops
    )


class _Traced:
    """A value of a formula of which only the dtype is known."""

    __slots__ = ("dtype",)
    shape: Shape = ()

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype


def _is_exact_formula(op: Op, operands: Sequence[DType]) -> bool:
    exact = True

    def apply(inner: Op, *values: Any, attrs: tuple[Any, ...] = ()) -> _Traced:
        nonlocal exact
        # a number takes the dtype of what it stands beside
        beside = [value.dtype for value in values[inner.conditions :] if hasattr(value, "dtype")]
        dtypes = [getattr(value, "dtype", beside[0]) for value in values]
        result = inner.result(dtypes[inner.conditions], *attrs) if inner.kind is Kind.MAP else beside[0]
        exact = exact and is_exact(inner, dtypes, result)
        return _Traced(result)

    assert op.expand is not None
    op.expand(*[Term(_Traced(dtype), apply) for dtype in operands])
    return exact
