"""Loops: the pieces that every form of kernel is put together from."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.kernel.ir import language as ir

ZERO = ir.literal(0, ir.INDEX)


def digits(position: ir.Expr, sizes: Sequence[ir.Expr]) -> list[ir.Expr]:
    """Return the indices, outermost first, of a position in C order in loops of these sizes."""
    digits: list[ir.Expr] = []
    for size in reversed(sizes[1:]):
        digits.append(ir.apply("remainder", position, size))
        position = ir.apply("floor_divide", position, size)
    return [position, *reversed(digits)] if sizes else []


def digits_after(start: ir.Expr, step: ir.Expr, sizes: Sequence[ir.Expr]) -> list[ir.Expr]:
    """Return the indices of the position `start + step`, where `step` is less than the last size.

    Those of `start` are divided, outside of a loop over steps; from there on they are carried.
    """
    *outer, position = digits(start, sizes)
    position = position + step
    carried: list[ir.Expr] = []
    for digit, size in zip(reversed(outer), reversed(sizes), strict=False):
        there = ir.compare("less", position, size)
        carried.append(ir.apply("where", there, position, position - size))
        position = ir.apply("where", there, digit, digit + 1)
    return [position, *reversed(carried)]


def flat(indices: Sequence[ir.Expr], sizes: Sequence[ir.Expr]) -> ir.Expr:
    """Return the position in C order of indices in loops of these sizes."""
    position: ir.Expr = ZERO
    for axis, coordinate in enumerate(indices):
        position = coordinate if axis == 0 else position * sizes[axis] + coordinate
    return position


def nested(
    indices: Sequence[ir.Index], sizes: Sequence[ir.Expr], body: Sequence[ir.Statement]
) -> tuple[ir.Statement, ...]:
    """Return loops over whole axes around `body`, the last index innermost."""
    statements = tuple(body)
    for variable, size in zip(reversed(indices), reversed(sizes), strict=True):
        statements = (ir.Loop(variable, ZERO, size, statements),)
    return statements


def named(prefix: str, count: int) -> list[ir.Index]:
    """Return as many loop variables: `prefix0`, `prefix1` ..."""
    return [ir.index(f"{prefix}{number}") for number in range(count)]


def smaller(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """Return the smaller of two sizes."""
    return ir.apply("minimum", left, right)


def larger(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """Return the larger of two positions."""
    return ir.apply("maximum", left, right)
