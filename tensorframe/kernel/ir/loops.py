"""Loops: the pieces that every form of kernel is put together from."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.kernel.ir.language import (
    INDEX,
    Expr,
    Index,
    Loop,
    Statement,
    apply,
    index,
    literal,
)

ZERO = literal(0, INDEX)


def digits(position: Expr, sizes: Sequence[Expr]) -> list[Expr]:
    """Return the indices, outermost first, of a position in C order in loops of these sizes."""
    digits: list[Expr] = []
    for size in reversed(sizes[1:]):
        digits.append(apply("remainder", position, size))
        position = apply("floor_divide", position, size)
    return [position, *reversed(digits)] if sizes else []


def flat(indices: Sequence[Expr], sizes: Sequence[Expr]) -> Expr:
    """Return the position in C order of indices in loops of these sizes."""
    position: Expr = ZERO
    for axis, coordinate in enumerate(indices):
        position = coordinate if axis == 0 else position * sizes[axis] + coordinate
    return position


def nested(
    indices: Sequence[Index], sizes: Sequence[Expr], body: Sequence[Statement]
) -> tuple[Statement, ...]:
    """Return loops over whole axes around `body`, the last index innermost."""
    statements = tuple(body)
    for variable, size in zip(reversed(indices), reversed(sizes), strict=True):
        statements = (Loop(variable, ZERO, size, statements),)
    return statements


def named(prefix: str, count: int) -> list[Index]:
    """Return as many loop variables: `prefix0`, `prefix1` ..."""
    return [index(f"{prefix}{number}") for number in range(count)]


def smaller(left: Expr, right: Expr) -> Expr:
    """Return the smaller of two sizes."""
    return apply("minimum", left, right)


def larger(left: Expr, right: Expr) -> Expr:
    """Return the larger of two positions."""
    return apply("maximum", left, right)
