"""Neighbours: the representable numbers beside a number."""

from __future__ import annotations

from math import inf

from tensorframe.dtypes import FORMAT, NARROW, wide_of
from tensorframe.kernel.ir import Expr, literal
from tensorframe.kernel.ir.formula import bitcast, cast, copysign, either, equal, isnan, where
from tensorframe.kernel.math.parts import LAYOUTS
from tensorframe.kernel.math.registry import formula


@formula("nextafter", half=True)
def nextafter(x: Expr, y: Expr) -> Expr:
    """Return the number after x in the direction of y."""
    if x.dtype not in NARROW:
        return _next(x, x, y, 0)
    how, computed = FORMAT[x.dtype], wide_of(x.dtype)
    wide, towards = cast(x, computed), cast(y, computed)
    start = wide
    if not how.has_exponents_of_single:
        # a power of two follows the largest number, where infinity stands
        beyond = literal(2.0 ** (how.top + 1), computed)
        start = where(equal(abs(wide), inf), copysign(beyond, wide), wide)
    # makes its smallest exponents those of the dtype that it is computed in
    factor = FORMAT[computed].normal / how.normal
    neighbour = _next(start * factor, wide, towards, how.spare) * (1 / factor)
    return cast(where(equal(wide, towards), towards, neighbour), x.dtype)


def _next(start: Expr, x: Expr, y: Expr, spare: int) -> Expr:
    """Return `start` with one step of its bits, above `spare` others, away from zero or towards it."""
    layout = LAYOUTS[x.dtype]
    step = literal(1 << spare, layout.bits)
    away = equal(y > x, x > 0.0)
    moved = bitcast(start, layout.bits) + where(away, step, -step)
    smallest = copysign(bitcast(step, x.dtype), y)
    neighbour = where(equal(x, 0.0), smallest, bitcast(moved, x.dtype))
    neighbour = where(either(isnan(x), isnan(y)), x + y, neighbour)
    return neighbour if spare else where(equal(x, y), y, neighbour)
