"""Elementwise ops: a core row is spelled by every dialect, any other row is written in terms of core rows."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan, pi
from math import log as log_of
from math import sqrt as sqrt_of
from typing import Any

from tensorframe.dtypes import (
    ANY,
    BITWISE,
    BOOL,
    COMPLEX,
    FLOAT,
    FLOATING,
    FORMAT,
    INTEGER,
    NARROW,
    NUMERIC,
    REAL,
    DType,
)
from tensorframe.graph.op import (
    FULL,
    NONE,
    ZERO,
    DTypeRule,
    Kind,
    Op,
    boolean,
    real_part,
    register,
    same,
)
from tensorframe.ops.derivatives import (
    ERF_SLOPE,
    is_larger,
    is_larger_number,
    is_smaller,
    is_smaller_number,
    length,
    nonzero,
    over_square,
    partials,
    power,
    product,
    quotient,
    share_ties,
    sign_rule,
    sinc_slope,
    weight,
    whole_divisions,
)
from tensorframe.ops.term import (
    Term,
    conj,
    cos,
    cosh,
    equal,
    erf,
    exp,
    exp2,
    floor_divide,
    log1p,
    maximum,
    minimum,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    where,
)


def core(
    name: str,
    arity: int,
    accepts: frozenset[DType],
    result: DTypeRule,
    doc: str,
    **facts: Any,
) -> Op:
    """Define a row that each dialect spells."""
    return register(Op(name, Kind.MAP, arity, accepts, result, doc, **facts))


def row(
    name: str,
    accepts: frozenset[DType],
    result: DTypeRule,
    expand: Callable[..., Term],
    doc: str,
    **facts: Any,
) -> Op:
    """Define a row by its meaning in terms of other rows."""
    arity = expand.__code__.co_argcount
    facts.setdefault("in_standard", False)
    return register(Op(name, Kind.MAP, arity, accepts, result, doc, expand=expand, **facts))


def _cast_result(_operand: DType, target: DType) -> DType:
    return target


def _binary_log_of_sum(x: Term, y: Term) -> Term:
    """log2(2**x + 2**y)."""
    sums = maximum(x, y) + log1p(exp2(-abs(x - y))) / log_of(2)
    # equal infinities have no distance; both share in the slope of equal numbers
    return where(equal(x, y), x * 0.5 + (y * 0.5 + 1.0), sums)


def _odds(x: Term) -> Term:
    """exp(x), up to where one is lost beside it and before it overflows."""
    most = int(log_of(FORMAT[x.dtype].largest))
    return exp(minimum(x, min(40, most)))


def _share(odds: Term) -> Term:
    """Probability from odds: unlike 1 / (1 + 1 / odds), as small as they are."""
    return odds / (1 + odds)


# --- arithmetic
ADD = core("add", 2, ANY, same, "Sum of two tensors.", operator="add", commutative=True, identity=-0.0, exact=ANY, vjp=lambda ct, _out, _x, _y: (ct, ct), at={(1.5, 2.0): 3.5, (inf, -inf): nan})
SUBTRACT = core("subtract", 2, NUMERIC, same, "Difference of two tensors.", operator="sub", right_identity=0.0, exact=ANY, vjp=lambda ct, _out, _x, _y: (ct, lambda: -ct), at={(1.5, 2.0): -0.5, (inf, inf): nan})
MULTIPLY = core("multiply", 2, ANY, same, "Product of two tensors.", operator="mul", commutative=True, identity=1, odd=True, exact=BOOL | REAL, vjp=product, at={(1.5, 2.0): 3.0, (inf, 0.0): nan})
DIVIDE = core("divide", 2, FLOATING, same, "Quotient of two tensors; integers give the default real dtype.", operator="truediv", right_identity=1, cost=4, odd=True, exact=FLOAT, vjp=quotient, at={(1.0, 4.0): 0.25, (-1.0, 0.0): -inf, (0.0, 0.0): nan})
FLOOR_DIVIDE = core("floor_divide", 2, REAL, same, "Largest integer not above the quotient.", operator="floordiv", cost=8, vjp=ZERO, at={(7.0, 2.0): 3.0, (-7.0, 2.0): -4.0, (1.0, 0.0): inf, (inf, 2.0): inf})
REMAINDER = core("remainder", 2, REAL, same, "Remainder of floor division; it has the divisor's sign.", operator="mod", cost=8, exact=ANY, vjp=lambda ct, _out, x, y: (ct, lambda: -ct * floor_divide(x, y)), at={(7.0, 3.0): 1.0, (-7.0, 3.0): 2.0, (7.0, -3.0): -2.0, (1.0, 0.0): nan})
POW = core("pow", 2, NUMERIC, same, "First tensor to the power of the second.", operator="pow", numpy="power", right_identity=1, cost=20, precision=FULL, vjp=power, at={(2.0, 3.0): 8.0, (2.0, -1.0): 0.5, (nan, 0.0): 1.0, (-8.0, 0.5): nan})
NEGATIVE = core("negative", 1, NUMERIC, same, "Negated elements: the sign changes, of zero too.", operator="neg", involution=True, exact=ANY, vjp=lambda ct, _out, _x: (-ct,), at={2.0: -2.0, 0.0: -0.0})
POSITIVE = core("positive", 1, NUMERIC, same, "The elements, unchanged.", operator="pos", exact=ANY, vjp=lambda ct, _out, _x: (ct,), at={2.0: 2.0, -0.0: -0.0})
ABS = core("abs", 1, NUMERIC, real_part, "Absolute values, the magnitude for complex elements.", operator="abs", numpy="absolute", exact=REAL, vjp=lambda ct, _out, x: (lambda: ct * sign(x),), at={-2.0: 2.0, -0.0: 0.0, -inf: inf})
SQUARE = core("square", 1, NUMERIC, same, "Squared elements: each one times itself.", exact=REAL, vjp=partials(lambda _out, x: x * 2), at={3.0: 9.0, -inf: inf})
RECIPROCAL = core("reciprocal", 1, FLOATING, same, "One divided by each element.", involution=False, cost=4, exact=FLOAT, vjp=partials(lambda out, _x: -out * out), at={4.0: 0.25, -0.0: -inf})
SIGN = core("sign", 1, NUMERIC, same, "-1, 0 or 1 by sign; x / |x| for complex elements; NaN stays NaN.", exact=REAL - NARROW, vjp=sign_rule, at={-3.0: -1.0, 0.0: 0.0, inf: 1.0, nan: nan})
MAXIMUM = core("maximum", 2, BOOL | REAL, same, "Larger of two elements; NaN if either is NaN.", commutative=True, identity=-inf, vjp=share_ties(is_larger), at={(1.0, 2.0): 2.0, (1.0, nan): nan})
MINIMUM = core("minimum", 2, BOOL | REAL, same, "Smaller of two elements; NaN if either is NaN.", commutative=True, identity=inf, vjp=share_ties(is_smaller), at={(1.0, 2.0): 1.0, (1.0, nan): nan})
FMAX = core("fmax", 2, BOOL | REAL, same, "Larger of two elements; a NaN loses against a number.", commutative=True, in_standard=False, vjp=share_ties(is_larger_number), at={(1.0, 2.0): 2.0, (1.0, nan): 1.0})
FMIN = core("fmin", 2, BOOL | REAL, same, "Smaller of two elements; a NaN loses against a number.", commutative=True, in_standard=False, vjp=share_ties(is_smaller_number), at={(1.0, 2.0): 1.0, (1.0, nan): 1.0})
FMOD = core("fmod", 2, REAL, same, "Remainder of truncated division; it has the dividend's sign.", in_standard=False, cost=8, exact=ANY, vjp=whole_divisions, at={(7.0, 3.0): 1.0, (-7.0, 3.0): -1.0, (1.0, 0.0): nan})
COPYSIGN = core("copysign", 2, FLOAT, same, "Magnitude of the first operand with the sign of the second.", exact=ANY, vjp=partials(lambda out, x, _y: sign(x) * sign(out), None), at={(2.0, -0.0): -2.0, (-2.0, 3.0): 2.0})
NEXTAFTER = core("nextafter", 2, FLOAT, same, "Next representable number after the first operand, towards the second.", exact=FLOAT - NARROW, vjp=ZERO, at={(1.0, 1.0): 1.0, (1.0, nan): nan})
HYPOT = core("hypot", 2, FLOAT, same, "Square root of the sum of squares, without overflow on the way.", commutative=True, cost=10, vjp=partials(lambda out, x, _y: x / nonzero(out), lambda out, _x, y: y / nonzero(out)), at={(3.0, 4.0): 5.0, (nan, inf): inf})

# --- rounding
FLOOR = core("floor", 1, REAL, same, "Largest integers not above the elements.", exact=ANY, vjp=ZERO, at={1.5: 1.0, -1.5: -2.0, -0.0: -0.0})
CEIL = core("ceil", 1, REAL, same, "Smallest integers not below the elements.", exact=ANY, vjp=ZERO, at={1.5: 2.0, -1.5: -1.0, -0.5: -0.0})
TRUNC = core("trunc", 1, REAL, same, "Elements without their fraction: rounded towards zero.", exact=ANY, vjp=ZERO, at={1.5: 1.0, -1.5: -1.0, -0.5: -0.0})
ROUND = core("round", 1, NUMERIC, same, "Nearest integers; halves go to the even one.", exact=ANY, vjp=ZERO, at={0.5: 0.0, 1.5: 2.0, -2.5: -2.0})

# --- exponentials and logarithms
EXP = core("exp", 1, FLOATING, same, "e to the power of each element.", cost=10, precision=FULL, vjp=partials(lambda out, _x: out), at={0.0: 1.0, -inf: 0.0, inf: inf})
EXP2 = core("exp2", 1, FLOATING, same, "2 to the power of each element.", in_standard=False, cost=10, precision=FULL, vjp=partials(lambda out, _x: out * log_of(2)), at={3.0: 8.0, -inf: 0.0})
EXPM1 = core("expm1", 1, FLOATING, same, "exp(x) - 1, accurate near zero.", cost=12, precision=FULL, vjp=partials(lambda _out, x: exp(x)), at={0.0: 0.0, -inf: -1.0, inf: inf})
LOG = core("log", 1, FLOATING, same, "Natural logarithm.", cost=10, precision=FULL, vjp=partials(lambda _out, x: 1 / x), at={1.0: 0.0, 0.0: -inf, -1.0: nan})
LOG1P = core("log1p", 1, FLOATING, same, "log(1 + x), accurate near zero.", cost=12, precision=FULL, vjp=partials(lambda _out, x: 1 / (1 + x)), at={0.0: 0.0, -1.0: -inf, -2.0: nan})
LOG2 = core("log2", 1, FLOATING, same, "Logarithm to base 2.", cost=10, precision=FULL, vjp=partials(lambda _out, x: 1 / (x * log_of(2))), at={8.0: 3.0, 0.0: -inf, -1.0: nan})
LOG10 = core("log10", 1, FLOATING, same, "Logarithm to base 10.", cost=10, precision=FULL, vjp=partials(lambda _out, x: 1 / (x * log_of(10))), at={1.0: 0.0, 0.0: -inf, -1.0: nan})
LOGADDEXP = core("logaddexp", 2, FLOAT, same, "log(exp(x1) + exp(x2)), without overflow on the way.", commutative=True, cost=25, precision=FULL, vjp=partials(lambda _out, x, y: weight(x, y), lambda _out, x, y: weight(y, x)), at={(0.0, -inf): 0.0, (-inf, -inf): -inf, (inf, 0.0): inf})
SQRT = core("sqrt", 1, FLOATING, same, "Square root; NaN for negative real elements.", cost=4, exact=FLOAT, vjp=partials(lambda out, _x: 0.5 / out), at={4.0: 2.0, -0.0: -0.0, -1.0: nan})
LOGADDEXP2 = row("logaddexp2", FLOAT, same, _binary_log_of_sum, "log2(2**x1 + 2**x2), without overflow on the way.", public=False, commutative=True, precision=FULL, at={(3.0, 3.0): 4.0, (0.0, -inf): 0.0, (-inf, -inf): -inf, (inf, 0.0): inf})
CBRT = core("cbrt", 1, FLOAT, same, "Real cube root.", in_standard=False, cost=12, odd=True, vjp=partials(lambda out, _x: 1 / (out * out * 3)), at={64.0: 4.0, -8.0: -2.0})

# --- trigonometric and hyperbolic
SIN = core("sin", 1, FLOATING, same, "Sine of angles in radians.", cost=12, odd=True, vjp=partials(lambda _out, x: cos(x)), at={-0.0: -0.0, inf: nan})
COS = core("cos", 1, FLOATING, same, "Cosine of angles in radians.", cost=12, vjp=partials(lambda _out, x: -sin(x)), at={0.0: 1.0, inf: nan})
TAN = core("tan", 1, FLOATING, same, "Tangent of angles in radians.", cost=16, odd=True, precision=FULL, vjp=partials(lambda out, _x: 1 + out * out), at={0.0: 0.0, inf: nan})
ASIN = core("asin", 1, FLOATING, same, "Inverse sine, in radians.", numpy="arcsin", cost=16, odd=True, precision=FULL, vjp=partials(lambda _out, x: 1 / sqrt((1 - x) * (1 + x))), at={0.0: 0.0, 2.0: nan})
ACOS = core("acos", 1, FLOATING, same, "Inverse cosine, in radians.", numpy="arccos", cost=16, precision=FULL, vjp=partials(lambda _out, x: -1 / sqrt((1 - x) * (1 + x))), at={1.0: 0.0, 2.0: nan})
ATAN = core("atan", 1, FLOATING, same, "Inverse tangent, in radians.", numpy="arctan", cost=16, odd=True, vjp=partials(lambda _out, x: 1 / (1 + x * x)), at={-0.0: -0.0})
ATAN2 = core("atan2", 2, FLOAT, same, "Angle of the point (x2, x1), in radians.", numpy="arctan2", cost=20, vjp=partials(lambda _out, y, x: over_square(x, x, y), lambda _out, y, x: over_square(-y, x, y)), at={(1.0, inf): 0.0, (-0.0, 1.0): -0.0})
SINH = core("sinh", 1, FLOATING, same, "Hyperbolic sine.", cost=16, odd=True, precision=FULL, vjp=partials(lambda _out, x: cosh(x)), at={0.0: 0.0, -inf: -inf})
COSH = core("cosh", 1, FLOATING, same, "Hyperbolic cosine.", cost=16, precision=FULL, vjp=partials(lambda _out, x: sinh(x)), at={0.0: 1.0, -inf: inf})
TANH = core("tanh", 1, FLOATING, same, "Hyperbolic tangent.", cost=14, odd=True, vjp=partials(lambda out, _x: 1 - out * out), at={0.0: 0.0, inf: 1.0, -inf: -1.0})
ASINH = core("asinh", 1, FLOATING, same, "Inverse hyperbolic sine.", numpy="arcsinh", cost=20, odd=True, vjp=partials(lambda _out, x: 1 / length(x)), at={0.0: 0.0, inf: inf})
ACOSH = core("acosh", 1, FLOATING, same, "Inverse hyperbolic cosine.", numpy="arccosh", cost=20, precision=FULL, vjp=partials(lambda _out, x: 1 / (sqrt(x - 1) * sqrt(x + 1))), at={1.0: 0.0, inf: inf, 0.5: nan})
ATANH = core("atanh", 1, FLOATING, same, "Inverse hyperbolic tangent.", numpy="arctanh", cost=20, odd=True, vjp=partials(lambda _out, x: 1 / ((1 - x) * (1 + x))), at={0.0: 0.0, 1.0: inf, 2.0: nan})

# --- error function and activations
ERF = core("erf", 1, FLOAT, same, "Error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.", in_standard=False, cost=20, odd=True, vjp=partials(lambda _out, x: exp(-x * x) * ERF_SLOPE), at={0.0: 0.0, inf: 1.0, -inf: -1.0})
ERFC = core("erfc", 1, FLOAT, same, "1 - erf(x), accurate for large x.", in_standard=False, cost=25, vjp=partials(lambda _out, x: exp(-x * x) * -ERF_SLOPE), at={0.0: 1.0, inf: 0.0, -inf: 2.0})
row("sigmoid", FLOAT, same, lambda x: _share(_odds(x)), "Logistic function 1 / (1 + exp(-x)).", vjp=partials(lambda out, x: out * sigmoid(-x)), at={0.0: 0.5, inf: 1.0, -inf: 0.0})
row("relu", REAL, same, lambda x: maximum(x, 0), "The elements, negative ones replaced by zero.", vjp=lambda ct, out, _x: (lambda: where(out > 0, ct, 0),), at={2.0: 2.0, -2.0: 0.0, nan: nan})
row("silu", FLOAT, same, lambda x: x * _share(_odds(x)), "x times sigmoid(x), also called swish.", vjp=partials(lambda out, x: sigmoid(x) + out * sigmoid(-x)), at={0.0: 0.0, inf: inf})
# what lengths and deviations end with: those of nothing do not fall, so they have the slope 0 there
ROOT = row("root", FLOAT, same, lambda x: sqrt(x), "Square root of a sum of squares, whose gradient at zero is zero.", public=False, at={4.0: 2.0}, vjp=partials(lambda out, _x: where(equal(out, 0), 0, 0.5 / nonzero(out))))  # noqa: PLW0108 - the row counts its parameters
row("softsign", FLOAT, same, lambda x: x / (1 + abs(x)), "x / (1 + |x|), a saturating activation.", vjp=partials(lambda _out, x: 1 / square(1 + abs(x))), at={0.0: 0.0, 1.0: 0.5, -1.0: -0.5})
row("softplus", FLOAT, same, lambda x: maximum(x, 0) + log1p(exp(-abs(x))), "log(1 + exp(x)), without overflow on the way.", vjp=partials(lambda _out, x: sigmoid(x)), at={inf: inf, -inf: 0.0})
row("log_sigmoid", FLOAT, same, lambda x: -(maximum(-x, 0) + log1p(exp(-abs(x)))), "log(sigmoid(x)), accurate for large negative x.", vjp=partials(lambda _out, x: sigmoid(-x)), at={inf: -0.0, -inf: -inf})
row("gelu", FLOAT, same, lambda x: x * 0.5 * (1 + erf(x * sqrt_of(0.5))), "x times the normal distribution function of x (Hendrycks and Gimpel, arXiv 1606.08415, eq. 1).", at={0.0: 0.0, inf: inf})
row("deg2rad", FLOAT, same, lambda x: x * (pi / 180), "Angles in degrees, given in radians.", at={0.0: 0.0, inf: inf})
row("rad2deg", FLOAT, same, lambda x: x * (180 / pi), "Angles in radians, given in degrees.", at={0.0: 0.0, inf: inf})
row("heaviside", FLOAT, same, lambda x, at_zero: where(equal(x, 0), at_zero, where(x < 0, 0, where(x > 0, 1, x))), "Step function: 0 below zero, 1 above, the second operand at zero.", at={(-2.0, 0.5): 0.0, (0.0, 0.5): 0.5, (2.0, 0.5): 1.0, (nan, 0.5): nan})
row("sinc", FLOATING, same, lambda x: where(equal(x, 0), 1, sin(x * pi) / (x * pi)), "sin(pi x) / (pi x), and 1 at zero.", vjp=partials(sinc_slope), at={0.0: 1.0})
row("isposinf", FLOAT, boolean, lambda x: equal(x, inf), "Whether elements are positive infinity.", at={inf: True, -inf: False})
row("isneginf", FLOAT, boolean, lambda x: equal(x, -inf), "Whether elements are negative infinity.", at={-inf: True, inf: False})

# --- comparison
EQUAL = core("equal", 2, ANY, boolean, "Whether elements are equal.", operator="eq", commutative=True, exact=ANY, vjp=NONE, at={(1.0, 1.0): True, (nan, nan): False, (0.0, -0.0): True})
NOT_EQUAL = core("not_equal", 2, ANY, boolean, "Whether elements differ.", operator="ne", commutative=True, exact=ANY, vjp=NONE, at={(1.0, 2.0): True, (nan, nan): True})
LESS = core("less", 2, BOOL | REAL, boolean, "Whether the first element is the smaller.", operator="lt", exact=ANY, vjp=NONE, at={(1.0, 2.0): True, (1.0, nan): False})
LESS_EQUAL = core("less_equal", 2, BOOL | REAL, boolean, "Whether the first element is not the larger.", operator="le", exact=ANY, vjp=NONE, at={(2.0, 2.0): True, (1.0, nan): False})
GREATER = core("greater", 2, BOOL | REAL, boolean, "Whether the first element is the larger.", operator="gt", exact=ANY, vjp=NONE, at={(2.0, 1.0): True, (1.0, nan): False})
GREATER_EQUAL = core("greater_equal", 2, BOOL | REAL, boolean, "Whether the first element is not the smaller.", operator="ge", exact=ANY, vjp=NONE, at={(2.0, 2.0): True, (1.0, nan): False})

# --- logic and bits
LOGICAL_AND = core("logical_and", 2, ANY, boolean, "Whether both elements are true (not zero).", commutative=True, exact=ANY, vjp=NONE, at={(1.0, 0.0): False, (1.0, nan): True})
LOGICAL_OR = core("logical_or", 2, ANY, boolean, "Whether either element is true (not zero).", commutative=True, exact=ANY, vjp=NONE, at={(1.0, 0.0): True, (0.0, 0.0): False})
LOGICAL_XOR = core("logical_xor", 2, ANY, boolean, "Whether exactly one element is true (not zero).", commutative=True, exact=ANY, vjp=NONE, at={(1.0, 0.0): True, (1.0, 2.0): False})
LOGICAL_NOT = core("logical_not", 1, ANY, boolean, "Whether the element is false (zero).", exact=ANY, vjp=NONE, at={0.0: True, nan: False})
BITWISE_AND = core("bitwise_and", 2, BITWISE, same, "Bits set in both elements.", operator="and", commutative=True, vjp=NONE, at={(6, 3): 2, (-1, 5): 5})
BITWISE_OR = core("bitwise_or", 2, BITWISE, same, "Bits set in either element.", operator="or", commutative=True, vjp=NONE, at={(6, 3): 7, (-1, 5): -1})
BITWISE_XOR = core("bitwise_xor", 2, BITWISE, same, "Bits set in exactly one element.", operator="xor", commutative=True, vjp=NONE, at={(6, 3): 5, (-1, 0): -1})
BITWISE_INVERT = core("bitwise_invert", 1, BITWISE, same, "All bits flipped.", operator="invert", involution=True, vjp=NONE, at={0: -1, 5: -6})
BITWISE_LEFT_SHIFT = core("bitwise_left_shift", 2, INTEGER, same, "Bits moved up by the second operand.", operator="lshift", numpy="left_shift", right_identity=0, vjp=NONE, at={(3, 2): 12, (1, 64): 0})
BITWISE_RIGHT_SHIFT = core("bitwise_right_shift", 2, INTEGER, same, "Bits moved down by the second operand; the sign stays.", operator="rshift", numpy="right_shift", right_identity=0, vjp=NONE, at={(12, 2): 3, (-8, 1): -4, (-8, 64): -1})

# --- floating-point classes, complex parts
ISNAN = core("isnan", 1, ANY, boolean, "Whether elements are NaN: for complex numbers, in either part.", exact=ANY, vjp=NONE, at={nan: True, 1.0: False})
ISINF = core("isinf", 1, ANY, boolean, "Whether elements are infinite, of either sign.", exact=ANY, vjp=NONE, at={-inf: True, 1.0: False})
ISFINITE = core("isfinite", 1, ANY, boolean, "Whether elements are neither NaN nor infinite.", exact=ANY, vjp=NONE, at={1.0: True, inf: False})
SIGNBIT = core("signbit", 1, FLOAT, boolean, "Whether the sign bit is set: true for -0.0.", exact=ANY, vjp=NONE, at={-0.0: True, 1.0: False})
REAL_PART = core("real", 1, NUMERIC, real_part, "Real parts.", exact=ANY, vjp=lambda ct, _out, _x: (ct,), at={(1+2j): 1.0})
IMAG = core("imag", 1, NUMERIC, real_part, "Imaginary parts; zero for real elements.", exact=ANY, vjp=lambda ct, _out, x: (lambda: ct.cast(x.dtype) * 1j if x.dtype in COMPLEX else None,), at={(1+2j): 2.0})
CONJ = core("conj", 1, NUMERIC, same, "Complex conjugates; real elements are unchanged.", involution=True, exact=ANY, vjp=lambda ct, _out, _x: (lambda: conj(ct),), at={(1+2j): (1-2j)})

# --- selection and casts
WHERE = core("where", 3, ANY, same, "Elements of the second operand where the condition holds, else of the third.", conditions=1, exact=ANY, vjp=lambda ct, _out, condition, _x, _y: (None, lambda: where(condition, ct, 0), lambda: where(condition, 0, ct)), at={(True, 1.0, 2.0): 1.0, (False, 1.0, 2.0): 2.0})
CAST = core("cast", 1, ANY, _cast_result, "The elements converted to another dtype.", attributes=("dtype",), in_standard=False, exact=ANY, vjp=lambda ct, _out, _x, _dtype: (ct,))
