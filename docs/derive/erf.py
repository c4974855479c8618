"""Derives the coefficients in tensorframe/backends/numpy/special.py: `python docs/derive/erf.py` prints them.

Each function below is smooth on its interval, so weighted least squares over Chebyshev nodes come within a small
factor of the best polynomial. Everything is computed with 60 digits; the largest error is printed beside the degree.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp
import numpy as np
from mpmath import mpf

mp.mp.dps = 60

Function = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Piece:
    """A function to replace by a polynomial of `degree` in (x - centre) on [low, high]."""

    name: str
    function: Function
    low: float
    high: float
    degree: int
    centre: float
    dtype: type[np.floating]
    weight: Function  # what an error of the polynomial is multiplied by in the result, relative to the result


def erf_excess(square: mpf) -> mpf:
    """erf(x) / x - 1 as a function of x^2."""
    x = mp.sqrt(square)
    return mp.erf(x) / x - 1 if x else 2 / mp.sqrt(mp.pi) - 1


def log_erfc(x: mpf) -> mpf:
    """log(erfc(x))."""
    return mp.log(mp.erfc(x))


def scaled_erfc(x: mpf) -> mpf:
    """exp(x^2) erfc(x)."""
    return mp.exp(x * x) * mp.erfc(x)


def tail_excess(inverse_square: mpf) -> mpf:
    """Ratio of x exp(x^2) erfc(x) to its float64 limit 1 / sqrt(pi), less 1, as a function of 1 / x^2."""
    x = 1 / mp.sqrt(inverse_square)
    return x * scaled_erfc(x) / mpf(0.5641895835477563) - 1


def least_squares(piece: Piece) -> list[mpf]:
    """Return the coefficients, lowest first, of the polynomial in (x - centre) with the least weighted squares.

    Chebyshev nodes are dense at the ends, which makes the least squares error nearly level.
    """
    terms, count = piece.degree + 1, 4 * (piece.degree + 1)
    middle, radius = (mpf(piece.low) + piece.high) / 2, (mpf(piece.high) - piece.low) / 2
    nodes = [middle + radius * mp.cos(mp.pi * (k + mpf(1) / 2) / count) for k in range(count)]
    weights = [piece.weight(node) for node in nodes]
    powers = mp.matrix(count, terms)
    values = mp.matrix(count, 1)
    for row, (node, weight) in enumerate(zip(nodes, weights, strict=True)):
        values[row] = weight * piece.function(node)
        for power in range(terms):
            powers[row, power] = weight * (node - piece.centre) ** power
    return list(mp.lu_solve(powers.T * powers, powers.T * values))


def largest_error(piece: Piece, coefficients: list[mpf]) -> float:
    """Return the largest weighted error on a fine grid, of the rounded coefficients in exact arithmetic."""
    rounded = [mpf(float(piece.dtype(float(coefficient)))) for coefficient in coefficients]
    worst = mpf(0)
    for step in range(401):
        x = piece.low + (mpf(piece.high) - piece.low) * step / 400
        value = sum(
            coefficient * (x - piece.centre) ** power for power, coefficient in enumerate(rounded)
        )
        worst = max(worst, abs(value - piece.function(x)) * abs(piece.weight(x)))
    return float(worst)


def unweighted(_x: mpf) -> mpf:
    """Errors as they are."""
    return mpf(1)


def relative(function: Function) -> Function:
    """Errors relative to the function itself."""
    return lambda x: 1 / function(x)


PIECES = [
    Piece("ERF_32", erf_excess, 0.0, 1.0, 6, 0.0, np.float32, unweighted),
    Piece("LOG_ERFC_32", log_erfc, 1.0, 4.0, 6, 1.0, np.float32, mp.erfc),
    Piece("ERF_64", erf_excess, 0.0, 1.0, 12, 0.0, np.float64, unweighted),
    Piece("LOG_ERFC_64", log_erfc, 1.0, 6.0, 18, 1.0, np.float64, mp.erfc),
    Piece("NEAR_64", scaled_erfc, 0.6875, 1.25, 14, 1.0, np.float64, relative(scaled_erfc)),
    Piece("MIDDLE_64", scaled_erfc, 1.25, 2.5, 18, 2.0, np.float64, relative(scaled_erfc)),
    Piece("TAIL_64", tail_excess, 1 / 28.0**2, 1 / 2.5**2, 19, 0.0, np.float64, unweighted),
]

if __name__ == "__main__":
    for piece in PIECES:
        fitted = least_squares(piece)
        sys.stdout.write(f"# degree {piece.degree}, error {largest_error(piece, fitted):.2e}\n")
        sys.stdout.write(f"{piece.name} = (\n")
        for coefficient in fitted:
            sys.stdout.write(f"    {float(piece.dtype(float(coefficient)))!r},\n")
        sys.stdout.write(")\n")
