"""Walking over statements, and over the expressions in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tensorframe.kernel.ir.language import (
    Allocate,
    Apply,
    Barrier,
    Combine,
    Expr,
    If,
    Literal,
    Load,
    Loop,
    Prefetch,
    Statement,
    Store,
    StreamingStore,
    apply,
    load,
)


def in_order(roots: Iterable[Expr], known: Mapping[Expr, Any]) -> list[Expr]:
    """Return the expressions that `roots` are made of, operands first, without what is known and its operands."""
    order: dict[Expr, None] = {}
    stack = [(root, False) for root in roots]
    while stack:
        expr, entered = stack.pop()
        if expr in order or expr in known:
            continue
        if entered:
            order[expr] = None
        else:
            stack.append((expr, True))
            stack.extend((operand, False) for operand in reversed(expr.operands))
    return list(order)


def expressions(statements: Iterable[Statement]) -> tuple[list[Expr], list[Store | StreamingStore]]:
    """Return the expressions that statements use, those of loops inside included, and all stores."""
    roots: list[Expr] = []
    stores: list[Store | StreamingStore] = []
    for statement in statements:
        roots += own_expressions(statement)
        if isinstance(statement, Store | StreamingStore):
            stores.append(statement)
        if isinstance(statement, Loop | If):
            inner, more = expressions(statement.body)
            roots += inner
            stores += more
    return roots, stores


def own_expressions(statement: Statement) -> tuple[Expr, ...]:
    """Return the expressions of a statement itself."""
    if isinstance(statement, Store):
        return (statement.position, statement.value)
    if isinstance(statement, Loop):
        return (statement.start, statement.stop)
    if isinstance(statement, If):
        return (statement.condition,)
    if isinstance(statement, Allocate):
        return (statement.count,)
    if isinstance(statement, StreamingStore | Prefetch):
        return (statement.position, statement.count)
    if isinstance(statement, Combine):
        return (statement.joined,)
    return () if isinstance(statement, Barrier) else (statement.value,)


def with_own_expressions(statement: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """Return a statement with each expression of its own changed, not those in its body."""
    if isinstance(statement, Store):
        return replace(
            statement, position=change(statement.position), value=change(statement.value)
        )
    if isinstance(statement, Loop):
        return replace(statement, start=change(statement.start), stop=change(statement.stop))
    if isinstance(statement, If):
        return replace(statement, condition=change(statement.condition))
    if isinstance(statement, Allocate):
        return replace(statement, count=change(statement.count))
    if isinstance(statement, StreamingStore | Prefetch):
        return replace(
            statement, position=change(statement.position), count=change(statement.count)
        )
    if isinstance(statement, Combine):
        return replace(statement, joined=change(statement.joined))
    return (
        statement
        if isinstance(statement, Barrier)
        else replace(statement, value=change(statement.value))
    )


def substituted(root: Expr, values: Mapping[Expr, Expr]) -> Expr:
    """Return an expression with some of its parts replaced; choices between what is known, or equal, are made."""
    if root in values:
        return values[root]
    known = dict(values)
    for expr in in_order((root,), known):
        if isinstance(expr, Apply):
            arguments = [known[operand] for operand in expr.arguments]
            chosen = _chosen(*arguments) if expr.op == "where" else None
            known[expr] = chosen or apply(expr.op, *arguments, dtype=expr.dtype)
        elif isinstance(expr, Load):
            known[expr] = load(expr.buffer, known[expr.position])
        else:
            known[expr] = expr
    return known[root]


def _chosen(condition: Expr, x: Expr, y: Expr) -> Expr | None:
    if x is y:
        return x
    return (x if condition.value else y) if isinstance(condition, Literal) else None


def substituted_in(
    statements: Iterable[Statement], values: Mapping[Expr, Expr]
) -> tuple[Statement, ...]:
    """Return statements with parts of their expressions replaced."""
    changed = []
    for statement in statements:
        made = with_own_expressions(statement, lambda root: substituted(root, values))
        if isinstance(made, Loop | If):
            made = replace(made, body=substituted_in(made.body, values))
        changed.append(made)
    return tuple(changed)
