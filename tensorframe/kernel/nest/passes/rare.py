"""Speculation: a kernel without the costly sides that hardly any element needs, which tells whether one did.

`where_rare` would compute both sides for every element: for sin, angles beyond 2^17 take four times as long as others.
The speculative kernel has the cheap sides only, and sets a flag where a condition held: then the general kernel runs
over the same elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tensorframe.dtypes import bool_
from tensorframe.kernel import ir
from tensorframe.kernel.ir.formula import either
from tensorframe.kernel.ir.walk import expressions, in_order, with_own_expressions

RARE = "where_rare"  # condition, costly side, cheap side
FLAG = ir.Buffer("f0", bool_, ir.Role.OUTPUT)
_SEEN = ir.variable("rare", bool_)


def has_rare(statements: Iterable[ir.Statement]) -> bool:
    """Whether some expression has a rare side."""
    roots, _ = expressions(statements)
    return any(is_rare(expr) for expr in in_order(roots, {}))


def general(statements: Iterable[ir.Statement]) -> tuple[ir.Statement, ...]:
    """Return statements that compute both sides of every choice."""

    def both(choice: ir.Apply) -> ir.Expr:
        return ir.apply("where", *choice.arguments, dtype=choice.dtype)

    return tuple(
        [_changed(statement, lambda root: _rewritten(root, both)) for statement in statements]
    )


def speculative(statements: Iterable[ir.Statement]) -> tuple[ir.Statement, ...]:
    """Return statements that take the cheap side of every choice, and set the flag where that was wrong."""
    told = ir.If(_SEEN, (ir.Store(FLAG, ir.literal(0, ir.INDEX), _SEEN),))
    return (ir.Set(_SEEN, ir.literal(0, bool_)), *_watching(statements), told)


def _watching(statements: Iterable[ir.Statement]) -> tuple[ir.Statement, ...]:
    watching: list[ir.Statement] = []
    watched: set[ir.Expr] = set()  # sin and cos of one angle have one condition
    for statement in statements:
        if isinstance(statement, ir.Loop | ir.If):
            watching.append(replace(statement, body=_watching(statement.body)))
            continue
        conditions = [each for each in _conditions(statement) if each not in watched]
        if conditions:
            seen: ir.Expr = _SEEN
            for condition in conditions:
                seen = either(seen, _cheap(condition))
            watching.append(ir.Set(_SEEN, seen))
            watched.update(filter(_is_fixed, conditions))
        watching.append(_changed(statement, _cheap))
    return tuple(watching)


def _is_fixed(condition: ir.Expr) -> bool:
    """Whether nothing that the statements of a block set or store changes a condition."""
    return not any(
        isinstance(value, ir.Variable)
        or (isinstance(value, ir.Load) and value.buffer.role is not ir.Role.INPUT)
        for value in in_order((condition,), {})
    )


def _conditions(statement: ir.Statement) -> list[ir.Expr]:
    roots, _ = expressions((statement,))
    rare = [
        value for value in in_order(roots, {}) if isinstance(value, ir.Apply) and is_rare(value)
    ]
    return list(dict.fromkeys([value.arguments[0] for value in rare]))


def is_rare(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Apply) and expr.op == RARE


def _cheap(root: ir.Expr) -> ir.Expr:
    return _rewritten(root, lambda choice: choice.arguments[2])


def _rewritten(root: ir.Expr, choose: Callable[[ir.Apply], ir.Expr]) -> ir.Expr:
    """Return an expression with `choose` made of each rare choice in it."""
    known: dict[ir.Expr, ir.Expr] = {}
    for expr in in_order((root,), {}):
        made = expr
        if isinstance(expr, ir.Apply):
            arguments = [known[operand] for operand in expr.arguments]
            made = ir.apply(expr.op, *arguments, dtype=expr.dtype)
        elif isinstance(expr, ir.Load):
            made = ir.load(expr.buffer, known[expr.position])
        known[expr] = choose(made) if isinstance(made, ir.Apply) and is_rare(made) else made
    return known[root]


def _changed(statement: ir.Statement, change: Callable[[ir.Expr], ir.Expr]) -> ir.Statement:
    """Return a statement with its expressions changed, those of statements in it too."""
    made = with_own_expressions(statement, change)
    if isinstance(made, ir.Loop | ir.If):
        return replace(made, body=tuple([_changed(inner, change) for inner in made.body]))
    return made
