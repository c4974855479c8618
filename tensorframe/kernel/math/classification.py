"""Classes of numbers, and selection by them: signs, NaN, infinities, larger and smaller of two."""

from __future__ import annotations

from math import inf

from tensorframe.dtypes import FLOAT, SIGNED, bool_
from tensorframe.kernel.ir import Expr, apply, literal
from tensorframe.kernel.ir.formula import (
    bitcast,
    cast,
    either,
    equal,
    not_equal,
    where,
)
from tensorframe.kernel.math.parts import LAYOUTS
from tensorframe.kernel.math.registry import formula


@formula("isnan")
def isnan(x: Expr) -> Expr:
    """Return whether x is NaN: it differs from itself."""
    return not_equal(x, x) if x.dtype in FLOAT else literal(False, bool_)


@formula("isinf")
def isinf(x: Expr) -> Expr:
    """Return whether x is infinite."""
    return equal(abs(x), inf) if x.dtype in FLOAT else literal(False, bool_)


@formula("isfinite")
def isfinite(x: Expr) -> Expr:
    """Return whether x is a number and not infinite."""
    return abs(x) < inf if x.dtype in FLOAT else literal(True, bool_)


@formula("signbit")
def signbit(x: Expr) -> Expr:
    """Return whether the highest bit is set."""
    return bitcast(x, LAYOUTS[x.dtype].bits) < 0


@formula("sign")
def sign(x: Expr) -> Expr:
    """Return -1, 0 or 1; zeros give 0, NaN stays."""
    if x.dtype in FLOAT:
        zero = where(equal(x, 0), literal(0, x.dtype), x)
        return where(x > 0, 1, where(x < 0, -1, zero))
    positive = cast(x > 0, x.dtype)
    return positive - cast(x < 0, x.dtype) if x.dtype in SIGNED else positive


@formula("fmax")
def fmax(x: Expr, y: Expr) -> Expr:
    """Return the larger; the second where the first is NaN."""
    if x.dtype not in FLOAT:
        return apply("maximum", x, y)
    return where(either(x >= y, not_equal(y, y)), x, y)


@formula("fmin")
def fmin(x: Expr, y: Expr) -> Expr:
    """Return the smaller; the second where the first is NaN."""
    if x.dtype not in FLOAT:
        return apply("minimum", x, y)
    return where(either(x <= y, not_equal(y, y)), x, y)
