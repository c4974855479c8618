"""Derives the coefficients of tensorframe/kernel/math/error_function.py: the program prints them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from mpmath import mpf
from remez import Piece, show

# where the polynomials in x^2 end, and where erf rounds to 1
ERF_NEAR_32, ERF_NEAR_64, ERFC_NEAR = 1.0, 1.125, 0.75
ONE_32, ONE_64 = 4.0, 6.0
# from ERFC_NEAR until it rounds to 0, erfc is a polynomial in 8 / (x + 3) - 1
ZERO_32, ZERO_64 = 10.1, 27.3


def excess(square: mpf) -> mpf:
    """erf(x) / x - 1 as a function of x^2."""
    x = mp.sqrt(square)
    return mp.erf(x) / x - 1


def excess_weight(square: mpf) -> mpf:
    """Weight of an error of `excess` relative to erf(x)."""
    return 1 / (1 + excess(square))


def complement_excess_weight(square: mpf) -> mpf:
    """Weight of an error of `excess` relative to erfc(x)."""
    x = mp.sqrt(square)
    return x / mp.erfc(x)


def log_complement(x: mpf) -> mpf:
    """log2(erfc(x))."""
    return mp.log(mp.erfc(x), 2)


def log_complement_weight(x: mpf) -> mpf:
    """Weight of an error of `log_complement` relative to erf(x)."""
    return mp.log(2) * mp.erfc(x) / mp.erf(x)


def exp2(name: str, near: float, degree: int, dtype: type[np.floating]) -> Piece:
    """Return 2^x, which is erfc but for a power of two, as accurate as erf needs it: erfc is at most that of `near`."""
    largest = mp.erfc(near) / mp.erf(near)

    def weight(x: mpf) -> mpf:
        return largest * mpf(2) ** -x

    return Piece(name, lambda x: mpf(2) ** x, -0.5, 0.5, range(degree + 1), dtype, weight, (1.0,))


def tail(name: str, zero: float, degree: int, dtype: type[np.floating]) -> Piece:
    """Return the piece of erfc from ERFC_NEAR on: (x + 3) exp(x^2) erfc(x)."""

    def function(moved: mpf) -> mpf:
        total = 8 / (moved + 1)
        x = total - 3
        return total * mp.exp(x * x) * mp.erfc(x)

    def weight(moved: mpf) -> mpf:
        return 1 / function(moved)

    low, high = 8 / (mpf(zero) + 3) - 1, 8 / (mpf(ERFC_NEAR) + 3) - 1
    return Piece(name, function, low, high, range(degree + 1), dtype, weight)


PIECES = [
    Piece("ERF_32", excess, 0.0, ERF_NEAR_32**2, range(7), np.float32, excess_weight),
    Piece("ERF_64", excess, 0.0, ERF_NEAR_64**2, range(13), np.float64, excess_weight),
    Piece(
        "LOG_ERFC_32",
        log_complement,
        ERF_NEAR_32,
        ONE_32,
        range(7),
        np.float32,
        log_complement_weight,
    ),
    Piece(
        "LOG_ERFC_64",
        log_complement,
        ERF_NEAR_64,
        ONE_64,
        range(15),
        np.float64,
        log_complement_weight,
    ),
    exp2("EXP2_32", ERF_NEAR_32, 6, np.float32),
    exp2("EXP2_64", ERF_NEAR_64, 10, np.float64),
    Piece("NEAR_32", excess, 0.0, ERFC_NEAR**2, range(6), np.float32, complement_excess_weight),
    Piece("NEAR_64", excess, 0.0, ERFC_NEAR**2, range(11), np.float64, complement_excess_weight),
    tail("TAIL_32", ZERO_32, 8, np.float32),
    tail("TAIL_64", ZERO_64, 20, np.float64),
]

if __name__ == "__main__":
    show(PIECES)
