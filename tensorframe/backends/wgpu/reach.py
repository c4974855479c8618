"""Reach: which elements of its operands a kernel may see in a range of its outermost loop.

Positions are followed as intervals of whole numbers. Where one comes from what is not known, such as an index that is
an element itself, its interval is not known either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tensorframe.codegen.words import parameters
from tensorframe.kernel.ir import (
    Apply,
    Argument,
    Expr,
    If,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Set,
    Statement,
    Store,
)
from tensorframe.kernel.walk import in_order, own_expressions

Interval = tuple[int, int] | None  # the least and the most


def reach(
    kernel: Kernel, words: np.ndarray[Any, Any], first: int, last: int
) -> Mapping[str, Interval]:
    """Return the first and last element of each operand that iterations `first` to `last` - 1 may see.

    Elements count from the operand's origin. None where it may be any.
    """
    following = _Following(kernel, words, (first, last - 1))
    following.block(kernel.body)
    return following.seen


class _Following:
    def __init__(self, kernel: Kernel, words: np.ndarray[Any, Any], outermost: Interval) -> None:
        self._outermost = outermost
        self._numbers = {
            one.name: _signed(int(words[one.word])) for one in parameters(kernel) if one.words == 1
        }
        self._values: dict[Expr, Interval] = {}  # of indices and variables
        self.seen: dict[str, Interval] = {}

    def block(self, body: Iterable[Statement]) -> None:
        for one in body:
            found = [self._value(root) for root in own_expressions(one)]
            if isinstance(one, Let):
                self._values[one.variable] = found[0]
            elif isinstance(one, Set):
                self._values[one.variable] = None
            elif isinstance(one, Store):
                self._see(one.buffer.name, found[0])
            elif isinstance(one, Loop):
                whole = None if None in found else (found[0][0], max(found[1][1] - 1, found[0][0]))  # type: ignore[index]
                self._values[one.index] = self._outermost if one.parallel else whole
                self.block(one.body)
            elif isinstance(one, If):
                self.block(one.body)

    def _see(self, name: str, where: Interval) -> None:
        before = self.seen.get(name, where)
        self.seen[name] = _both(before, where)

    def _value(self, root: Expr) -> Interval:
        made: dict[Expr, Interval] = {}
        for one in in_order((root,), {}):
            if isinstance(one, Literal):
                number = _signed(int(one.value.real)) if one.dtype.kind in "iu" else None
                made[one] = None if number is None else (number, number)
            elif isinstance(one, Argument):
                known = self._numbers.get(one.name) if one.dtype.kind in "iu" else None
                made[one] = None if known is None else (known, known)
            elif isinstance(one, Load):
                self._see(one.buffer.name, made[one.position])
                made[one] = None
            elif isinstance(one, Apply):
                made[one] = _applied(one.op, [made[operand] for operand in one.arguments])
            else:
                made[one] = self._values.get(one)
        return made[root]


def _applied(op: str, operands: list[Interval]) -> Interval:
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
        ends = [one * other for one in (low, high) for other in (other_low, other_high)]
        return min(ends), max(ends)
    if op in ("minimum", "maximum"):
        choose = min if op == "minimum" else max
        return choose(low, other_low), choose(high, other_high)
    if op in ("floor_divide", "remainder") and other_low == other_high > 0 and low >= 0:
        return _divided(op, low, high, other_low)
    return None


def _divided(op: str, low: int, high: int, size: int) -> Interval:
    if op == "floor_divide":
        return low // size, high // size
    if low // size == high // size:
        return low % size, high % size
    return 0, size - 1


def _both(one: Interval, other: Interval) -> Interval:
    if one is None or other is None:
        return None
    return min(one[0], other[0]), max(one[1], other[1])


def _signed(word: int) -> int:
    """Return a 32-bit number that wraps as what it stands for: positions are below 2**31, steps may be negative."""
    return (word + 2**31) % 2**32 - 2**31
