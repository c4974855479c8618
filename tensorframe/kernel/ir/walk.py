"""Walking over statements, and over the expressions in them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from operator import is_

from tensorframe.kernel.ir import language as ir


def in_order(roots: Iterable[ir.Expr], known: Container[ir.Expr]) -> list[ir.Expr]:
    """Return the expressions that `roots` are made of, operands first, without what is known and its operands.

    Every pass over a kernel asks for this, many times: it is a fifth of the time that making one takes.
    """
    order: dict[ir.Expr, None] = {}
    begun: set[ir.Expr] = set()
    stack = list(roots)
    stack.reverse()
    while stack:
        expr = stack[-1]
        if expr in begun:  # its operands are there by now
            order[stack.pop()] = None
        elif expr in order or expr in known:
            stack.pop()
        elif expr.operands:
            begun.add(expr)
            stack += expr.operands[::-1]
        else:
            order[stack.pop()] = None
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


def own_expressions(statement: ir.Statement) -> tuple[ir.Expr, ...]:
    """Return the expressions of a statement itself."""
    if isinstance(statement, ir.Store):
        return (statement.position, statement.value)
    if isinstance(statement, ir.Loop):
        return (statement.start, statement.stop)
    if isinstance(statement, ir.If):
        return (statement.condition,)
    if isinstance(statement, ir.Allocate):
        return (statement.count,)
    if isinstance(statement, ir.StreamingStore | ir.Prefetch):
        return (statement.position, statement.count)
    if isinstance(statement, ir.Combine):
        return (statement.joined,)
    if isinstance(statement, ir.CopyNeighbours):
        return (statement.position, statement.source_position, statement.valid)
    if isinstance(statement, ir.ReadNeighbours):
        return (statement.position, statement.valid)
    if isinstance(statement, ir.MultiplyTiles):
        return (statement.left.position, statement.right.position)
    return () if isinstance(statement, ir.Barrier) else (statement.value,)


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
    if isinstance(statement, ir.Store):
        return replace(
            statement, position=change(statement.position), value=change(statement.value)
        )
    if isinstance(statement, ir.Loop):
        return replace(statement, start=change(statement.start), stop=change(statement.stop))
    if isinstance(statement, ir.If):
        return replace(statement, condition=change(statement.condition))
    if isinstance(statement, ir.Allocate):
        return replace(statement, count=change(statement.count))
    if isinstance(statement, ir.StreamingStore | ir.Prefetch):
        return replace(
            statement, position=change(statement.position), count=change(statement.count)
        )
    if isinstance(statement, ir.Combine):
        return replace(statement, joined=change(statement.joined))
    if isinstance(statement, ir.CopyNeighbours):
        return replace(
            statement,
            position=change(statement.position),
            source_position=change(statement.source_position),
            valid=change(statement.valid),
        )
    if isinstance(statement, ir.ReadNeighbours):
        return replace(
            statement, position=change(statement.position), valid=change(statement.valid)
        )
    if isinstance(statement, ir.MultiplyTiles):
        left, right = [
            replace(tile, position=change(tile.position))
            for tile in (statement.left, statement.right)
        ]
        return replace(statement, left=left, right=right)
    return (
        statement
        if isinstance(statement, ir.Barrier)
        else replace(statement, value=change(statement.value))
    )


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
