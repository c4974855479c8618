"""Derives the coefficients of tensorframe/kernel/math/roots.py: the program prints them.

Read as an integer, the bits of a number are nearly its logarithm to base 2, so that minus a third of them are nearly
those of x^(-1/3): in each binade of x that guess z is a straight line between powers of two.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
from mpmath import mpf
from remez import Piece, show

SHIFT = mpf(
    "0.111"
)  # of the guess's logarithm: it leaves the ratio of the largest x z^3 to the least smallest


def logarithm(x: mpf) -> mpf:
    """log2(x), a straight line in each binade."""
    exponent = mp.floor(mp.log(x, 2))
    return exponent + x / 2**exponent - 1


def power(y: mpf) -> mpf:
    """Inverse of `logarithm`."""
    exponent = mp.floor(y)
    return 2**exponent * (1 + y - exponent)


def cube(x: mpf) -> mpf:
    """Return x z^3 for the guess z."""
    return x * power(SHIFT - logarithm(x) / 3) ** 3


def extremes() -> tuple[mpf, mpf]:
    """Return bounds of x z^3, which repeats itself when x is eight times as large."""
    values = [cube(1 + mpf(7) * k / 4096) for k in range(4096)]
    return min(values) * mpf("0.9999"), max(values) * mpf("1.0001")


def inverse_root(w: mpf) -> mpf:
    """w^(-1/3)."""
    return w ** (-mpf(1) / 3)


def relative(w: mpf) -> mpf:
    """Weight of an error relative to w^(-1/3)."""
    return 1 / inverse_root(w)


PIECES = [
    Piece("ROOT_32", inverse_root, *extremes(), range(3), np.float32, relative),
    Piece("ROOT_64", inverse_root, *extremes(), range(6), np.float64, relative),
]

if __name__ == "__main__":
    show(PIECES)
