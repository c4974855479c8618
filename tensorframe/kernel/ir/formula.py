"""The vocabulary of formulas: functions that make expressions, so that vector math reads like mathematics.

`machine.py` lists what a dialect has to spell; everything else (exp, sin, pow ...) is written in it by `kernel/math`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.dtypes import DType, bool_, int32
from tensorframe.kernel.ir.expressions import Expr, alike, apply, binary, compare


def fma(a: Expr, b: Expr | complex, c: Expr | complex) -> Expr:
    """Return a * b + c, rounded once."""
    return apply("fma", *alike(a, b, c))


def horner(x: Expr, coefficients: Sequence[Expr | float]) -> Expr:
    """Return the polynomial with these coefficients, that of the highest power first."""
    first, *rest = alike(x, *coefficients)[1:]
    total = first
    for coefficient in rest:
        total = fma(total, x, coefficient)
    return total


def rint(x: Expr) -> Expr:
    """Return the nearest integer, halves to the even one."""
    return apply("round", x)


def floor(x: Expr) -> Expr:
    """Return the largest integer not above x."""
    return apply("floor", x)


def trunc(x: Expr) -> Expr:
    """Return x without its fraction."""
    return apply("trunc", x)


def sqrt(x: Expr) -> Expr:
    """Return the square root, rounded correctly."""
    return apply("sqrt", x)


def where(condition: Expr, x: Expr | complex, y: Expr | complex) -> Expr:
    """Return x where the condition holds, else y; both are computed."""
    x, y = alike(x, y)
    return apply("where", condition, x, y)


def where_rare(condition: Expr, costly: Expr | complex, cheap: Expr | complex) -> Expr:
    """Return `costly` where the condition holds, which hardly any element is expected to do, else `cheap`.

    Kernels compute the cheap side first, and the costly one only where they have to: see `kernel/nest/passes/rare.py`.
    """
    costly, cheap = alike(costly, cheap)
    return apply("where_rare", condition, costly, cheap)


def maximum(x: Expr, y: Expr | complex) -> Expr:
    """Return the larger; NaN if either is NaN."""
    return binary("maximum", x, y)


def minimum(x: Expr, y: Expr | complex) -> Expr:
    """Return the smaller; NaN if either is NaN."""
    return binary("minimum", x, y)


def multiply_high(x: Expr, y: Expr | int) -> Expr:
    """Return the upper 32 bits of the product of two uint32."""
    return binary("multiply_high", x, y)


def dot4(x: Expr, y: Expr | int) -> Expr:
    """Return the sum of the products of the four signed bytes that two uint32 hold: an int32."""
    return apply("dot4", *alike(x, y), dtype=int32)


def copysign(x: Expr, y: Expr | complex) -> Expr:
    """Return the magnitude of x with the sign of y."""
    return binary("copysign", x, y)


def equal(x: Expr, y: Expr | complex) -> Expr:
    """Return whether x equals y."""
    return compare("equal", x, y)


def not_equal(x: Expr, y: Expr | complex) -> Expr:
    """Return whether x differs from y: true for NaN."""
    return compare("not_equal", x, y)


def isnan(x: Expr) -> Expr:
    """Return whether x is NaN."""
    return not_equal(x, x)


def both(x: Expr, y: Expr) -> Expr:
    """Return whether two conditions hold."""
    return apply("logical_and", x, y, dtype=bool_)


def either(x: Expr, y: Expr) -> Expr:
    """Return whether one of two conditions holds."""
    return apply("logical_or", x, y, dtype=bool_)


def negation(x: Expr) -> Expr:
    """Return whether a condition does not hold."""
    return apply("logical_not", x, dtype=bool_)


def cast(x: Expr, dtype: DType) -> Expr:
    """Return x converted; what a float outside the range of an integer dtype gives is not said."""
    return x if x.dtype == dtype else apply("cast", x, dtype=dtype)


def bitcast(x: Expr, dtype: DType) -> Expr:
    """Return the bits of x read as another dtype of the same size."""
    return x if x.dtype == dtype else apply("bitcast", x, dtype=dtype)
