"""Predication undone: choices become branches where a thread must not, or need not, compute a side.

A thread of a work-group can branch, where a vector loop has to be divided (`split.py`) or computed twice (`rare.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import count

from tensorframe.kernel.ir import Expr, If, Loop, Set, Statement, Variable, variable
from tensorframe.kernel.ir.formula import negation
from tensorframe.kernel.ir.walk import own_expressions, substituted, with_own_expressions
from tensorframe.kernel.nest.passes.rare import is_rare
from tensorframe.kernel.nest.passes.split import Cuts


def branched(statements: Iterable[Statement], cuts: Cuts) -> tuple[Statement, ...]:
    """Return statements that compute the side of a rare choice, or of a choice between pieces, that is needed only."""

    def is_choice(expr: Expr) -> bool:
        return is_rare(expr) or (
            getattr(expr, "op", None) == "where" and expr.operands[0] in cuts.known
        )

    return _Brancher(is_choice).block(statements)


class _Brancher:
    def __init__(self, is_choice: Callable[[Expr], bool]) -> None:
        self._is_choice = is_choice
        self._numbers = count()

    def block(self, statements: Iterable[Statement]) -> tuple[Statement, ...]:
        branched: list[Statement] = []
        for statement in statements:
            before, known = self._before(own_expressions(statement))
            branched += before
            made = with_own_expressions(statement, partial(substituted, values=known))
            if isinstance(made, Loop | If):
                made = replace(made, body=self.block(made.body))
            branched.append(made)
        return tuple(branched)

    def _before(self, roots: Iterable[Expr]) -> tuple[list[Statement], dict[Expr, Expr]]:
        """Return what has to run before these expressions, and the names of the choices in them."""
        statements: list[Statement] = []
        known: dict[Expr, Expr] = {}
        for choice in self._outermost(roots):
            name = variable(f"side{next(self._numbers)}", choice.dtype)
            statements += self._sides(choice, name)
            known[choice] = name
        return statements, known

    def _outermost(self, roots: Iterable[Expr]) -> list[Expr]:
        """Return the choices that are in no side of another one."""
        choices: dict[Expr, None] = {}
        seen: set[Expr] = set()
        stack = list(roots)
        while stack:
            expr = stack.pop()
            if expr in seen:
                continue
            seen.add(expr)
            if self._is_choice(expr):
                choices[expr] = None
            else:
                stack.extend(expr.operands)
        return list(choices)

    def _sides(self, expr: Expr, name: Variable) -> list[Statement]:
        condition, *sides = expr.operands
        before, known = self._before((condition,))
        holds = substituted(condition, known)
        first, second = [self._given(side, name) for side in sides]
        if is_rare(expr):  # the second side is nearly always needed, and always there
            return [*before, *second, If(holds, first)]
        return [*before, If(holds, first), If(negation(holds), second)]

    def _given(self, side: Expr, name: Variable) -> tuple[Statement, ...]:
        before, known = self._before((side,))
        return (*before, Set(name, substituted(side, known)))
