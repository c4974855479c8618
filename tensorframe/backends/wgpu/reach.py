"""Reach: which elements of its operands a kernel may see in a range of its outermost loop.

Positions are followed as intervals of whole numbers. Where one comes from what is not known, such as an index that is
an element itself, its interval is not known either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tensorframe.codegen.words import parameters
from tensorframe.kernel import ir
from tensorframe.kernel.ir.walk import in_order, own_expressions

Interval = tuple[int, int] | None  # the least and the most


def reach(
    kernel: ir.Kernel, words: np.ndarray[Any, Any], first: int, last: int
) -> Mapping[str, Interval]:
    """Return the first and last element of each operand that iterations `first` to `last` - 1 may see.

    Elements count from the operand's origin. None where it may be any.
    """
    following = _Following(kernel, words, (first, last - 1))
    following.block(kernel.body)
    return following.seen


class _Following:
    def __init__(self, kernel: ir.Kernel, words: np.ndarray[Any, Any], outermost: Interval) -> None:
        self._outermost = outermost
        self._numbers = {
            parameter.name: _as_signed(int(words[parameter.word]))
            for parameter in parameters(kernel)
            if parameter.words == 1
        }
        self._values: dict[ir.Expr, Interval] = {}  # of indices and variables
        self.seen: dict[str, Interval] = {}

    def block(self, body: Iterable[ir.Statement]) -> None:
        for statement in body:
            ends = [self._value(root) for root in own_expressions(statement)]
            if isinstance(statement, ir.Let):
                self._values[statement.variable] = ends[0]
            elif isinstance(statement, ir.Set):
                self._values[statement.variable] = None
            elif isinstance(statement, ir.ReadNeighbours):
                beyond = len(statement.variables) - 1
                self._see(statement.source.name, ends[0] and (ends[0][0], ends[0][1] + beyond))
                self._values.update(dict.fromkeys(statement.variables))
            elif isinstance(statement, ir.Store):
                self._see(statement.buffer.name, ends[0])
            elif isinstance(statement, ir.Loop):
                whole = None if None in ends else (ends[0][0], max(ends[1][1] - 1, ends[0][0]))  # type: ignore[index]
                self._values[statement.index] = self._outermost if statement.parallel else whole
                self.block(statement.body)
            elif isinstance(statement, ir.If):
                self.block(statement.body)

    def _see(self, name: str, where: Interval) -> None:
        before = self.seen.get(name, where)
        self.seen[name] = _both(before, where)

    def _value(self, root: ir.Expr) -> Interval:
        made: dict[ir.Expr, Interval] = {}
        for expr in in_order((root,), {}):
            if isinstance(expr, ir.Literal):
                number = _as_signed(int(expr.value.real)) if expr.dtype.kind in "iu" else None
                made[expr] = None if number is None else (number, number)
            elif isinstance(expr, ir.Argument):
                known = self._numbers.get(expr.name) if expr.dtype.kind in "iu" else None
                made[expr] = None if known is None else (known, known)
            elif isinstance(expr, ir.Load):
                self._see(expr.buffer.name, made[expr.position])
                made[expr] = None
            elif isinstance(expr, ir.Apply):
                made[expr] = _apply(expr.op, [made[operand] for operand in expr.arguments])
            else:
                made[expr] = self._values.get(expr)
        return made[root]


def _apply(op: str, operands: list[Interval]) -> Interval:
    if op in ("to_index", "from_index", "cast"):
        return operands[0]
    if op in ("where", "where_rare"):
        return _both(operands[1], operands[2])
    if len(operands) != 2 or operands[0] is None or operands[1] is None:
        return None
    (low, high), (other_low, other_high) = operands[0], operands[1]
    if op == "add":
        return low + other_low, high + other_high
    if op == "subtract":
        return low - other_high, high - other_low
    if op == "multiply":
        ends = [bound * other for bound in (low, high) for other in (other_low, other_high)]
        return min(ends), max(ends)
    if op in ("minimum", "maximum"):
        choose = min if op == "minimum" else max
        return choose(low, other_low), choose(high, other_high)
    if op in ("floor_divide", "remainder") and other_low == other_high > 0 and low >= 0:
        return _divide(op, low, high, other_low)
    return None


def _divide(op: str, low: int, high: int, size: int) -> Interval:
    if op == "floor_divide":
        return low // size, high // size
    if low // size == high // size:
        return low % size, high % size
    return 0, size - 1


def _both(interval: Interval, other: Interval) -> Interval:
    if interval is None or other is None:
        return None
    return min(interval[0], other[0]), max(interval[1], other[1])


def _as_signed(word: int) -> int:
    """Return a 32-bit number that wraps as what it stands for: positions are below 2**31, steps may be negative."""
    return (word + 2**31) % 2**32 - 2**31
