"""Derives the coefficients of asin, acos, atan and atan2 in tensorframe/kernel/math: the program prints them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from remez import show
from trigonometric import odd

HALF = mp.mpf(1) / 2
ONE = mp.mpf(1)

PIECES = [
    odd("ASIN_32", mp.asin, HALF, 5, np.float32),
    odd("ASIN_64", mp.asin, HALF, 12, np.float64),
    odd("ATAN_32", mp.atan, HALF, 5, np.float32),
    odd("ATAN_64", mp.atan, HALF, 12, np.float64),
    odd("ATAN_TO_ONE_32", mp.atan, ONE, 9, np.float32),
    odd("ATAN_TO_ONE_64", mp.atan, ONE, 20, np.float64),
]

if __name__ == "__main__":
    show(PIECES)
