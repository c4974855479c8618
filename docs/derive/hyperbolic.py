"""Derives the coefficients of tensorframe/kernel/math/hyperbolic.py: the program prints them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from remez import Piece, show

HALF_LOG_2 = mp.log(2) / 2  # what is left of an argument after a multiple of log(2) is taken away
TANH_HIGH = 0.5625  # from there on 1 - tanh(x) is small enough beside tanh(x)


def reciprocal_sinh(x: mp.mpf) -> mp.mpf:
    """Weight of an error relative to sinh."""
    return 1 / mp.sinh(x)


def reciprocal_cosh(x: mp.mpf) -> mp.mpf:
    """Weight of an error relative to cosh."""
    return 1 / mp.cosh(x)


def reciprocal_tanh(x: mp.mpf) -> mp.mpf:
    """Weight of an error relative to tanh."""
    return 1 / mp.tanh(x)


def reciprocal_atanh(x: mp.mpf) -> mp.mpf:
    """Weight of an error relative to atanh."""
    return 1 / mp.atanh(x)


REST = (0, HALF_LOG_2)
NEAR = (0, TANH_HIGH)
# (m - 1) / (m + 1) for m = 2^0.7736: up to 11/16 is kept, and bits as a logarithm to base 2 are off by up to 0.0861
RATIO = (0, 0.2618)
PIECES = [
    Piece("SINH_32", mp.sinh, *REST, range(1, 8, 2), np.float32, reciprocal_sinh, (1.0,)),
    Piece("SINH_64", mp.sinh, *REST, range(1, 12, 2), np.float64, reciprocal_sinh, (1.0,)),
    Piece("COSH_32", mp.cosh, *REST, range(0, 7, 2), np.float32, reciprocal_cosh, (1.0, 0.5)),
    Piece("COSH_64", mp.cosh, *REST, range(0, 11, 2), np.float64, reciprocal_cosh, (1.0, 0.5)),
    Piece("TANH_32", mp.tanh, *NEAR, range(1, 12, 2), np.float32, reciprocal_tanh, (1.0,)),
    Piece("TANH_64", mp.tanh, *NEAR, range(1, 22, 2), np.float64, reciprocal_tanh, (1.0,)),
    Piece("ATANH_32", mp.atanh, *RATIO, range(1, 10, 2), np.float32, reciprocal_atanh, (1.0,)),
    Piece("ATANH_64", mp.atanh, *RATIO, range(1, 18, 2), np.float64, reciprocal_atanh, (1.0,)),
]

if __name__ == "__main__":
    show(PIECES)
