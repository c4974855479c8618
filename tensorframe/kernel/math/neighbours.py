"""Neighbours: the representable numbers beside a number."""

from __future__ import annotations

from math import inf

from tensorframe.dtypes import HALF, bfloat16, float16, float32
from tensorframe.kernel.formula import bitcast, cast, copysign, either, equal, isnan, where
from tensorframe.kernel.ir import Expr, literal
from tensorframe.kernel.math.parts import LAYOUTS
from tensorframe.kernel.math.registry import formula

# the last bits of float32 that half precision does not have, and the factor that makes its smallest exponents float32's
SPARE = {float16: (13, 2.0**-112), bfloat16: (16, 1.0)}
BEYOND = 65536.0  # what follows the largest float16, where infinity stands


@formula("nextafter", half=True)
def nextafter(x: Expr, y: Expr) -> Expr:
    """Return the number after x in the direction of y."""
    if x.dtype not in HALF:
        return _next(x, x, y, 0)
    spare, factor = SPARE[x.dtype]
    wide, towards = cast(x, float32), cast(y, float32)
    start = wide
    if x.dtype == float16:
        start = where(equal(abs(wide), inf), copysign(literal(BEYOND, float32), wide), wide)
    found = _next(start * factor, wide, towards, spare) * (1 / factor)
    return cast(where(equal(wide, towards), towards, found), x.dtype)


def _next(start: Expr, x: Expr, y: Expr, spare: int) -> Expr:
    """Return `start` with one step of its bits, above `spare` others, away from zero or towards it."""
    layout = LAYOUTS[x.dtype]
    step = literal(1 << spare, layout.bits)
    away = equal(y > x, x > 0.0)
    moved = bitcast(start, layout.bits) + where(away, step, -step)
    smallest = copysign(bitcast(step, x.dtype), y)
    found = where(equal(x, 0.0), smallest, bitcast(moved, x.dtype))
    found = where(either(isnan(x), isnan(y)), x + y, found)
    return found if spare else where(equal(x, y), y, found)
