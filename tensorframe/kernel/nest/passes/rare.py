"""Speculation: a kernel without the costly sides that hardly any element needs, which sets a flag if one did.

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
    both = _rewriting(lambda choice: ir.apply("where", *choice.arguments, dtype=choice.dtype))
    return tuple([_changed(statement, both) for statement in statements])


def speculative(statements: Iterable[ir.Statement]) -> tuple[ir.Statement, ...]:
    """Return statements that take the cheap side of every choice, and set the flag where that was wrong."""
    told = ir.If(_SEEN, (ir.Store(FLAG, ir.literal(0, ir.INDEX), _SEEN),))
    cheap = _rewriting(lambda choice: choice.arguments[2])
    return (ir.Set(_SEEN, ir.literal(0, bool_)), *_watching(statements, cheap), told)


def _watching(
    statements: Iterable[ir.Statement], cheap: Callable[[ir.Expr], ir.Expr]
) -> tuple[ir.Statement, ...]:
    watching: list[ir.Statement] = []
    watched: set[ir.Expr] = set()  # sin and cos of one angle have one condition
    changing: dict[ir.Expr, bool] = {}
    for statement in statements:
        if isinstance(statement, ir.Loop | ir.If):
            watching.append(replace(statement, body=_watching(statement.body, cheap)))
            continue
        conditions = [each for each in _conditions(statement) if each not in watched]
        if conditions:
            seen: ir.Expr = _SEEN
            for condition in conditions:
                seen = either(seen, cheap(condition))
            watching.append(ir.Set(_SEEN, seen))
            watched.update(each for each in conditions if not _is_changing(each, changing))
        watching.append(_changed(statement, cheap))
    return tuple(watching)


def _is_changing(condition: ir.Expr, known: dict[ir.Expr, bool]) -> bool:
    """Whether what the statements of a block set or store may change a condition; `known` are earlier answers."""
    for expr in in_order((condition,), known):
        known[expr] = (
            isinstance(expr, ir.Variable)
            or (isinstance(expr, ir.Load) and expr.buffer.role is not ir.Role.INPUT)
            or any(known[operand] for operand in expr.operands)
        )
    return known[condition]


def _conditions(statement: ir.Statement) -> list[ir.Expr]:
    roots, _ = expressions((statement,))
    rare = [
        value for value in in_order(roots, {}) if isinstance(value, ir.Apply) and is_rare(value)
    ]
    return list(dict.fromkeys([value.arguments[0] for value in rare]))


def is_rare(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Apply) and expr.op == RARE


def _rewriting(choose: Callable[[ir.Apply], ir.Expr]) -> Callable[[ir.Expr], ir.Expr]:
    """Return what makes an expression with `choose` made of each rare choice in it; parts are rewritten once."""
    known: dict[ir.Expr, ir.Expr] = {}

    def rewritten(root: ir.Expr) -> ir.Expr:
        for expr in in_order((root,), known):
            made = expr
            if isinstance(expr, ir.Apply):
                arguments = [known[operand] for operand in expr.arguments]
                made = ir.apply(expr.op, *arguments, dtype=expr.dtype)
            elif isinstance(expr, ir.Load):
                made = ir.load(expr.buffer, known[expr.position])
            known[expr] = choose(made) if isinstance(made, ir.Apply) and is_rare(made) else made
        return known[root]

    return rewritten


def _changed(statement: ir.Statement, change: Callable[[ir.Expr], ir.Expr]) -> ir.Statement:
    """Return a statement with its expressions changed, those of statements in it too."""
    made = with_own_expressions(statement, change)
    if isinstance(made, ir.Loop | ir.If):
        return replace(made, body=tuple([_changed(inner, change) for inner in made.body]))
    return made
