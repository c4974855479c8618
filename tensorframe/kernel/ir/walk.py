"""Walking over statements, and over the expressions in them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter, is_
from typing import Any

from tensorframe.kernel.ir import language as ir


def in_order(roots: Iterable[ir.Expr], known: Container[ir.Expr]) -> list[ir.Expr]:
    """Return the expressions that `roots` are made of, operands first, without what is known and its operands.

    Every pass over a kernel calls this, many times: it is a fifth of the time that making one takes.
    """
    order: dict[ir.Expr, None] = {}
    begun: list[ir.Expr] = []
    # None comes after the operands of the one that was begun last
    stack: list[ir.Expr | None] = list(roots)
    stack.reverse()
    pop, push = stack.pop, stack.append
    while stack:
        expr = pop()
        if expr is None:
            order[begun.pop()] = None
        elif expr not in order and expr not in known:
            operands = expr.operands
            if operands:
                begun.append(expr)
                push(None)
                stack += operands[::-1]
            else:
                order[expr] = None
    return list(order)


def expressions(
    statements: Iterable[ir.Statement],
) -> tuple[list[ir.Expr], list[ir.Store | ir.StreamingStore]]:
    """Return the expressions that statements use, those of loops inside included, and all stores."""
    roots: list[ir.Expr] = []
    stores: list[ir.Store | ir.StreamingStore] = []
    for statement in statements:
        roots += own_expressions(statement)
        if isinstance(statement, ir.Store | ir.StreamingStore):
            stores.append(statement)
        if isinstance(statement, ir.Loop | ir.If):
            inner, more = expressions(statement.body)
            roots += inner
            stores += more
    return roots, stores


# The fields of statements that are expressions.
_FIELDS: dict[type[ir.Statement], tuple[str, ...]] = {
    ir.Let: ("value",),
    ir.Set: ("value",),
    ir.Store: ("position", "value"),
    ir.Loop: ("start", "stop"),
    ir.If: ("condition",),
    ir.Allocate: ("count",),
    ir.StreamingStore: ("position", "count"),
    ir.Prefetch: ("position", "count"),
    ir.Combine: ("joined",),
    ir.Barrier: (),
    ir.CopyNeighbours: ("position", "source_position", "valid"),
    ir.ReadNeighbours: ("position", "valid"),
}


def _reader(names: Sequence[str]) -> Callable[[Any], tuple[ir.Expr, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda statement: (getattr(statement, names[0]),)) if names else lambda _: ()


_OWN = {kind: _reader(names) for kind, names in _FIELDS.items()}
_OWN[ir.MultiplyTiles] = attrgetter("left.position", "right.position")


def own_expressions(statement: ir.Statement) -> tuple[ir.Expr, ...]:
    """Return the expressions of a statement itself."""
    return _OWN[type(statement)](statement)


def copied_inputs(statements: Iterable[ir.Statement]) -> set[ir.Buffer]:
    """Return the inputs that statements copy to shared memory, or read by several elements at once."""
    copied: set[ir.Buffer] = set()
    for statement in statements:
        if isinstance(statement, ir.CopyNeighbours | ir.ReadNeighbours):
            copied.add(statement.source)
        elif isinstance(statement, ir.Loop | ir.If):
            copied |= copied_inputs(statement.body)
    return copied


def changed_variables(statement: ir.Statement) -> tuple[ir.Variable, ...]:
    """Return the accumulators that a statement itself changes."""
    if isinstance(statement, ir.Set | ir.Combine):
        return (statement.variable,)
    if isinstance(statement, ir.ReadNeighbours):
        return statement.variables
    return statement.totals if isinstance(statement, ir.MultiplyTiles) else ()


def with_own_expressions(
    statement: ir.Statement, change: Callable[[ir.Expr], ir.Expr]
) -> ir.Statement:
    """Return a statement with each expression of its own changed, not those in its body."""
    if isinstance(statement, ir.MultiplyTiles):
        left, right = [
            replace(tile, position=change(tile.position))
            for tile in (statement.left, statement.right)
        ]
        return replace(statement, left=left, right=right)
    changed: dict[str, Any] = {
        name: change(getattr(statement, name)) for name in _FIELDS[type(statement)]
    }
    return replace(statement, **changed)


def substituted(root: ir.Expr, values: Mapping[ir.Expr, ir.Expr]) -> ir.Expr:
    """Return an expression with some of its parts replaced; choices between what is known, or equal, are made."""
    if root in values:
        return values[root]
    known = dict(values)
    for expr in in_order((root,), known):
        if isinstance(expr, ir.Apply):
            arguments = [known[operand] for operand in expr.arguments]
            if expr.op == "where" and (chosen := _chosen(*arguments)):
                known[expr] = chosen
            elif all(map(is_, arguments, expr.arguments)):
                known[expr] = expr
            else:
                known[expr] = ir.apply(expr.op, *arguments, dtype=expr.dtype)
        elif isinstance(expr, ir.Load):
            known[expr] = ir.load(expr.buffer, known[expr.position])
        else:
            known[expr] = expr
    return known[root]


def _chosen(condition: ir.Expr, x: ir.Expr, y: ir.Expr) -> ir.Expr | None:
    if x is y:
        return x
    return (x if condition.value else y) if isinstance(condition, ir.Literal) else None


def substituted_in(
    statements: Iterable[ir.Statement], values: Mapping[ir.Expr, ir.Expr]
) -> tuple[ir.Statement, ...]:
    """Return statements with parts of their expressions replaced."""
    changed = []
    for statement in statements:
        made = with_own_expressions(statement, lambda root: substituted(root, values))
        if isinstance(made, ir.Loop | ir.If):
            made = replace(made, body=substituted_in(made.body, values))
        changed.append(made)
    return tuple(changed)
