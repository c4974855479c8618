"""Derives the coefficients of tensorframe/kernel/math/powers.py: the program prints them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from mpmath import mpf
from remez import Constant, Piece, show

LOW, HIGH = mp.sqrt(0.5) - 1, mp.sqrt(2) - 1  # what a mantissa differs from one by
LARGEST = (HIGH / (2 + HIGH)) ** 2


def log2_slope(x: mpf) -> mpf:
    """log2(1 + x) / x."""
    return mp.log(1 + x, 2) / x


def relative_slope(x: mpf) -> mpf:
    """Weight of an error relative to that slope."""
    return 1 / log2_slope(x)


def atanh_tail(square: mpf) -> mpf:
    """Return what is left of 2 atanh(x) = 2 x + 2/3 x^3 + ... after these terms, over x^5, as a function of x^2."""
    x = mp.sqrt(square)
    return (2 * mp.atanh(x) / x - 2 - mpf(2) / 3 * square) / square**2


def tail_weight(square: mpf) -> mpf:
    """Weight of an error of the tail relative to 2 atanh(x)."""
    x = mp.sqrt(square)
    return square**2 * x / (2 * mp.atanh(x))


def exp2(x: mpf) -> mpf:
    """2^x."""
    return mpf(2) ** x


PIECES = [
    # for float32, in float64
    Piece("LOG2_SLOPE", log2_slope, LOW, HIGH, range(14), np.float64, relative_slope),
    Piece("EXP2", exp2, -0.5, 0.5, range(8), np.float64, lambda x: 1 / exp2(x)),
    # for float64
    Piece("ATANH", atanh_tail, 0, LARGEST, range(7), np.float64, tail_weight),
]

CONSTANTS = [
    Constant("TWO_THIRDS_32", mpf(2) / 3, np.float32),
    Constant("TWO_THIRDS_64", mpf(2) / 3, np.float64),
]

if __name__ == "__main__":
    show(PIECES, CONSTANTS)
