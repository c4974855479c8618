"""Expressions as instructions: each shared subexpression once in a statement, operands first."""

from __future__ import annotations

from collections.abc import Mapping

from tensorframe.codegen.llvm.arithmetic import OPS
from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.conversions import converted, reinterpreted
from tensorframe.codegen.llvm.memory import Memory
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
    for one in in_order((root,), names):
        known[one] = _written(b, memory, one, [known.get(x) or names[x] for x in one.operands])
    return known[root]


def _written(b: Builder, memory: Memory, one: Expr, operands: list[str]) -> str:
    if isinstance(one, Literal):
        return b.constant(VALUE[one.dtype], number(one.value, one.dtype))
    if isinstance(one, Load):
        return memory.load(one.buffer, operands[0])
    if not isinstance(one, Apply):
        raise KeyError(f"{type(one).__name__} {getattr(one, 'name', '')!r} has no value")
    return applied(b, one, operands)


def applied(b: Builder, one: Apply, operands: list[str]) -> str:
    """Write an op on values."""
    source = one.arguments[-1].dtype
    if one.op in _CASTS:
        return converted(b, operands[0], source, one.dtype)
    if one.op == "bitcast":
        return reinterpreted(b, operands[0], source, one.dtype)
    if one.op.startswith(USER):
        return b.call_user(
            one.op, [(x.dtype, y) for x, y in zip(one.arguments, operands, strict=True)]
        )
    return OPS[one.op](b, source, *operands)
