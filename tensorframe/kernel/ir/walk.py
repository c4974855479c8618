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
        one, entered = stack.pop()
        if one in order or one in known:
            continue
        if entered:
            order[one] = None
        else:
            stack.append((one, True))
            stack.extend((operand, False) for operand in reversed(one.operands))
    return list(order)


def expressions(statements: Iterable[Statement]) -> tuple[list[Expr], list[Store | StreamingStore]]:
    """Return the expressions that statements use, those of loops inside included, and all stores."""
    roots: list[Expr] = []
    stores: list[Store | StreamingStore] = []
    for one in statements:
        roots += own_expressions(one)
        if isinstance(one, Store | StreamingStore):
            stores.append(one)
        if isinstance(one, Loop | If):
            inner, more = expressions(one.body)
            roots += inner
            stores += more
    return roots, stores


def own_expressions(one: Statement) -> tuple[Expr, ...]:
    """Return the expressions of a statement itself."""
    if isinstance(one, Store):
        return (one.position, one.value)
    if isinstance(one, Loop):
        return (one.start, one.stop)
    if isinstance(one, If):
        return (one.condition,)
    if isinstance(one, Allocate):
        return (one.count,)
    if isinstance(one, StreamingStore | Prefetch):
        return (one.position, one.count)
    if isinstance(one, Combine):
        return (one.joined,)
    return () if isinstance(one, Barrier) else (one.value,)


def with_own_expressions(one: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """Return a statement with each expression of its own changed, not those in its body."""
    if isinstance(one, Store):
        return replace(one, position=change(one.position), value=change(one.value))
    if isinstance(one, Loop):
        return replace(one, start=change(one.start), stop=change(one.stop))
    if isinstance(one, If):
        return replace(one, condition=change(one.condition))
    if isinstance(one, Allocate):
        return replace(one, count=change(one.count))
    if isinstance(one, StreamingStore | Prefetch):
        return replace(one, position=change(one.position), count=change(one.count))
    if isinstance(one, Combine):
        return replace(one, joined=change(one.joined))
    return one if isinstance(one, Barrier) else replace(one, value=change(one.value))


def substituted(root: Expr, values: Mapping[Expr, Expr]) -> Expr:
    """Return an expression with some of its parts replaced; choices between what is known, or equal, are made."""
    if root in values:
        return values[root]
    known = dict(values)
    for one in in_order((root,), known):
        if isinstance(one, Apply):
            arguments = [known[operand] for operand in one.arguments]
            chosen = _chosen(*arguments) if one.op == "where" else None
            known[one] = chosen or apply(one.op, *arguments, dtype=one.dtype)
        elif isinstance(one, Load):
            known[one] = load(one.buffer, known[one.position])
        else:
            known[one] = one
    return known[root]


def _chosen(condition: Expr, x: Expr, y: Expr) -> Expr | None:
    if x is y:
        return x
    return (x if condition.value else y) if isinstance(condition, Literal) else None


def substituted_in(
    statements: Iterable[Statement], values: Mapping[Expr, Expr]
) -> tuple[Statement, ...]:
    """Return statements with parts of their expressions replaced."""
    found = []
    for one in statements:
        made = with_own_expressions(one, lambda root: substituted(root, values))
        if isinstance(made, Loop | If):
            made = replace(made, body=substituted_in(made.body, values))
        found.append(made)
    return tuple(found)
