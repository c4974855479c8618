"""Elementwise ops: a core row is spelled by every dialect, any other row is written in terms of core rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorframe.dtypes import (
    ANY,
    BITWISE,
    BOOL,
    COMPLEX,
    FLOAT,
    FLOATING,
    INTEGER,
    NUMERIC,
    REAL,
    DType,
)
from tensorframe.graph.op import DTypeRule, Kind, Op, boolean, real_part, register, same
from tensorframe.ops.term import Term, equal, erf, exp, log1p, maximum, where


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


# --- arithmetic
ADD = core("add", 2, ANY, same, "Sum of two tensors.", operator="add", commutative=True, identity=-0.0)
SUBTRACT = core("subtract", 2, NUMERIC, same, "Difference of two tensors.", operator="sub", right_identity=0.0)
MULTIPLY = core("multiply", 2, ANY, same, "Product of two tensors.", operator="mul", commutative=True, identity=1)
DIVIDE = core("divide", 2, FLOATING, same, "Quotient of two tensors; integers give the default real dtype.", operator="truediv", right_identity=1, cost=4)
FLOOR_DIVIDE = core("floor_divide", 2, REAL, same, "Largest integer not above the quotient.", operator="floordiv", cost=8)
REMAINDER = core("remainder", 2, REAL, same, "Remainder of floor division; it has the divisor's sign.", operator="mod", cost=8)
POW = core("pow", 2, NUMERIC, same, "First tensor to the power of the second.", operator="pow", numpy="power", right_identity=1, cost=20)
NEGATIVE = core("negative", 1, NUMERIC, same, "Negated elements.", operator="neg", involution=True)
POSITIVE = core("positive", 1, NUMERIC, same, "The elements, unchanged.", operator="pos")
ABS = core("abs", 1, NUMERIC, real_part, "Absolute values, the magnitude for complex elements.", operator="abs", numpy="absolute")
SQUARE = core("square", 1, NUMERIC, same, "Squared elements.")
RECIPROCAL = core("reciprocal", 1, FLOATING, same, "One divided by each element.", involution=False, cost=4)
SIGN = core("sign", 1, NUMERIC, same, "-1, 0 or 1 by sign; x / |x| for complex elements; NaN stays NaN.")
MAXIMUM = core("maximum", 2, REAL, same, "Larger of two elements; NaN if either is NaN.", commutative=True, identity=-math.inf)
MINIMUM = core("minimum", 2, REAL, same, "Smaller of two elements; NaN if either is NaN.", commutative=True, identity=math.inf)
FMAX = core("fmax", 2, REAL, same, "Larger of two elements; a NaN loses against a number.", commutative=True, in_standard=False)
FMIN = core("fmin", 2, REAL, same, "Smaller of two elements; a NaN loses against a number.", commutative=True, in_standard=False)
FMOD = core("fmod", 2, REAL, same, "Remainder of truncated division; it has the dividend's sign.", in_standard=False, cost=8)
COPYSIGN = core("copysign", 2, FLOAT, same, "Magnitude of the first operand with the sign of the second.")
NEXTAFTER = core("nextafter", 2, FLOAT, same, "Next representable number after the first operand, towards the second.")
HYPOT = core("hypot", 2, FLOAT, same, "Square root of the sum of squares, without overflow on the way.", commutative=True, cost=10)

# --- rounding
FLOOR = core("floor", 1, REAL, same, "Largest integers not above the elements.")
CEIL = core("ceil", 1, REAL, same, "Smallest integers not below the elements.")
TRUNC = core("trunc", 1, REAL, same, "Elements without their fraction.")
ROUND = core("round", 1, NUMERIC, same, "Nearest integers; halves go to the even one.")

# --- exponentials and logarithms
EXP = core("exp", 1, FLOATING, same, "e to the power of each element.", cost=10)
EXP2 = core("exp2", 1, FLOAT, same, "2 to the power of each element.", in_standard=False, cost=10)
EXPM1 = core("expm1", 1, FLOATING, same, "exp(x) - 1, accurate near zero.", cost=12)
LOG = core("log", 1, FLOATING, same, "Natural logarithm.", cost=10)
LOG1P = core("log1p", 1, FLOATING, same, "log(1 + x), accurate near zero.", cost=12)
LOG2 = core("log2", 1, FLOATING, same, "Logarithm to base 2.", cost=10)
LOG10 = core("log10", 1, FLOATING, same, "Logarithm to base 10.", cost=10)
LOGADDEXP = core("logaddexp", 2, FLOAT, same, "log(exp(x1) + exp(x2)), without overflow on the way.", commutative=True, cost=25)
SQRT = core("sqrt", 1, FLOATING, same, "Square root; NaN for negative real elements.", cost=4)
CBRT = core("cbrt", 1, FLOAT, same, "Real cube root.", in_standard=False, cost=12)

# --- trigonometric and hyperbolic
SIN = core("sin", 1, FLOATING, same, "Sine of angles in radians.", cost=12)
COS = core("cos", 1, FLOATING, same, "Cosine of angles in radians.", cost=12)
TAN = core("tan", 1, FLOATING, same, "Tangent of angles in radians.", cost=16)
ASIN = core("asin", 1, FLOATING, same, "Inverse sine, in radians.", numpy="arcsin", cost=16)
ACOS = core("acos", 1, FLOATING, same, "Inverse cosine, in radians.", numpy="arccos", cost=16)
ATAN = core("atan", 1, FLOATING, same, "Inverse tangent, in radians.", numpy="arctan", cost=16)
ATAN2 = core("atan2", 2, FLOAT, same, "Angle of the point (x2, x1), in radians.", numpy="arctan2", cost=20)
SINH = core("sinh", 1, FLOATING, same, "Hyperbolic sine.", cost=16)
COSH = core("cosh", 1, FLOATING, same, "Hyperbolic cosine.", cost=16)
TANH = core("tanh", 1, FLOATING, same, "Hyperbolic tangent.", cost=14)
ASINH = core("asinh", 1, FLOATING, same, "Inverse hyperbolic sine.", numpy="arcsinh", cost=20)
ACOSH = core("acosh", 1, FLOATING, same, "Inverse hyperbolic cosine.", numpy="arccosh", cost=20)
ATANH = core("atanh", 1, FLOATING, same, "Inverse hyperbolic tangent.", numpy="arctanh", cost=20)

# --- error function and activations
ERF = core("erf", 1, FLOAT, same, "Error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.", in_standard=False, cost=20)
ERFC = core("erfc", 1, FLOAT, same, "1 - erf(x), accurate for large x.", in_standard=False, cost=25)
row("sigmoid", FLOAT, same, lambda x: 1 / (1 + exp(-x)), "Logistic function 1 / (1 + exp(-x)).")
row("relu", REAL, same, lambda x: maximum(x, 0), "The elements, negative ones replaced by zero.")
row("silu", FLOAT, same, lambda x: x / (1 + exp(-x)), "x times sigmoid(x), also called swish.")
row("softplus", FLOAT, same, lambda x: maximum(x, 0) + log1p(exp(-abs(x))), "log(1 + exp(x)), without overflow on the way.")
row("gelu", FLOAT, same, lambda x: x * 0.5 * (1 + erf(x * math.sqrt(0.5))), "x times the normal distribution function of x (Hendrycks and Gimpel, arXiv 1606.08415, eq. 1).")
row("deg2rad", FLOAT, same, lambda x: x * (math.pi / 180), "Angles in degrees, given in radians.")
row("rad2deg", FLOAT, same, lambda x: x * (180 / math.pi), "Angles in radians, given in degrees.")
row("heaviside", FLOAT, same, lambda x, at_zero: where(equal(x, 0), at_zero, where(x < 0, 0, where(x > 0, 1, x))), "Step function: 0 below zero, 1 above, the second operand at zero.")

# --- comparison
EQUAL = core("equal", 2, ANY, boolean, "Whether elements are equal.", operator="eq", commutative=True)
NOT_EQUAL = core("not_equal", 2, ANY, boolean, "Whether elements differ.", operator="ne", commutative=True)
LESS = core("less", 2, BOOL | REAL, boolean, "Whether the first element is the smaller.", operator="lt")
LESS_EQUAL = core("less_equal", 2, BOOL | REAL, boolean, "Whether the first element is not the larger.", operator="le")
GREATER = core("greater", 2, BOOL | REAL, boolean, "Whether the first element is the larger.", operator="gt")
GREATER_EQUAL = core("greater_equal", 2, BOOL | REAL, boolean, "Whether the first element is not the smaller.", operator="ge")

# --- logic and bits
LOGICAL_AND = core("logical_and", 2, ANY, boolean, "Whether both elements are true (not zero).", commutative=True)
LOGICAL_OR = core("logical_or", 2, ANY, boolean, "Whether either element is true (not zero).", commutative=True)
LOGICAL_XOR = core("logical_xor", 2, ANY, boolean, "Whether exactly one element is true (not zero).", commutative=True)
LOGICAL_NOT = core("logical_not", 1, ANY, boolean, "Whether the element is false (zero).")
BITWISE_AND = core("bitwise_and", 2, BITWISE, same, "Bits set in both elements.", operator="and", commutative=True)
BITWISE_OR = core("bitwise_or", 2, BITWISE, same, "Bits set in either element.", operator="or", commutative=True)
BITWISE_XOR = core("bitwise_xor", 2, BITWISE, same, "Bits set in exactly one element.", operator="xor", commutative=True)
BITWISE_INVERT = core("bitwise_invert", 1, BITWISE, same, "All bits flipped.", operator="invert", involution=True)
BITWISE_LEFT_SHIFT = core("bitwise_left_shift", 2, INTEGER, same, "Bits moved up by the second operand.", operator="lshift", numpy="left_shift", right_identity=0)
BITWISE_RIGHT_SHIFT = core("bitwise_right_shift", 2, INTEGER, same, "Bits moved down by the second operand; the sign stays.", operator="rshift", numpy="right_shift", right_identity=0)

# --- floating-point classes, complex parts
ISNAN = core("isnan", 1, NUMERIC, boolean, "Whether elements are NaN.")
ISINF = core("isinf", 1, NUMERIC, boolean, "Whether elements are infinite.")
ISFINITE = core("isfinite", 1, NUMERIC, boolean, "Whether elements are neither NaN nor infinite.")
SIGNBIT = core("signbit", 1, FLOAT, boolean, "Whether the sign bit is set: true for -0.0.")
REAL_PART = core("real", 1, NUMERIC, real_part, "Real parts.")
IMAG = core("imag", 1, COMPLEX, real_part, "Imaginary parts.")
CONJ = core("conj", 1, NUMERIC, same, "Complex conjugates; real elements are unchanged.", involution=True)

# --- selection and casts
WHERE = core("where", 3, ANY, same, "Elements of the second operand where the condition holds, else of the third.", conditions=1)
CAST = core("cast", 1, ANY, _cast_result, "The elements converted to another dtype.", attributes=("dtype",), in_standard=False)
