"""Walking over statements."""

from __future__ import annotations

from collections.abc import Iterable

from tensorframe.kernel.ir import Allocate, Expr, If, Loop, Statement, Store


def expressions(statements: Iterable[Statement]) -> tuple[list[Expr], list[Store]]:
    """Return the expressions that statements use, those of loops inside included, and all stores."""
    roots: list[Expr] = []
    stores: list[Store] = []
    for one in statements:
        roots += own_expressions(one)
        if isinstance(one, Store):
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
    return (one.value,)
