"""Powers: e to the power of y log(x), with the logarithm in higher precision."""

from __future__ import annotations

from math import e, inf, log2, nan

from tensorframe.dtypes import FLOAT, float32, float64, uint32, uint64
from tensorframe.kernel.ir import Expr, Literal, literal
from tensorframe.kernel.ir.formula import (
    bitcast,
    both,
    cast,
    copysign,
    either,
    equal,
    fma,
    isnan,
    negation,
    not_equal,
    rint,
    sqrt,
    where,
    where_rare,
)
from tensorframe.kernel.math.exponential import EXP, LOG_2, count, raised
from tensorframe.kernel.math.integer_powers import integer_power, product
from tensorframe.kernel.math.parts import (
    clamp,
    fast_two_sum,
    float_bits,
    polynomial,
    power_of_two,
    split,
    two_product,
)
from tensorframe.kernel.math.registry import formula

# by docs/derive/powers.py: log2(1 + x) / x and 2^x, for float32 in float64
LOG2_SLOPE = (
    -0.0697408642260074,
    0.13251433833150217,
    -0.13462975829015952,
    0.1302750978352129,
    -0.14249844668424147,
    0.1602167061382531,
    -0.18043677100448288,
    0.20610712212952917,
    -0.24044643269223315,
    0.2885387957184175,
    -0.3606737931520635,
    0.48089834880336757,
    -0.7213475203274939,
    1.4426950408865729,
)
EXP2 = (
    1.5201877315615362e-05,
    0.00015469294228298043,
    0.001333392274773782,
    0.009618027244399868,
    0.055504103533380776,
    0.24022651198202113,
    0.6931471807282796,
    0.9999999999616934,
)
# (2 atanh(x) - 2 x - 2/3 x^3) / x^5 by x^2
ATANH = (
    0.13196056051210245,
    0.13256848584350137,
    0.15386755932482493,
    0.18181784399438347,
    0.22222222519525936,
    0.28571428570102,
    0.4000000000000225,
)
TWO_THIRDS_32 = (0.6666666865348816, -1.9868215517249155e-08)
TWO_THIRDS_64 = (0.6666666666666666, 3.700743415417188e-17)
# exponents of e beyond which powers are 0 and infinite
BOUNDS = {float32: (-119.25, 89.0), float64: (-780.5, 710.0)}

# Exponents written in the program for which a product is accurate enough.
CLOSE = (-2.0, 4.0)


@formula("square")
def square(x: Expr) -> Expr:
    """Return x * x."""
    return x * x


@formula("reciprocal")
def reciprocal(x: Expr) -> Expr:
    """Return 1 / x."""
    return 1.0 / x


@formula("pow", adapts=True)
def pow_(x: Expr, y: Expr, *, double: bool = True) -> Expr:
    """Return x to the power of y.

    Largest error: 0.51 ULP in float32, 0.88 in float64; 3 of the products that exponents from -2 to 4 become.
    """
    if x.dtype not in FLOAT:
        return integer_power(x, y)
    if isinstance(y, Literal):
        exponent = float(y.value.real)
        if exponent.is_integer() and CLOSE[0] <= exponent <= CLOSE[1]:
            return product(x if exponent >= 0 else 1.0 / x, abs(int(exponent)))
        if exponent == 0.5:
            # the root of -0.0 is -0.0, and that of -inf NaN
            return where(equal(x, -inf), inf, sqrt(x + 0.0))
    size = abs(x)
    power = (_single if x.dtype == float32 and double else finite_power)(size, y)
    # read as unsigned integers, the bits of what is negative, infinite or NaN are the largest
    unsigned = uint32 if x.dtype == float32 else uint64
    unusual = bitcast(x, unsigned) >= float_bits(inf, x.dtype)
    unusual = either(unusual, negation(abs(y) < inf))
    return where_rare(unusual, _completed(x, y, power), power)


