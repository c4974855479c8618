"""Derives the coefficients of sin, cos and tan in tensorframe/kernel/math: the program prints them."""

from __future__ import annotations

import sys
from collections.abc import Callable

import mpmath as mp
import numpy as np
from remez import Constant, Function, Piece, show, summands

# What is left of an angle, which is a little more than pi / 4: the multiple is found with rounding.
END_32, END_64 = 1.006 * mp.pi / 4, 1.0002 * mp.pi / 4
BITS = 53 * 23  # the largest float64 takes 1023 bits away, and its angle may begin 61 below those


def excess(function: Callable[[mp.mpf], mp.mpf]) -> Function:
    """(f(x) / x - 1) / x^2 as a function of x^2, for an odd function: f(x) = x + x^3 times it."""

    def of_square(square: mp.mpf) -> mp.mpf:
        x = mp.sqrt(square)
        return (function(x) / x - 1) / square

    return of_square


def share(function: Callable[[mp.mpf], mp.mpf]) -> Function:
    """Weight of an error of the excess relative to the odd function."""

    def of_square(square: mp.mpf) -> mp.mpf:
        x = mp.sqrt(square)
        return square * x / function(x)

    return of_square


def odd(name: str, function: Function, end: mp.mpf, count: int, dtype: type[np.floating]) -> Piece:
    """The polynomial for an odd function on [-end, end]."""
    return Piece(name, excess(function), 0, end**2, range(count), dtype, share(function))


def cosine_excess(square: mp.mpf) -> mp.mpf:
    """(cos(x) - 1) / x^2 as a function of x^2: cos(x) = 1 + x^2 times it."""
    return (mp.cos(mp.sqrt(square)) - 1) / square


def cosine_share(square: mp.mpf) -> mp.mpf:
    """Weight of an error of the excess relative to cos."""
    return square / mp.cos(mp.sqrt(square))


def even(name: str, end: mp.mpf, count: int, dtype: type[np.floating]) -> Piece:
    """The polynomial for cos on [-end, end]."""
    powers = range(count)
    return Piece(name, cosine_excess, 0, end**2, powers, dtype, cosine_share, (-0.5,))


PIECES = [
    odd("SIN_32", mp.sin, END_32, 3, np.float32),
    odd("SIN_64", mp.sin, END_64, 6, np.float64),
    even("COS_32", END_32, 4, np.float32),
    even("COS_64", END_64, 7, np.float64),
    odd("TAN_32", mp.tan, END_32, 6, np.float32),
    odd("TAN_64", mp.tan, END_64, 14, np.float64),
]

PARTS_OF_PI = [
    Constant("PI_32", mp.pi, np.float32, count=3),
    Constant("PI_64", mp.pi, np.float64, count=3),
]


def parts(constant: Constant) -> list[float]:
    """The summands of a constant, which may have more digits than the polynomials."""
    with mp.workdps(60):
        return summands(constant)


def reciprocal_of_pi() -> int:
    """The first bits of 1 / pi behind the point."""
    with mp.workprec(BITS + 64):
        return int(mp.floor(mp.ldexp(1 / mp.pi, BITS)))


if __name__ == "__main__":
    show(PIECES)
    for constant in PARTS_OF_PI:
        sys.stdout.write(f"{constant.name} = {tuple(parts(constant))}\n")
    sys.stdout.write(f"RECIPROCAL_OF_PI = 0x{reciprocal_of_pi():x}\n")
