"""What kernels can compute: the ops that may be part of a compiled region."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tensorframe.dtypes import BOOL, COMPLEX, FLOAT, INTEGER, DType
from tensorframe.graph.op import Kind, Op
from tensorframe.kernel.math.accumulate import accumulation
from tensorframe.kernel.math.scalars import supports
from tensorframe.kernel.spaces.complex import computable_in_parts
from tensorframe.kernel.spaces.expand import EXTREME
from tensorframe.kernel.spaces.gather import GATHERS
from tensorframe.kernel.spaces.pieces import PIECED
from tensorframe.ops.creation import ARANGE, FULL
from tensorframe.ops.movement import EXPAND, PERMUTE, RESHAPE, SLICE, WINDOWS

_INDEX_MAPS = frozenset({EXPAND, PERMUTE, RESHAPE, SLICE, WINDOWS}) | PIECED
_GENERATORS = frozenset({ARANGE, FULL})


# Answers that are cached: planning a node queries a few times, of few ops and dtypes.
_KEPT = 4096


def computable(op: Op, operands: Sequence[DType], result: DType, language: str = "") -> bool:
    """Whether a kernel can compute `op` on operands of these dtypes; rows may have texts in a `language`."""
    return _is_computable(op, tuple(operands), result, language)


@lru_cache(_KEPT)
def _is_computable(op: Op, operands: tuple[DType, ...], result: DType, language: str) -> bool:
    if op.printed is not None:
        return bool(op.printed.covers(language, operands, result))
    if not COMPLEX.isdisjoint((*operands, result)):
        return computable_in_parts(op)
    if result not in BOOL | INTEGER | FLOAT:
        return False
    if op.kind is Kind.MAP:
        return supports(op, operands, result)
    if op in EXTREME:
        op = EXTREME[op]
    if op.kind in (Kind.REDUCE, Kind.SCAN):
        return accumulation(op, operands[0]) is not None
    if op in GATHERS:
        return INTEGER.issuperset(operands[1:])
    return op in _INDEX_MAPS or op in _GENERATORS
