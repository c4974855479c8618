"""Exponential functions: 2^n times a polynomial of what n multiples of log(2) leave of the argument."""

from __future__ import annotations

from math import e, log2

from tensorframe.dtypes import float32, float64
from tensorframe.kernel.ir import Expr
from tensorframe.kernel.ir.formula import bitcast, fma, horner, where
from tensorframe.kernel.math.parts import LAYOUTS, clamp
from tensorframe.kernel.math.registry import formula

# by docs/derive/exponential.py
LOG_2_32 = (0.693145751953125, 1.428606765330187e-06)
LOG_2_64 = (0.6931471805598903, 5.497923018708371e-14)
EXP_32 = (
    0.001381830545142293,
    0.008368532173335552,
    0.04166829213500023,
    0.1666652262210846,
    0.4999999403953552,
    1.0,
    1.0,
)
EXP_64 = (
    2.5007328048838506e-08,
    2.763019600763679e-07,
    2.7557558177208704e-06,
    2.480149316799972e-05,
    0.00019841269546510732,
    0.0013888888943702623,
    0.008333333333470135,
    0.041666666666528795,
    0.16666666666666466,
    0.5000000000000011,
    1.0,
    1.0,
)
EXP2_32 = (
    0.00015326471475418657,
    0.0013390806270763278,
    0.009618505835533142,
    0.05550359934568405,
    0.24022647738456726,
    0.6931471824645996,
    1.0,
)
EXP2_64 = (
    4.438854638921875e-10,
    7.073232892056955e-09,
    1.0178160104712126e-07,
    1.3215438836874202e-06,
    1.5252733633829653e-05,
    0.00015403530449034213,
    0.001333355814654644,
    0.009618129107601606,
    0.05550410866482172,
    0.24022650695910108,
    0.6931471805599453,
    1.0,
)
EXPM1_32 = (
    0.001386968418955803,
    0.00836624950170517,
    0.04166744649410248,
    0.1666654646396637,
    0.4999999701976776,
    1.0,
)
EXPM1_64 = (
    2.5064313063244217e-08,
    2.7625874889713794e-07,
    2.7557368530242458e-06,
    2.4801505633183735e-05,
    0.00019841269771286345,
    0.0013888888931383777,
    0.008333333333359793,
    0.041666666666576244,
    0.1666666666666665,
    0.5000000000000006,
    1.0,
)

LOG_2 = {float32: LOG_2_32, float64: LOG_2_64}
EXP = {float32: EXP_32, float64: EXP_64}
EXP2 = {float32: EXP2_32, float64: EXP2_64}
EXPM1 = {float32: EXPM1_32, float64: EXPM1_64}


def count(x: Expr, factor: float) -> tuple[Expr, Expr]:
    """Return n, the integer nearest to x * factor, and a float whose lowest bits are the exponent of 2^(n - 1), biased.

    One less than n, because 2^n overflows before results do.
    """
    layout = LAYOUTS[x.dtype]
    shifter = layout.shifter + (layout.bias - 1)
    shifted = fma(x, factor, shifter)
    return shifted - shifter, shifted


def reduce(x: Expr) -> tuple[Expr, Expr, Expr]:
    """Return n and the float of `count`, and x - n * log(2), which is at most log(2) / 2 in magnitude."""
    n, shifted = count(x, log2(e))
    high, low = LOG_2[x.dtype]
    return n, shifted, fma(n, -low, fma(n, -high, x))


def power(shifted: Expr) -> Expr:
    """Return 2^(n - 1), where it is normal, from the float of `count`."""
    layout = LAYOUTS[shifted.dtype]
    return bitcast(bitcast(shifted, layout.bits) << layout.fraction, shifted.dtype)


def raised(twice: Expr, n: Expr, shifted: Expr) -> Expr:
    """Return twice * 2^(n - 1), where `twice` is near two; it rounds where that is subnormal."""
    layout = LAYOUTS[n.dtype]
    subnormal = n < 2.0 - layout.bias
    lift = 2.0 * layout.fraction
    result = twice * power(where(subnormal, shifted + lift, shifted))
    return where(subnormal, result * 2.0**-lift, result)


def _doubled(coefficients: tuple[float, ...]) -> list[float]:
    return [2 * coefficient for coefficient in coefficients]


def exp_within(x: Expr) -> Expr:
    """Return e to the power of x, where that is a normal number."""
    _, shifted, rest = reduce(x)
    return horner(rest, _doubled(EXP[x.dtype])) * power(shifted)


@formula("exp")
def exp(x: Expr) -> Expr:
    """Largest error: 0.90 ULP in float32 (all arguments), 0.90 in float64."""
    # at these bounds exp is 0 and infinite; at the lower one 2^n is 0 in `raised`, as it is for -inf: results that
    # are too small for a float take a processor ten times as long
    x = clamp(x, -119.25, 89.0) if x.dtype == float32 else clamp(x, -780.5, 710.0)
    n, shifted, rest = reduce(x)
    return raised(horner(rest, _doubled(EXP[x.dtype])), n, shifted)


@formula("exp2")
def exp2(x: Expr) -> Expr:
    """Exact for integers. Largest error: 0.88 ULP in float32 (all arguments), 0.87 in float64."""
    x = clamp(x, -172.0, 129.0) if x.dtype == float32 else clamp(x, -1126.0, 1025.0)
    n, shifted = count(x, 1.0)
    return raised(horner(x - n, _doubled(EXP2[x.dtype])), n, shifted)


@formula("expm1")
def expm1(x: Expr) -> Expr:
    """Largest error: 1.29 ULP in float32 (all arguments), 1.52 in float64."""
    # below the lower bound exp(x) is lost beside one
    clamped = clamp(x, -20.0, 89.0) if x.dtype == float32 else clamp(x, -40.0, 710.0)
    _, shifted, rest = reduce(clamped)
    half = power(shifted)
    # half of exp(x) - 1, the largest terms first: half * exp(rest) - 1/2
    leading = fma(half, rest, half - 0.5)
    half_square = half * rest * rest
    result = fma(half_square, horner(rest, EXPM1[x.dtype][:-1]), leading)
    # a half of the smallest numbers is none
    return where(abs(x) < 2.0 ** -(LAYOUTS[x.dtype].fraction + 2), x, result + result)