def _completed(x: Expr, y: Expr, power: Expr) -> Expr:
    """Return x^y, which is right for finite x >= 0 and y, with what it is elsewhere, from |x|^y."""
    size = abs(x)
    power = where(equal(size, inf), where(y > 0, literal(inf, x.dtype), 0), power)
    power = where(both(equal(size, 1), equal(y, y)), 1, power)
    # what is left of y without multiples of 2
    odd = equal(abs(fma(rint(y * 0.5), -2, y)), 1)
    power = where(odd, copysign(power, x), power)
    rooted = both(both(x < 0, x > -inf), not_equal(rint(y), y))
    undefined = either(rooted, either(isnan(x), isnan(y)))
    power = where(undefined, nan, power)
    return where(either(equal(y, 0), equal(x, 1)), 1, power)


def _single(x: Expr, y: Expr) -> Expr:
    """Return x^y for float32 x >= 0, computed in float64: less work than two parts of float32."""
    mantissa, exponent = split(x)
    f = cast(mantissa - 1, float64)
    logarithm = fma(f, polynomial(f, LOG2_SLOPE), cast(exponent, float64))
    # of zero a large number instead of an infinite one, which has no product with y = 0
    logarithm = where(equal(x, 0), literal(-1e300, float64), logarithm)
    # beyond these bounds powers are 0 and infinite
    scaled = clamp(cast(y, float64) * logarithm, -160.0, 140.0)
    n = rint(scaled)
    return cast(polynomial(scaled - n, EXP2) * power_of_two(n), float32)


def finite_power(x: Expr, y: Expr) -> Expr:
    """Return x^y for finite x >= 0 and y, the exponent in two parts."""
    high, low = _logarithm(x)
    product = y * high
    rest = fma(y, low, fma(y, high, -product))
    bounded = clamp(product, *BOUNDS[x.dtype])
    rest = where(equal(bounded, product), rest, 0)
    n, shifted = count(bounded, log2(e))
    of_two = LOG_2[x.dtype]
    total = fma(n, -of_two[0], bounded) + fma(n, -of_two[1], rest)
    power = raised(2.0 * polynomial(total, EXP[x.dtype]), n, shifted)
    at_zero = where(y > 0, literal(0.0, x.dtype), inf)
    return where(equal(x, 0), where(equal(y, 0), 1, at_zero), power)


def _logarithm(x: Expr) -> tuple[Expr, Expr]:
    """Return log(x) of a positive number in two parts: to 2^-66 of it in float64, 2^-36 in float32."""
    mantissa, exponent = split(x)
    f = mantissa - 1
    # s = f / (2 + f) in two parts: log(1 + f) = 2 atanh(s)
    divisor = mantissa + 1
    divisor_rest = mantissa - (divisor - 1)
    inverse = 1.0 / divisor
    s = f * inverse
    s_rest = fma(-s, divisor_rest, fma(-s, divisor, f)) * inverse
    square, square_rest = two_product(s, s)
    square_rest = fma(2 * s, s_rest, square_rest)
    # 2/3 s^2 and more of the series, in two parts
    tail = square * polynomial(square, ATANH)
    two_thirds = TWO_THIRDS_64 if x.dtype == float64 else TWO_THIRDS_32
    third, third_rest = fast_two_sum(literal(two_thirds[0], x.dtype), tail)
    third_rest = third_rest + two_thirds[1]
    more, more_rest = two_product(square, third)
    more_rest = fma(square, third_rest, fma(square_rest, third, more_rest))
    # times s
    cubic, cubic_rest = two_product(s, more)
    cubic_rest = fma(s, more_rest, fma(s_rest, more, cubic_rest))
    of_two = LOG_2[x.dtype]
    sum_, rest = fast_two_sum(2 * s, cubic)
    rest = fma(s_rest, 2, rest + cubic_rest)
    total, lost = fast_two_sum(exponent * of_two[0], sum_)
    return fast_two_sum(total, fma(exponent, of_two[1], lost + rest))
