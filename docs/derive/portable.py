"""Derives the coefficients of tensorframe/kernel/math/portable.py: the program prints them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from remez import Piece, show

QUARTER = mp.mpf(1) / 4


def sine_of_turns(square: mp.mpf) -> mp.mpf:
    """sin(2 pi x) / x as a function of x^2."""
    x = mp.sqrt(square)
    return mp.sin(2 * mp.pi * x) / x if x else 2 * mp.pi


def reciprocal_sine(square: mp.mpf) -> mp.mpf:
    """Weight of an error relative to that quotient."""
    return 1 / sine_of_turns(square)


PIECES = [
    Piece("TURNS_32", sine_of_turns, 0, QUARTER**2, range(5), np.float32, reciprocal_sine),
    Piece("TURNS_64", sine_of_turns, 0, QUARTER**2, range(9), np.float64, reciprocal_sine),
]

if __name__ == "__main__":
    show(PIECES)
