"""Derives the coefficients of tensorframe/kernel/math/exponential.py: the program prints them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from remez import Constant, Piece, show

HALF_LOG_2 = mp.log(2) / 2  # what is left of an argument after a multiple of log(2) is taken away


def reciprocal_exp(x: mp.mpf) -> mp.mpf:
    """Weight of an error relative to exp."""
    return mp.exp(-x)


PIECES = [
    Piece(
        "EXP_32", mp.exp, -HALF_LOG_2, HALF_LOG_2, range(7), np.float32, reciprocal_exp, (1.0, 1.0)
    ),
    Piece(
        "EXP_64", mp.exp, -HALF_LOG_2, HALF_LOG_2, range(12), np.float64, reciprocal_exp, (1.0, 1.0)
    ),
]

CONSTANTS = [
    # times an exponent, of 8 and 11 bits, the first part is exact
    Constant("LOG_2_32", mp.log(2), np.float32, spare=8),
    Constant("LOG_2_64", mp.log(2), np.float64, spare=11),
]

if __name__ == "__main__":
    show(PIECES, CONSTANTS)
