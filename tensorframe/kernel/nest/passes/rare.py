"""Speculation: a kernel without the costly sides that hardly any element needs, which tells whether one did.

`where_rare` would compute both sides for every element: for sin, angles beyond 2^17 take four times as long as others.
The speculative kernel has the cheap sides only, and sets a flag where a condition held: then the general kernel runs
over the same elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tensorframe.dtypes import bool_
from tensorframe.kernel.ir import (
    INDEX,
    Apply,
    Buffer,
    Expr,
    If,
    Load,
    Loop,
    Role,
    Set,
    Statement,
    Store,
    apply,
    literal,
    load,
    variable,
)
from tensorframe.kernel.ir.formula import either
from tensorframe.kernel.ir.walk import expressions, in_order, with_own_expressions

RARE = "where_rare"  # condition, costly side, cheap side
FLAG = Buffer("f0", bool_, Role.OUTPUT)
_SEEN = variable("rare", bool_)


def has_rare(statements: Iterable[Statement]) -> bool:
    """Whether some expression has a rare side."""
    roots, _ = expressions(statements)
    return any(is_rare(expr) for expr in in_order(roots, {}))


def general(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Return statements that compute both sides of every choice."""

    def both(choice: Apply) -> Expr:
        return apply("where", *choice.arguments, dtype=choice.dtype)

    return tuple(
        [_changed(statement, lambda root: _rewritten(root, both)) for statement in statements]
    )


def speculative(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Return statements that take the cheap side of every choice, and set the flag where that was wrong."""
    told = If(_SEEN, (Store(FLAG, literal(0, INDEX), _SEEN),))
    return (Set(_SEEN, literal(0, bool_)), *_watching(statements), told)


def _watching(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    watching: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Loop | If):
            watching.append(replace(statement, body=_watching(statement.body)))
            continue
        conditions = _conditions(statement)
        if conditions:
            seen: Expr = _SEEN
            for condition in conditions:
                seen = either(seen, _cheap(condition))
            watching.append(Set(_SEEN, seen))
        watching.append(_changed(statement, _cheap))
    return tuple(watching)


def _conditions(statement: Statement) -> list[Expr]:
    roots, _ = expressions((statement,))
    rare = [value for value in in_order(roots, {}) if isinstance(value, Apply) and is_rare(value)]
    return list(dict.fromkeys([value.arguments[0] for value in rare]))


def is_rare(expr: Expr) -> bool:
    return isinstance(expr, Apply) and expr.op == RARE


def _cheap(root: Expr) -> Expr:
    return _rewritten(root, lambda choice: choice.arguments[2])


def _rewritten(root: Expr, choose: Callable[[Apply], Expr]) -> Expr:
    """Return an expression with `choose` made of each rare choice in it."""
    known: dict[Expr, Expr] = {}
    for expr in in_order((root,), {}):
        made = expr
        if isinstance(expr, Apply):
            arguments = [known[operand] for operand in expr.arguments]
            made = apply(expr.op, *arguments, dtype=expr.dtype)
        elif isinstance(expr, Load):
            made = load(expr.buffer, known[expr.position])
        known[expr] = choose(made) if isinstance(made, Apply) and is_rare(made) else made
    return known[root]


def _changed(statement: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """Return a statement with its expressions changed, those of statements in it too."""
    made = with_own_expressions(statement, change)
    if isinstance(made, Loop | If):
        return replace(made, body=tuple([_changed(inner, change) for inner in made.body]))
    return made
