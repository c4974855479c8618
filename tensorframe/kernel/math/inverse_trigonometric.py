"""Inverse trigonometric functions: odd polynomials, of a root or a quotient where the argument is not small."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.dtypes import float32, float64
from tensorframe.kernel.ir import Expr, literal
from tensorframe.kernel.ir.formula import copysign, equal, fma, sqrt, where
from tensorframe.kernel.math.angle import PI
from tensorframe.kernel.math.parts import polynomial
from tensorframe.kernel.math.registry import formula
from tensorframe.kernel.math.trigonometric import negated, sign_of

# by docs/derive/inverse_trigonometric.py
ASIN_32 = (
    0.04215768724679947,
    0.02418523281812668,
    0.045469045639038086,
    0.0749531015753746,
    0.16666752099990845,
)
ASIN_64 = (
    0.03191383330577556,
    -0.016226509106358745,
    0.019529684672099725,
    0.00652746466320497,
    0.012169327393038326,
    0.013885218283653168,
    0.017359706444440366,
    0.022371757943867327,
    0.03038195914116807,
    0.044642856828232505,
    0.07500000000337126,
    0.16666666666665408,
)
ATAN_32 = (
    -0.05124349892139435,
    0.10155503451824188,
    -0.14174172282218933,
    0.19994166493415833,
    -0.3333323299884796,
)
ATAN_64 = (
    0.010115997846643757,
    -0.027433738820356306,
    0.041864293954191334,
    -0.05121979415037824,
    0.05858293101631523,
    -0.06663809784767742,
    0.07692073834955267,
    -0.09090896240132046,
    0.11111110659471789,
    -0.14285714276382702,
    0.19999999999903084,
    -0.3333333333333298,
)
ATAN_TO_ONE_32 = (
    -0.0017832309240475297,
    0.010869992896914482,
    -0.03109860233962536,
    0.05788235366344452,
    -0.0839933380484581,
    0.10950883477926254,
    -0.14264015853405,
    0.1999852955341339,
    -0.33333298563957214,
)
ATAN_TO_ONE_64 = (
    1.322874974761144e-05,
    -0.0001521987730000455,
    0.0008315031208081314,
    -0.002885451599254496,
    0.007197582331000262,
    -0.01390215388284247,
    0.021986630106968066,
    -0.02990538414502488,
    0.036642931562089816,
    -0.04219232419469187,
    0.047223441391590494,
    -0.05253525553018511,
    0.058805295374407845,
    -0.06666404379107066,
    0.07692279883719516,
    -0.09090907007380816,
    0.11111111007320673,
    -0.14285714282587483,
    0.19999999999951742,
    -0.3333333333333307,
)

ASIN = {float32: ASIN_32, float64: ASIN_64}
ATAN = {float32: ATAN_32, float64: ATAN_64}
ATAN_TO_ONE = {float32: ATAN_TO_ONE_32, float64: ATAN_TO_ONE_64}


def _half_pi(x: Expr) -> tuple[Expr, Expr]:
    """Return pi / 2 in two parts."""
    high, low, _ = PI[x.dtype]
    return literal(high / 2, x.dtype), literal(low / 2, x.dtype)


def _beyond(start: tuple[Expr, Expr], x: Expr, square: Expr, coefficients: Sequence[float]) -> Expr:
    """Return the sum of the two parts of `start` and of x + x * square * p(square) for a polynomial p."""
    high, low = start
    return high + (x + fma(x * square, polynomial(square, coefficients), low))


@formula("asin")
def asin(x: Expr) -> Expr:
    """Largest error: 1.66 ULP in float32 (all arguments), 1.71 in float64."""
    # above 1/2: pi / 2 - 2 asin(sqrt((1 - x) / 2))
    large, square, root = _halved(x)
    high, low = (where(large, part, 0.0) for part in _half_pi(x))
    first = where(large, -2.0 * root, abs(x))
    return copysign(_beyond((high, low), first, square, ASIN[x.dtype]), x)


@formula("acos")
def acos(x: Expr) -> Expr:
    """Largest error: 1.14 ULP in float32 (all arguments), 1.22 in float64."""
    # above 1/2: 2 asin(sqrt((1 - x) / 2)), below -1/2: pi - 2 asin(sqrt((1 + x) / 2))
    large, square, root = _halved(x)
    sign = sign_of(x)
    high, low = (where(large, part - negated(part, sign), part) for part in _half_pi(x))
    first = where(large, copysign(root + root, x), -x)
    return _beyond((high, low), first, square, ASIN[x.dtype])


def _halved(x: Expr) -> tuple[Expr, Expr, Expr]:
    """Return whether |x| > 1/2; then (1 - |x|) / 2, else x^2; and the square root of that."""
    large = abs(x) > 0.5
    square = where(large, fma(abs(x), -0.5, 0.5), x * x)
    return large, square, sqrt(square)


@formula("atan")
def atan(x: Expr) -> Expr:
    """Largest error: 1.43 ULP in float32 (all arguments), 1.42 in float64."""
    # above 1/2: pi / 4 + atan((x - 1) / (x + 1)), above 2: pi / 2 - atan(1 / x)
    size = abs(x)
    middle, large = size > 0.5, size > 2.0
    above = where(middle, where(large, -1.0, size - 1.0), size)
    below = where(middle, where(large, size, size + 1.0), 1.0)
    quotient = above / below
    high, low = (where(middle, where(large, part, part * 0.5), 0.0) for part in _half_pi(x))
    square = quotient * quotient
    return copysign(_beyond((high, low), quotient, square, ATAN[x.dtype]), x)


@formula("atan2")
def atan2(y: Expr, x: Expr) -> Expr:
    """Largest error: 1.52 ULP in float32, 1.73 in float64."""
    steep = abs(y) > abs(x)
    short, long = where(steep, abs(x), abs(y)), where(steep, abs(y), abs(x))
    # zeros and infinities
    equals = where(short > 0.0, literal(1.0, x.dtype), 0.0)
    quotient = where(equal(short, long), equals, short / long)
    square = quotient * quotient
    sign = sign_of(x)
    # pi / 2; where x is the longer side, 0 or pi
    high, low = (where(steep, part, part - negated(part, sign)) for part in _half_pi(x))
    signed = negated(where(steep, -quotient, quotient), sign)
    return copysign(_beyond((high, low), signed, square, ATAN_TO_ONE[x.dtype]), y)
