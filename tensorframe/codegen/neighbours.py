"""Neighbours: which accesses of a loop are to elements side by side, in iterations that follow each other.

The position is the number of the iteration, or, in rows of `n` elements, `row * stride + iteration % n`: then so many
iterations stay in one row, and begin at a multiple of their number, where `n` and the stride are multiples of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tensorframe.kernel import ir
from tensorframe.kernel.ir.walk import expressions, in_order, substituted


class Run(NamedTuple):
    """An access to neighbours: of which buffer, where it is in the loop's text, and where the first neighbour is.

    `multiples` are numbers that have to be multiples of the number of neighbours.
    """

    buffer: ir.Buffer
    position: ir.Expr
    first: ir.Expr
    multiples: tuple[ir.Expr, ...]


def runs_of(loop: ir.Loop, first: ir.Index) -> list[Run]:
    """Return the accesses to neighbours, `first` being the first iteration; none where only some iterations write."""
    roots, stores = expressions(loop.body)
    if any(store not in loop.body for store in stores):
        return []
    accesses = [
        (expr.buffer, expr.position) for expr in in_order(roots, ()) if isinstance(expr, ir.Load)
    ]
    accesses += [(store.buffer, store.position) for store in stores]
    names = _named_values(loop)
    runs = []
    for buffer, position in dict.fromkeys(accesses):
        whole = substituted(position, names)
        multiples = _multiples(whole, loop.index)
        if multiples is not None:
            runs.append(Run(buffer, position, substituted(whole, {loop.index: first}), multiples))
    return runs


def _named_values(loop: ir.Loop) -> dict[ir.Expr, ir.Expr]:
    """Return what the names of a loop's body stand for, without other names."""
    values: dict[ir.Expr, ir.Expr] = {}
    for statement in loop.body:
        if isinstance(statement, ir.Let):
            values[statement.variable] = substituted(statement.value, values)
    return values


def _multiples(position: ir.Expr, index: ir.Index) -> tuple[ir.Expr, ...] | None:
    """Return what has to be multiples of the number of neighbours, where these are side by side; None elsewhere."""
    parts = in_order((position,), ())
    if any(isinstance(part, ir.Variable | ir.Load) for part in parts):
        return (
            None  # what an iteration finds out, as by a tensor of indices, is not known before it
        )
    terms = _terms(position)
    along = [term for term in terms if term is index or _is_call(term, "remainder", index)]
    if len(along) != 1:
        return None
    rest = [term for term in terms if term is not along[0]]
    if along[0] is index:
        rows: Mapping[ir.Expr, ir.Expr] = {}
        needed: list[ir.Expr] = []
    else:
        length = along[0].operands[1]
        # all neighbours are in one row, whose number says nothing of the iteration any more
        row = ir.apply("floor_divide", index, length)
        rows, needed = {row: ir.argument("row")}, [length]
    for term in rest:
        if index in in_order((substituted(term, rows),), ()):
            return None
        needed.append(_factor(term))
    return tuple(needed)


def _terms(position: ir.Expr) -> Sequence[ir.Expr]:
    if isinstance(position, ir.Apply) and position.op == "add":
        return [term for operand in position.operands for term in _terms(operand)]
    return [position]


def _factor(term: ir.Expr) -> ir.Expr:
    """Return a number that a term is a multiple of."""
    if isinstance(term, ir.Apply) and term.op == "multiply":
        return next((x for x in term.operands if isinstance(x, ir.Argument | ir.Literal)), term)
    return term


def _is_call(expr: ir.Expr, op: str, *operands: ir.Expr) -> bool:
    return (
        isinstance(expr, ir.Apply) and expr.op == op and expr.operands[: len(operands)] == operands
    )
