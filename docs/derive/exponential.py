"""Derives the coefficients of tensorframe/kernel/math/exponential.py: the program prints them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from remez import Constant, Piece, show

HALF_LOG_2 = mp.log(2) / 2  # what is left of an argument after a multiple of log(2) is taken away


def reciprocal_exp(x: mp.mpf) -> mp.mpf:
    """Weight of an error relative to exp."""
    return mp.exp(-x)


def exp2(x: mp.mpf) -> mp.mpf:
    """2^x."""
    return mp.mpf(2) ** x


def reciprocal_exp2(x: mp.mpf) -> mp.mpf:
    """Weight of an error relative to 2^x."""
    return mp.mpf(2) ** -x


def reciprocal_expm1(x: mp.mpf) -> mp.mpf:
    """Weight of an error relative to exp(x) - 1."""
    return 1 / mp.expm1(x)


REST = (-HALF_LOG_2, HALF_LOG_2)
PIECES = [
    Piece("EXP_32", mp.exp, *REST, range(7), np.float32, reciprocal_exp, (1.0, 1.0)),
    Piece("EXP_64", mp.exp, *REST, range(12), np.float64, reciprocal_exp, (1.0, 1.0)),
    Piece("EXP2_32", exp2, -0.5, 0.5, range(7), np.float32, reciprocal_exp2, (1.0,)),
    Piece("EXP2_64", exp2, -0.5, 0.5, range(12), np.float64, reciprocal_exp2, (1.0,)),
    Piece("EXPM1_32", mp.expm1, *REST, range(1, 7), np.float32, reciprocal_expm1, (1.0,)),
    Piece("EXPM1_64", mp.expm1, *REST, range(1, 12), np.float64, reciprocal_expm1, (1.0,)),
]
CONSTANTS = [
    # times an exponent, of 8 and 11 bits, the first part is exact
    Constant("LOG_2_32", mp.log(2), np.float32, spare=8),
    Constant("LOG_2_64", mp.log(2), np.float64, spare=11),
]

if __name__ == "__main__":
    show(PIECES, CONSTANTS)
