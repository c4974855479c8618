"""Hyperbolic functions, by addition theorems, and their inverses, by logarithms."""

from __future__ import annotations

from math import inf, nan

from tensorframe.dtypes import float32, float64
from tensorframe.kernel.ir import Expr, literal
from tensorframe.kernel.ir.formula import bitcast, copysign, equal, fma, horner, sqrt, where
from tensorframe.kernel.math.exponential import LOG_2, exp_within, power, reduce
from tensorframe.kernel.math.logarithm import log_of_sum
from tensorframe.kernel.math.parts import LAYOUTS, at_most, exponent_of, fast_two_sum, float_bits
from tensorframe.kernel.math.registry import formula

# by docs/derive/hyperbolic.py
SINH_32 = (
    0.0001997409126488492,
    0.00833317544311285,
    0.1666666716337204,
    1.0,
)
SINH_64 = (
    2.5109357850208935e-08,
    2.755724336907751e-06,
    0.0001984126988687348,
    0.008333333333321374,
    0.16666666666666677,
    1.0,
)
COSH_32 = (
    0.0013935451861470938,
    0.041666459292173386,
    0.5,
    1.0,
)
COSH_64 = (
    2.7625244592474407e-07,
    2.4801508536231207e-05,
    0.001388888892691201,
    0.04166666666660368,
    0.5,
    1.0,
)
TANH_32 = (
    -0.00616961857303977,
    0.02100037783384323,
    -0.053835757076740265,
    0.13332436978816986,
    -0.3333331346511841,
    1.0,
)
TANH_64 = (
    4.960470757970233e-05,
    -0.00020823128110332315,
    0.0005778553926657288,
    -0.0014527798343851586,
    0.003591630247374706,
    -0.008863183265106966,
    0.02186948512560461,
    -0.053968253839962226,
    0.1333333333309384,
    -0.3333333333333178,
    1.0,
)
ATANH_32 = (
    0.12799333035945892,
    0.1418454945087433,
    0.20002351701259613,
    0.33333316445350647,
    1.0,
)
ATANH_64 = (
    0.07792918009744186,
    0.06409903003296909,
    0.07710362964588599,
    0.09090180495073093,
    0.11111128152717584,
    0.14285714065869212,
    0.2000000000136903,
    0.3333333333333042,
    1.0,
)

SINH = {float32: SINH_32, float64: SINH_64}
COSH = {float32: COSH_32, float64: COSH_64}
TANH = {float32: TANH_32, float64: TANH_64}
ATANH = {float32: ATANH_32, float64: ATANH_64}
TANH_HIGH = 0.5625


def _halves(x: Expr) -> tuple[Expr, Expr, Expr]:
    """Return exp(k) / 4, exp(-k) / 4 and r of x = k + r for a multiple k of log(2), for positive x.

    A quarter, because cosh and sinh overflow only after exp.
    """
    layout = LAYOUTS[x.dtype]
    n, shifted, rest = reduce(at_most(x, 89.5 if x.dtype == float32 else 710.5))
    # beyond the bound 2^-n is nothing beside 2^n
    bounded = at_most(n, layout.bias - 3.0)
    return power(shifted - 1.0), power(layout.shifter + (layout.bias - 2) - bounded), rest


def _near(x: Expr) -> tuple[Expr, Expr]:
    """Return cosh(x) - 1 and sinh(x) - x for small x."""
    square = x * x
    even, odd = (horner(square, coefficients[x.dtype][:-1]) for coefficients in (COSH, SINH))
    return square * even, square * x * odd


