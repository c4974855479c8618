"""Trigonometric functions: polynomials of what multiples of pi / 2 leave of the angle."""

from __future__ import annotations

from tensorframe.dtypes import float32, float64
from tensorframe.kernel.ir import Expr
from tensorframe.kernel.ir.formula import bitcast, equal, fma, horner, not_equal, where
from tensorframe.kernel.math.angle import quarters, quarters_with_error
from tensorframe.kernel.math.parts import LAYOUTS, polynomial
from tensorframe.kernel.math.registry import formula

# by docs/derive/trigonometric.py
SIN_32 = (
    -0.00019507877004798502,
    0.008332106284797192,
    -0.16666653752326965,
)
SIN_64 = (
    1.58954305981999e-10,
    -2.505073435751195e-08,
    2.755731353839796e-06,
    -0.00019841269829358398,
    0.00833333333332184,
    -0.1666666666666663,
)
COS_32 = (
    2.443119592498988e-05,
    -0.0013887303648516536,
    0.04166664555668831,
    -0.5,
)
COS_64 = (
    -1.1358716440360085e-11,
    2.0875704834516863e-09,
    -2.7557314213555406e-07,
    2.4801587288992867e-05,
    -0.0013888888888873333,
    0.041666666666666595,
    -0.5,
)
TAN_32 = (
    0.009511488489806652,
    0.002909056842327118,
    0.024560123682022095,
    0.05337531864643097,
    0.13339227437973022,
    0.3333314061164856,
)
TAN_64 = (
    2.0871523528622486e-05,
    -4.4910710608653973e-05,
    8.951516800487978e-05,
    -2.6454000490947372e-05,
    0.00013657321740276338,
    0.00022235694084044502,
    0.0005950723813267116,
    0.001454756183112409,
    0.0035922893676818214,
    0.00886321913265259,
    0.02186948961122503,
    0.053968253926575366,
    0.13333333333414818,
    0.33333333333332776,
)

SIN = {float32: SIN_32, float64: SIN_64}
COS = {float32: COS_32, float64: COS_64}
TAN = {float32: TAN_32, float64: TAN_64}


def sign_of(x: Expr) -> Expr:
    """Return the bits of x with all but that of the sign cleared."""
    return bitcast(x, LAYOUTS[x.dtype].bits) & _highest(x)


def negated(x: Expr, sign: Expr) -> Expr:
    """Return x with its sign turned where the bit of the sign is set; the other bits are clear."""
    return bitcast(bitcast(x, sign.dtype) ^ sign, x.dtype)


def _highest(x: Expr) -> int:
    """Return the bit of the sign alone."""
    return -(1 << (8 * x.dtype.itemsize - 1))


def _sine_and_cosine(rest: Expr) -> tuple[Expr, Expr]:
    """Return both for an angle of at most pi / 4.

    To evaluate both and choose takes no longer than to choose coefficients, as they have one form, and a function
    and its derivative are mostly wanted together: they share all but the choice.
    """
    square = rest * rest
    sine = fma(rest * square, horner(square, SIN[rest.dtype]), rest)
    return sine, fma(square, horner(square, COS[rest.dtype]), 1.0)


def _is_odd(quarter: Expr) -> Expr:
    return not_equal(quarter & 1, 0)


def _turned(quarter: Expr) -> Expr:
    """Return integers whose highest bit is set where a half turn negates."""
    return quarter << (8 * quarter.dtype.itemsize - 2)


@formula("sin", adapts=True)
def sin(x: Expr, *, double: bool = True) -> Expr:
    """Largest error: 1.56 ULP in float32 (all arguments), 1.51 in float64."""
    rest, quarter = quarters(abs(x), double=double)
    sine, cosine = _sine_and_cosine(rest)
    sign = bitcast(x, quarter.dtype) ^ _turned(quarter)
    return negated(where(_is_odd(quarter), cosine, sine), sign & _highest(x))


@formula("cos", adapts=True)
def cos(x: Expr, *, double: bool = True) -> Expr:
    """Largest error: 1.56 ULP in float32 (all arguments), 1.52 in float64."""
    rest, quarter = quarters(abs(x), double=double)
    sine, cosine = _sine_and_cosine(rest)
    return negated(where(_is_odd(quarter), sine, cosine), _turned(quarter + 1) & _highest(x))


@formula("tan", adapts=True)
def tan(x: Expr, *, double: bool = True) -> Expr:
    """Largest error: 2.38 ULP in float32 (all arguments), 1.81 in float64."""
    rest, rest_error, quarter = quarters_with_error(abs(x), double=double)
    square = rest * rest
    value = rest + fma(rest * square, polynomial(square, TAN[x.dtype]), rest_error)
    even = equal(quarter & 1, 0)
    return negated(where(even, value, -1.0) / where(even, 1.0, value), sign_of(x))
