"""Functions with the same bits on every device: those that random numbers are made of (`ops/random.py`).

Only ops that every device rounds correctly are here: sums, products, quotients, and what moves bits. There is no fma,
which NumPy lacks, and no choice between forms; NumPy runs these very expressions (`backends/numpy/formulas.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from tensorframe.dtypes import float32, float64
from tensorframe.kernel.ir import Expr, literal
from tensorframe.kernel.ir.formula import bitcast, rint
from tensorframe.kernel.math.exponential import LOG_2
from tensorframe.kernel.math.logarithm import LOG_1P_32, LOG_RATIO_64
from tensorframe.kernel.math.parts import LAYOUTS, exponent_of, float_bits
from tensorframe.kernel.math.registry import formula

# by docs/derive/portable.py
TURNS_32 = (
    40.87603759765625,
    -76.72798919677734,
    81.60863494873047,
    -41.341766357421875,
    6.2831854820251465,
)
TURNS_64 = (
    0.07417384732638846,
    -0.7109437229923183,
    3.8192254691340177,
    -15.09460370478636,
    42.0586927845153,
    -76.70585973412473,
    81.6052492759222,
    -41.341702240399286,
    6.283185307179586,
)
TURNS = {float32: TURNS_32, float64: TURNS_64}


def _horner(x: Expr, coefficients: Sequence[float]) -> Expr:
    """Return the polynomial with these coefficients, that of the highest power first: products and sums, no fma."""
    first, *rest = coefficients
    total: Expr = literal(first, x.dtype)
    for coefficient in rest:
        total = total * x + coefficient
    return total


@formula("surprisal")
def surprisal(x: Expr) -> Expr:
    """Largest error of normal numbers up to one: 0.9 ULP."""
    layout = LAYOUTS[x.dtype]
    one, lowest = float_bits(1.0, x.dtype), float_bits(sqrt(0.5), x.dtype)
    moved = bitcast(x, layout.bits) + (one - lowest)
    mantissa = bitcast((moved & ((1 << layout.fraction) - 1)) + lowest, x.dtype)
    exponent = exponent_of(moved, x.dtype)
    high, low = LOG_2[x.dtype]
    lack = 1 - mantissa  # exact
    return exponent * -high + (lack + (exponent * -low + _tail(lack)))


def _tail(lack: Expr) -> Expr:
    """Return -log(1 - lack) - lack, by the polynomials of the logarithm."""
    if lack.dtype == float32:
        degrees = range(len(LOG_1P_32), 1, -1)
        signed = zip(degrees, LOG_1P_32, strict=False)
        series = [
            -coefficient if degree % 2 == 0 else coefficient for degree, coefficient in signed
        ]
        return lack * lack * _horner(lack, series)
    s = lack / (2 - lack)
    square = s * s
    return s * (square * _horner(square, LOG_RATIO_64[:-1]) + lack)


@formula("cos_turns")
def cos_turns(x: Expr) -> Expr:
    """Largest error: 3.2 ULP, next to whole turns, where the terms of the polynomial cancel."""
    rest = x - rint(x)  # exact
    from_quarter = 0.25 - abs(rest)  # where the sine is that of one quarter turn at most
    return from_quarter * _horner(from_quarter * from_quarter, TURNS[x.dtype])
