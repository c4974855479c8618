"""Derives the coefficients of tensorframe/kernel/math/logarithm.py: the program prints them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from remez import Constant, Piece, show

LOW, HIGH = mp.sqrt(0.5) - 1, mp.sqrt(2) - 1  # what a mantissa differs from one by
LARGEST = (HIGH / (2 + HIGH)) ** 2


def log_1p(x: mp.mpf) -> mp.mpf:
    """log(1 + x)."""
    return mp.log(1 + x)


def reciprocal_log_1p(x: mp.mpf) -> mp.mpf:
    """Weight of an error relative to log(1 + x)."""
    return 1 / mp.log(1 + x)


def log_ratio(square: mp.mpf) -> mp.mpf:
    """2 atanh(x) / x as a function of x^2: log(m) = 2 atanh((m - 1) / (m + 1))."""
    x = mp.sqrt(square)
    return 2 * mp.atanh(x) / x


def reciprocal_ratio(square: mp.mpf) -> mp.mpf:
    """Weight of an error relative to that ratio."""
    return 1 / log_ratio(square)


PIECES = [
    Piece("LOG_1P_32", log_1p, LOW, HIGH, range(1, 11), np.float32, reciprocal_log_1p, (1.0,)),
    Piece("LOG_RATIO_64", log_ratio, 0, LARGEST, range(8), np.float64, reciprocal_ratio, (2.0,)),
]

CONSTANTS = [
    # times an exponent the first part is exact
    Constant("LOG10_2_32", mp.log10(2), np.float32, spare=8),
    Constant("LOG10_2_64", mp.log10(2), np.float64, spare=11),
    Constant("LOG2_E_32", 1 / mp.log(2), np.float32),
    Constant("LOG2_E_64", 1 / mp.log(2), np.float64),
    Constant("LOG10_E_32", 1 / mp.log(10), np.float32),
    Constant("LOG10_E_64", 1 / mp.log(10), np.float64),
]

if __name__ == "__main__":
    show(PIECES, CONSTANTS)
