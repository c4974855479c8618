"""Index narrowing: loop indices, sizes and strides as 32-bit numbers, where a device is faster with them.

Positions and elements meet at two ops only, `to_index` and `from_index`, so what is a position can be told from what is
an element of the same dtype: it is made of loop indices and sizes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tensorframe.dtypes import DType
from tensorframe.kernel import ir
from tensorframe.kernel.ir.walk import in_order, with_own_expressions


def with_positions(
    statements: Iterable[ir.Statement], sizes: Iterable[ir.Argument], dtype: DType
) -> tuple[ir.Statement, ...]:
    """Return statements whose positions, which are made of loop indices and `sizes`, are numbers of `dtype`."""
    return _Narrower({ir.START, ir.STOP, *sizes}, dtype).block(statements)


class _Narrower:
    def __init__(self, sizes: set[ir.Argument], dtype: DType) -> None:
        self._dtype = dtype
        self._sizes = sizes
        self._made: dict[ir.Expr, ir.Expr] = {}
        self._positions: set[ir.Expr] = set()

    def block(self, statements: Iterable[ir.Statement]) -> tuple[ir.Statement, ...]:
        converted: list[ir.Statement] = []
        for statement in statements:
            changed = with_own_expressions(statement, self.expression)
            if isinstance(statement, ir.Set) and isinstance(changed, ir.Set):
                changed = self._named(statement, changed)
            elif isinstance(changed, ir.Loop):
                changed = replace(
                    changed,
                    index=ir.index(changed.index.name, self._dtype),
                    start=self._as_position(changed.start),
                    stop=self._as_position(changed.stop),
                    body=self.block(changed.body),
                )
            elif isinstance(changed, ir.If):
                changed = replace(changed, body=self.block(changed.body))
            elif isinstance(changed, ir.Store):
                changed = replace(changed, position=self._as_position(changed.position))
            elif isinstance(changed, ir.CopyNeighbours):
                changed = replace(
                    changed,
                    position=self._as_position(changed.position),
                    source_position=self._as_position(changed.source_position),
                    valid=self._as_position(changed.valid),
                )
            elif isinstance(changed, ir.ReadNeighbours):
                changed = replace(
                    changed,
                    position=self._as_position(changed.position),
                    valid=self._as_position(changed.valid),
                )
            elif isinstance(changed, ir.MultiplyTiles):
                left, right = [
                    replace(tile, position=self._as_position(tile.position))
                    for tile in (changed.left, changed.right)
                ]
                changed = replace(changed, left=left, right=right)
            elif isinstance(changed, ir.Allocate):
                changed = replace(changed, count=self._as_position(changed.count))
            converted.append(changed)
        return tuple(converted)

    def _named(self, assignment: ir.Set, changed: ir.Set) -> ir.Set:
        """Return an assignment of a position, to a variable of its dtype."""
        if assignment.value not in self._positions and assignment.variable not in self._positions:
            return changed
        made = self._made[assignment.variable] = ir.variable(assignment.variable.name, self._dtype)
        self._positions.add(assignment.variable)
        return ir.Set(made, self._as_position(changed.value))

    def expression(self, root: ir.Expr) -> ir.Expr:
        """Return an expression with its positions narrowed."""
        for expr in in_order((root,), self._made):
            self._made[expr] = self._changed(expr)
        return self._made[root]

    def _changed(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Index) or (isinstance(expr, ir.Argument) and expr in self._sizes):
            self._positions.add(expr)
            return self._leaf(expr)
        if isinstance(expr, ir.Load):
            return ir.load(expr.buffer, self._as_position(self._made[expr.position]))
        if not isinstance(expr, ir.Apply):
            return expr
        operands = [self._made[operand] for operand in expr.arguments]
        among = any(operand in self._positions for operand in expr.arguments)
        if expr.op == "to_index" or (among and expr.op != "from_index" and expr.dtype == ir.INDEX):
            self._positions.add(expr)
        if among or expr.op == "from_index":  # of a number too, where a loop runs once
            operands = [
                self._as_position(made)
                if isinstance(old, ir.Literal) and old.dtype == ir.INDEX
                else made
                for old, made in zip(expr.arguments, operands, strict=True)
            ]
        dtype = self._dtype if expr in self._positions else expr.dtype
        return ir.apply(expr.op, *operands, dtype=dtype)

    def _leaf(self, expr: ir.Expr) -> ir.Index | ir.Argument:
        if isinstance(expr, ir.Index):
            return ir.index(expr.name, self._dtype)
        assert isinstance(expr, ir.Argument)
        return ir.argument(expr.name, self._dtype)

    def _as_position(self, expr: ir.Expr) -> ir.Expr:
        return ir.literal(expr.value, self._dtype) if isinstance(expr, ir.Literal) else expr
