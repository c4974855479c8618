"""Logarithms: that of a power of two plus that of a mantissa near one."""

from __future__ import annotations

from math import inf, nan, sqrt
from math import log as real_log

from tensorframe.dtypes import float32, float64
from tensorframe.kernel.ir import Expr, literal
from tensorframe.kernel.ir.formula import copysign, equal, fma, horner, where
from tensorframe.kernel.math.exponential import LOG_2, exp
from tensorframe.kernel.math.parts import (
    LAYOUTS,
    fast_two_sum,
    normalizer,
    split,
    two_product,
    two_sum,
)
from tensorframe.kernel.math.registry import formula

# by docs/derive/logarithm.py
LOG10_2_32 = (0.30103302001953125, -3.024355464731343e-06)
LOG10_2_64 = (0.30102999566395283, 2.8363394551044964e-14)
LOG2_E_32 = (1.4426950216293335, 1.925963033500011e-08)
LOG2_E_64 = (1.4426950408889634, 2.0355273740931033e-17)
LOG10_E_32 = (0.4342944920063019, -1.0103049952192578e-08)
LOG10_E_64 = (0.4342944819032518, 1.098319650216765e-17)
LOG_1P_32 = (
    -0.07619354873895645,
    0.1291295289993286,
    -0.13247989118099213,
    0.14180850982666016,
    -0.1660841554403305,
    0.20002004504203796,
    -0.25001609325408936,
    0.33333325386047363,
    -0.49999988079071045,
    1.0,
)
LOG_RATIO_64 = (
    0.1479538671083717,
    0.15314108546421915,
    0.18183561980074323,
    0.22222198620194056,
    0.28571428741905686,
    0.39999999999417,
    0.6666666666666734,
    2.0,
)

LOG10_2 = {float32: LOG10_2_32, float64: LOG10_2_64}
LOG2_E = {float32: LOG2_E_32, float64: LOG2_E_64}
LOG10_E = {float32: LOG10_E_32, float64: LOG10_E_64}


def log_1p_tail(f: Expr) -> Expr:
    """Return log(1 + f) - f for sqrt(1/2) <= 1 + f < sqrt(2).

    In float64 the polynomial in s = f / (2 + f) is so much shorter that it makes up for the division.
    """
    if f.dtype == float32:
        return f * f * horner(f, LOG_1P_32[:-1])
    s = f / (f + 2)
    square = s * s
    return s * (square * horner(square, LOG_RATIO_64[:-1]) - f)


def defined(x: Expr, logarithm: Expr) -> Expr:
    """Return the logarithm of x, which is right for positive finite x, with what it is elsewhere."""
    pole = where(equal(x, 0), literal(-inf, x.dtype), nan)
    return where(x > 0, where(x < inf, logarithm, x), pole)


@formula("log")
def log(x: Expr) -> Expr:
    """Largest error: 0.89 ULP in float32 (all arguments), 0.98 in float64."""
    mantissa, exponent = split(x)
    f = mantissa - 1
    return defined(x, _sum(exponent, f, log_1p_tail(f)))


@formula("log2")
def log2(x: Expr) -> Expr:
    """Exact for powers of two. Largest error: 1.13 ULP in float32 (all arguments), 1.20 in float64."""
    mantissa, exponent = split(x)
    f = mantissa - 1
    high, low = _times(f, log_1p_tail(f), LOG2_E[x.dtype])
    high, error = fast_two_sum(exponent, high)
    return defined(x, high + (error + low))


@formula("log10")
def log10(x: Expr) -> Expr:
    """Exact for powers of ten. Largest error: 1.01 ULP in float32 (all arguments), 1.12 in float64."""
    mantissa, exponent = split(x)
    f = mantissa - 1
    high, low = _times(f, log_1p_tail(f), LOG10_E[x.dtype])
    of_two = LOG10_2[x.dtype]
    high, error = fast_two_sum(exponent * of_two[0], high)
    return defined(x, high + (error + fma(exponent, of_two[1], low)))


@formula("log1p")
def log1p(x: Expr) -> Expr:
    """Largest error: 1.52 ULP in float32 (all arguments), 1.55 in float64."""
    # so large an x is brought where its normalizer is a normal number; one stays lost beside it
    bias = LAYOUTS[x.dtype].bias
    large, lift = x > 2.0 ** (bias // 2), bias // 4
    reduced = where(large, x * 2.0**-lift, x)
    total = 1 + reduced
    exponent, power = normalizer(total)
    # (1 + x) 2^-e - 1, rounded once although 1 + x has been rounded
    f = fma(reduced, power, power - 1)
    exponent = where(large, exponent + float(lift), exponent)
    # its sign is all that zero loses by this: log1p(-0.0) is -0.0
    return copysign(defined(total, _sum(exponent, f, log_1p_tail(f))), x)


def log_of_sum(high: Expr, low: Expr, times: Expr) -> Expr:
    """Return log((high + low) * 2^times), where |low| is at most half a unit in the last place of `high`.

    `high` is a normal number below 2^(bias - 1).
    """
    exponent, power = normalizer(high)
    f, rest = fast_two_sum(fma(high, power, -1.0), low * power)
    return _sum(exponent + times, f, rest + log_1p_tail(f))


def _sum(exponent: Expr, f: Expr, tail: Expr) -> Expr:
    """Return exponent * log(2) + f + tail."""
    high, low = LOG_2[f.dtype]
    return exponent * high + (f + fma(exponent, low, tail))


@formula("logaddexp")
def logaddexp(x: Expr, y: Expr) -> Expr:
    """Largest error: 1.6 ULP; where x and y are negative and cancel it, 2.2 ULP of 0.5."""
    greater = x > y
    larger, smaller = where(greater, x, y), where(greater, y, x)
    apart, rounding = two_sum(smaller, -larger)
    small = exp(apart)
    # the difference rounds to a part of itself, which is more than that part of its exponential
    small = where(apart > -200, fma(small, rounding, small), small)
    # log(1 + small), of half of that where it is nearer to one
    double, one, zero = small > sqrt(2) - 1, literal(1.0, x.dtype), literal(0.0, x.dtype)
    f = where(double, fma(small, 0.5, -0.5), small)
    logarithm = _sum(where(double, one, zero), f, log_1p_tail(f))
    # infinities of one sign have no difference
    return where(equal(x, y), x + real_log(2), larger + logarithm)


def _times(f: Expr, tail: Expr, factor: tuple[float, ...]) -> tuple[Expr, Expr]:
    """Return (f + tail) * factor, the factor in two parts, as a sum of two parts."""
    product, error = two_product(f, literal(factor[0], f.dtype))
    return product, fma(tail, factor[0], fma(f, factor[1], error))