@formula("sinh")
def sinh(x: Expr) -> Expr:
    """Largest error: 1.56 ULP in float32 (all arguments), 1.75 in float64."""
    size = abs(x)
    up, down, rest = _halves(size)
    cosh_less_one, sinh_less_rest = _near(rest)
    # sinh(k + r) = sinh(k) cosh(r) + cosh(k) sinh(r), the largest terms first
    even, odd = up + down, up - down
    lost = (up - odd) - down
    half = fma(even, rest, odd) + (fma(odd, cosh_less_one, even * sinh_less_rest) + lost)
    # a half of the smallest numbers is none
    small = 2.0 ** -(LAYOUTS[x.dtype].fraction // 2 + 2)
    return copysign(where(size < small, size, half + half), x)


@formula("cosh")
def cosh(x: Expr) -> Expr:
    """Largest error: 1.32 ULP in float32 (all arguments), 1.32 in float64."""
    up, down, rest = _halves(abs(x))
    cosh_less_one, sinh_less_rest = _near(rest)
    # cosh(k + r) = cosh(k) cosh(r) + sinh(k) sinh(r), the largest terms first
    even, odd = up + down, up - down
    half = fma(odd, rest, up) + (fma(even, cosh_less_one, odd * sinh_less_rest) + down)
    return half + half


@formula("tanh")
def tanh(x: Expr) -> Expr:
    """Largest error: 1.51 ULP in float32 (all arguments), 1.55 in float64."""
    size = abs(x)
    square = size * size
    near = fma(square * size, horner(square, TANH[x.dtype][:-1]), size)
    # the bound gives 1
    far = 1 - 2 / (exp_within(at_most(size + size, 40.0)) + 1)
    return copysign(where(size < TANH_HIGH, near, far), x)


@formula("asinh")
def asinh(x: Expr) -> Expr:
    """Largest error: 1.41 ULP in float32 (all arguments), 1.42 in float64."""
    size = abs(x)
    # log(s + size) for s = sqrt(1 + size^2), which is log(2 size) where the one is lost
    square = fma(size, size, 1.0)
    root = sqrt(square)
    total, error = fast_two_sum(root, size)
    # what s differs by from its root counts as long as the result is not large: (1 + size^2 - root^2) / 2
    lost = fma(-root, root, square) + fma(size, size, 1 - square)
    error = where(size < 1, fma(lost, 0.5, error), error)
    return copysign(_log_of_sum_or_double(size, total, error), x)


@formula("acosh")
def acosh(x: Expr) -> Expr:
    """Largest error: 1.34 ULP in float32 (all arguments), 1.53 in float64."""
    square = fma(x, x, -1.0)
    root = sqrt(square)
    # near one all of the result is this root, so that its rounding error counts; the small number is for a root of zero
    lost = fma(-root, root, square) / fma(root, 2.0, LAYOUTS[x.dtype].normal)
    total, error = fast_two_sum(x, root)
    return where(x < 1, nan, _log_of_sum_or_double(x, total, error + lost))


def _log_of_sum_or_double(x: Expr, total: Expr, error: Expr) -> Expr:
    """Return log(total + error), or log(2 x) for an x so large that they do not differ; x may be infinite."""
    bias = LAYOUTS[x.dtype].bias
    large, lift = x > 2.0 ** (bias // 2 - 1), bias // 4
    zero, lifted = literal(0.0, x.dtype), literal(lift + 1.0, x.dtype)
    high, low = where(large, x * 2.0**-lift, total), where(large, zero, error)
    return where(x < inf, log_of_sum(high, low, where(large, lifted, zero)), x)


@formula("atanh")
def atanh(x: Expr) -> Expr:
    """Largest error: 1.57 ULP in float32 (all arguments), 1.60 in float64."""
    layout = LAYOUTS[x.dtype]
    size = abs(x)
    # 2 atanh(x) is the logarithm of (1 + x) / (1 - x) = 2^k m, and log(m) is 2 atanh((m - 1) / (m + 1))
    above, below = 1 + size, 1 - size
    # bits in their order are nearly a logarithm: the integer part of their difference is k. From 11/16 on the next one
    # is taken, not from 1/2: k log(2) and the rest, of the other sign, are then further from cancelling
    apart = bitcast(above, layout.bits) - bitcast(below, layout.bits)
    rounded = apart + (float_bits(1.0, x.dtype) + (5 << (layout.fraction - 4)))
    two_to_k = bitcast(rounded & -(1 << layout.fraction), x.dtype)
    k = exponent_of(rounded, x.dtype)
    # 1 + x and 1 - x round, 1 + 2^k does so for large k only; then they count for nothing
    sums, differences = two_to_k + 1, 1 - two_to_k
    near = k < layout.fraction - 3.0
    numerator = where(near, fma(size, sums, differences), fma(-two_to_k, below, above))
    denominator = where(near, fma(size, differences, sums), fma(two_to_k, below, above))
    ratio = numerator / denominator
    square = ratio * ratio
    tail = square * ratio * horner(square, ATANH[x.dtype][:-1])
    high, low = LOG_2[x.dtype]
    result = fma(k, high / 2, ratio + fma(k, low / 2, tail))
    return copysign(where(size < 1, result, where(equal(size, 1), literal(inf, x.dtype), nan)), x)
