"""Expressions as instructions: each shared subexpression once in a statement, operands first."""

from __future__ import annotations

from collections.abc import Mapping

from tensorframe.codegen.llvm.arithmetic import OPS
from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.conversions import converted, reinterpreted
from tensorframe.codegen.llvm.memory import Memory
from tensorframe.codegen.llvm.scaling import SCALE, scaled
from tensorframe.codegen.llvm.types import VALUE, number
from tensorframe.kernel.ir import USER, Apply, Expr, Literal, Load
from tensorframe.kernel.ir.walk import in_order

_CASTS = frozenset({"cast", "to_index", "from_index"})


def evaluated(b: Builder, memory: Memory, root: Expr, names: Mapping[Expr, str]) -> str:
    """Write what an expression needs; return its value. `names` are those of arguments, indices and variables."""
    if isinstance(root, Literal):
        return number(root.value, root.dtype)
    if root in names:
        return names[root]
    known = dict[Expr, str]()
    for expr in in_order((root,), names):
        known[expr] = _written(b, memory, expr, [known.get(x) or names[x] for x in expr.operands])
    return known[root]


def _written(b: Builder, memory: Memory, expr: Expr, operands: list[str]) -> str:
    if isinstance(expr, Literal):
        return b.constant(VALUE[expr.dtype], number(expr.value, expr.dtype))
    if isinstance(expr, Load):
        return memory.load(expr.buffer, operands[0])
    if not isinstance(expr, Apply):
        raise KeyError(f"{type(expr).__name__} {getattr(expr, 'name', '')!r} has no value")
    return applied(b, expr, operands)


def applied(b: Builder, expr: Apply, operands: list[str]) -> str:
    """Write an op on values."""
    source = expr.arguments[-1].dtype
    if expr.op in _CASTS:
        return converted(b, operands[0], source, expr.dtype)
    if expr.op == SCALE:
        return scaled(b, source, *operands)
    if expr.op == "bitcast":
        return reinterpreted(b, operands[0], source, expr.dtype)
    if expr.op.startswith(USER):
        return b.call_user(
            expr.op, [(x.dtype, y) for x, y in zip(expr.arguments, operands, strict=True)]
        )
    return OPS[expr.op](b, source, *operands)
