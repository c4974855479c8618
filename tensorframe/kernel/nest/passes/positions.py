"""Index narrowing: loop indices, sizes and strides as 32-bit numbers, where a device is faster with them.

Positions and elements meet at two ops only, `to_index` and `from_index`, so what is a position can be told from what is
an element of the same dtype: it is made of loop indices and sizes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tensorframe.dtypes import DType
from tensorframe.kernel.ir import (
    INDEX,
    START,
    STOP,
    Allocate,
    Apply,
    Argument,
    Expr,
    If,
    Index,
    Literal,
    Load,
    Loop,
    Set,
    Statement,
    Store,
    apply,
    argument,
    index,
    literal,
    load,
    variable,
)
from tensorframe.kernel.ir.walk import in_order, with_own_expressions


def with_positions(
    statements: Iterable[Statement], sizes: Iterable[Argument], dtype: DType
) -> tuple[Statement, ...]:
    """Return statements whose positions, which are made of loop indices and `sizes`, are numbers of `dtype`."""
    return _Narrower({START, STOP, *sizes}, dtype).block(statements)


class _Narrower:
    def __init__(self, sizes: set[Argument], dtype: DType) -> None:
        self._dtype = dtype
        self._sizes = sizes
        self._made: dict[Expr, Expr] = {}
        self._positions: set[Expr] = set()

    def block(self, statements: Iterable[Statement]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for one in statements:
            changed = with_own_expressions(one, self.expression)
            if isinstance(one, Set) and isinstance(changed, Set):
                changed = self._named(one, changed)
            elif isinstance(changed, Loop):
                changed = replace(
                    changed,
                    index=index(changed.index.name, self._dtype),
                    start=self._as_position(changed.start),
                    stop=self._as_position(changed.stop),
                    body=self.block(changed.body),
                )
            elif isinstance(changed, If):
                changed = replace(changed, body=self.block(changed.body))
            elif isinstance(changed, Store):
                changed = replace(changed, position=self._as_position(changed.position))
            elif isinstance(changed, Allocate):
                changed = replace(changed, count=self._as_position(changed.count))
            found.append(changed)
        return tuple(found)

    def _named(self, one: Set, changed: Set) -> Set:
        """Return an assignment of a position, to a variable of its dtype."""
        if one.value not in self._positions and one.variable not in self._positions:
            return changed
        made = self._made[one.variable] = variable(one.variable.name, self._dtype)
        self._positions.add(one.variable)
        return Set(made, self._as_position(changed.value))

    def expression(self, root: Expr) -> Expr:
        """Return an expression with its positions narrowed."""
        for one in in_order((root,), self._made):
            self._made[one] = self._changed(one)
        return self._made[root]

    def _changed(self, one: Expr) -> Expr:
        if isinstance(one, Index) or (isinstance(one, Argument) and one in self._sizes):
            self._positions.add(one)
            return self._leaf(one)
        if isinstance(one, Load):
            return load(one.buffer, self._as_position(self._made[one.position]))
        if not isinstance(one, Apply):
            return one
        operands = [self._made[operand] for operand in one.arguments]
        among = any(operand in self._positions for operand in one.arguments)
        if one.op == "to_index" or (among and one.op != "from_index" and one.dtype == INDEX):
            self._positions.add(one)
        if among:
            operands = [
                self._as_position(made) if isinstance(old, Literal) and old.dtype == INDEX else made
                for old, made in zip(one.arguments, operands, strict=True)
            ]
        dtype = self._dtype if one in self._positions else one.dtype
        return apply(one.op, *operands, dtype=dtype)

    def _leaf(self, one: Expr) -> Index | Argument:
        if isinstance(one, Index):
            return index(one.name, self._dtype)
        assert isinstance(one, Argument)
        return argument(one.name, self._dtype)

    def _as_position(self, one: Expr) -> Expr:
        return literal(one.value, self._dtype) if isinstance(one, Literal) else one
