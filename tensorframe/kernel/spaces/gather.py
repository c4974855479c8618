"""Gathers: loads at positions that other operands give, with a note of those that are out of bounds.

A kernel cannot raise. An index that is out of bounds reads element 0, and sets a flag in a buffer that the caller
looks at afterwards: where it finds one, it runs the region by what can raise errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from tensorframe.dtypes import UNSIGNED, bool_
from tensorframe.graph.op import Op
from tensorframe.kernel import ir
from tensorframe.kernel.ir.formula import either, equal, where
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.kernel.ir.walk import (
    expressions,
    in_order,
    own_expressions,
    substituted,
    with_own_expressions,
)
from tensorframe.ops.indexing import GATHER, TAKE_ALONG_AXIS

GATHERS = frozenset({GATHER, TAKE_ALONG_AXIS})
MARK = ir.Buffer("m0", bool_, ir.Role.OUTPUT)  # one element: whether an index was out of bounds

_MISSED = ir.variable("missed", bool_)


def selected_axes(op: Op, attrs: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the axes of the first operand on which indices select, one for each further operand."""
    return attrs[0] if op is GATHER else (attrs[0],)


def place_on_axis(index: ir.Expr, size: ir.Expr) -> ir.Expr:
    """Return where on an axis of this size an index is; one below zero counts from the end."""
    if index.dtype in UNSIGNED:
        return place_of(index, size)
    if _is_wide(index):
        from_end = index + ir.apply("from_index", size, dtype=index.dtype)
        return place_of(where(index < 0, from_end, index), size)
    place = ir.apply("to_index", index, dtype=ir.INDEX)  # narrow dtypes may not hold the size
    return ir.apply("checked_index", where(index < 0, place + size, place), size, dtype=ir.INDEX)


def place_of(number: ir.Expr, size: ir.Expr) -> ir.Expr:
    """Return a number as a place on an axis of this size: none if it has more bits than positions, and needs them."""
    place: ir.Expr = ir.apply("to_index", number, dtype=ir.INDEX)
    if _is_wide(number):
        back = ir.apply("from_index", place, dtype=number.dtype)
        place = where(equal(back, number), place, size)
    return ir.apply("checked_index", place, size, dtype=ir.INDEX)


def _is_wide(number: ir.Expr) -> bool:
    return number.dtype.itemsize == ir.INDEX.itemsize


def with_bounds_checks(statements: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
    """Return statements that stay within bounds, and set a flag if they would not have done so."""
    roots, _ = expressions(statements)
    if not any(map(_is_place, in_order(roots, {}))):
        return statements
    body = _BoundsChecks().block(statements, frozenset(), {})
    mark = ir.Store(MARK, ZERO, ir.literal(1, bool_))
    return (ir.Set(_MISSED, ir.literal(0, bool_)), *body, ir.If(_MISSED, (mark,)))


class _BoundsChecks:
    """Names places, notes those that are out of bounds, and replaces them by the first one."""

    def __init__(self) -> None:
        self._numbers = count()

    def block(
        self,
        statements: Iterable[ir.Statement],
        scope: frozenset[ir.Expr],
        known: dict[ir.Expr, ir.Expr],
    ) -> tuple[ir.Statement, ...]:
        """Return a block in which each place is noted once, in the outermost loop that determines it."""
        known = dict(known)
        checked: list[ir.Statement] = []
        for statement in statements:
            for place in _places(statement, scope):
                if place not in known:
                    checked += self._note(place, known)
            made = with_own_expressions(statement, lambda root: substituted(root, known))
            if isinstance(made, ir.Loop):
                made = replace(made, body=self.block(made.body, scope | {made.index}, known))
            elif isinstance(made, ir.If):
                made = replace(made, body=self.block(made.body, scope, known))
            checked.append(made)
        return tuple(checked)

    def _note(self, place: ir.Expr, known: dict[ir.Expr, ir.Expr]) -> tuple[ir.Statement, ...]:
        value, size = [substituted(operand, known) for operand in place.operands]
        checked = ir.variable(f"at{next(self._numbers)}", ir.INDEX)
        known[place] = where(checked < size, checked, ZERO)
        return ir.Set(checked, value), ir.Set(_MISSED, either(_MISSED, checked >= size))


def _is_place(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Apply) and expr.op == "checked_index"


def _places(statement: ir.Statement, scope: frozenset[ir.Expr]) -> Iterator[ir.Expr]:
    """Yield the places to note before a statement: its own, or those that its loop does not change."""
    if isinstance(statement, ir.Loop):
        for inner in statement.body:
            # what is under a condition may not be there without it
            if not isinstance(inner, ir.If):
                yield from (place for place in _places(inner, scope) if _is_fixed(place, scope))
    elif not isinstance(statement, ir.If):
        yield from filter(_is_place, in_order(own_expressions(statement), {}))


def _is_fixed(place: ir.Expr, scope: frozenset[ir.Expr]) -> bool:
    """Whether nothing but the indices in `scope` and what is in memory all along determines a place."""
    return all(
        expr in scope
        if isinstance(expr, ir.Index | ir.Variable)
        else not isinstance(expr, ir.Load) or expr.buffer.role is ir.Role.INPUT
        for expr in in_order((place,), {})
    )
