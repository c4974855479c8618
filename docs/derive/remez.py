"""Minimax polynomials with coefficients of a floating dtype: what the derivations of vector math share.

The exchange algorithm of Remez (Cheney, "Introduction to Approximation Theory", 1966, chapter 3) finds the polynomial
whose largest weighted error is least. Rounding its coefficients would spoil it: they are rounded one at a time, that
of the lowest power first, and the rest are found anew with it fixed, so that they make up for what it lost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mpmath as mp
import numpy as np
from mpmath import mpf

mp.mp.dps = 40

Function = Callable[[mpf], mpf]


def unweighted(_x: mpf) -> mpf:
    """Weight of an error that counts as it is."""
    return mpf(1)


@dataclass(frozen=True)
class Piece:
    """A function to replace by a polynomial of these powers of x on [low, high], with coefficients of a dtype."""

    name: str
    function: Function
    low: Any
    high: Any
    powers: Sequence[int]
    dtype: type[np.floating]
    weight: Function = (
        unweighted  # what an error of the polynomial is multiplied by in the result, relatively
    )
    fixed: tuple[float, ...] = ()  # the first coefficients, if they are given

    @cached_property
    def points(self) -> list[mpf]:
        """Many points of the interval, dense at its ends, none of them zero: a function may divide by x."""
        low, high = mpf(self.low), mpf(self.high)
        count = 24 * len(self.powers)
        places = [mp.cos(mp.pi * k / (count - 1)) for k in range(count)]
        points = [(low + high) / 2 - (high - low) / 2 * place for place in places]
        return [x for x in points if abs(x) > mpf("1e-30")]

    @cached_property
    def weights(self) -> list[mpf]:
        """The weight at each point, without its sign, which would hide that of errors."""
        return [abs(self.weight(x)) for x in self.points]

    @cached_property
    def values(self) -> list[mpf]:
        """The function at each point."""
        return [self.function(x) for x in self.points]


def coefficients(piece: Piece) -> list[float]:
    """Return the coefficients, that of the lowest power first, each a number of the dtype."""
    solved = list(piece.fixed)
    while len(solved) < len(piece.powers):
        solved.append(next_coefficient(piece, solved))
    return solved


def next_coefficient(piece: Piece, known: Sequence[float]) -> float:
    """Return the coefficient that follows these."""
    left = list(piece.values)
    for value, power in zip(known, piece.powers, strict=False):
        left = [rest - value * x**power for rest, x in zip(left, piece.points, strict=True)]
    return float(piece.dtype(float(_exchange(piece, left, piece.powers[len(known) :])[0])))


def largest_error(piece: Piece, known: Sequence[float]) -> float:
    """Return the largest weighted error of a polynomial with these coefficients, in exact arithmetic."""
    terms = list(zip(piece.powers, map(mpf, known), strict=True))
    triples = zip(piece.points, piece.values, piece.weights, strict=True)
    return float(max(abs(w * (sum(c * x**k for k, c in terms) - value)) for x, value, w in triples))


def _exchange(piece: Piece, values: Sequence[mpf], powers: Sequence[int]) -> list[mpf]:
    """Return the coefficients for which the largest weighted error from `values` is least."""
    points = piece.points
    # without x^0 the polynomial is x^k times one whose errors alternate: below zero, odd k turns the sign
    weights = [
        w if x > 0 else w * (-1) ** powers[0] for x, w in zip(points, piece.weights, strict=True)
    ]
    count, last = len(powers) + 1, len(points) - 1
    chosen = [round(k * last / (count - 1)) for k in range(count)]
    terms = [[points[index] ** power for power in powers] for index in range(last + 1)]
    for _ in range(30):
        system = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for row, index in enumerate(chosen):
            for column, term in enumerate(terms[index]):
                system[row, column] = term
            system[row, count - 1] = (-1) ** row / weights[index]
            right[row] = values[index]
        solved = list(mp.lu_solve(system, right))
        solution = solved[:-1]
        errors = [
            weights[index] * (values[index] - mp.fdot(solution, terms[index]))
            for index in range(last + 1)
        ]
        highest = max(map(abs, errors))
        if highest <= abs(solved[-1]) * mpf("1.001"):
            break
        chosen = _alternation(errors, count)
    return solution


def _alternation(errors: Sequence[mpf], count: int) -> list[int]:
    """Return `count` places of extreme errors with alternating signs, the largest one among them."""
    extremes: list[int] = []
    for index, error in enumerate(errors):
        if extremes and (errors[extremes[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[extremes[-1]]):
                extremes[-1] = index
        elif error:
            extremes.append(index)
    while len(extremes) > count:
        if len(extremes) == count + 1:
            # an end can go alone, an inner one only with its neighbour
            extremes.pop(0 if abs(errors[extremes[0]]) < abs(errors[extremes[-1]]) else -1)
            continue
        weakest = min(range(len(extremes)), key=lambda index: abs(errors[extremes[index]]))
        if weakest in (0, len(extremes) - 1):
            extremes.pop(weakest)
        else:
            neighbour = min(
                (weakest - 1, weakest + 1), key=lambda index: abs(errors[extremes[index]])
            )
            for index in sorted((weakest, neighbour), reverse=True):
                extremes.pop(index)
    return extremes


@dataclass(frozen=True)
class Constant:
    """A number as a sum of numbers of a dtype; the first ones leave `spare` of their bits zero."""

    name: str
    value: mpf
    dtype: type[np.floating]
    spare: int = 0
    count: int = 2


def summands(constant: Constant) -> list[float]:
    """Return the numbers whose sum is the constant, the largest first."""
    parts: list[float] = []
    left = constant.value
    digits = np.finfo(constant.dtype).nmant + 1 - constant.spare
    for _ in range(constant.count - 1):
        place = mpf(2) ** (mp.floor(mp.log(abs(left), 2)) + 1 - digits)
        parts.append(float(mp.nint(left / place) * place))
        left -= parts[-1]
    return [*parts, float(constant.dtype(float(left)))]


def show(pieces: Sequence[Piece], constants: Sequence[Constant] = ()) -> None:
    """Print each piece as the tuple that the formulas use: the highest power first; and the constants."""
    for constant in constants:
        sys.stdout.write(f"{constant.name} = {tuple(summands(constant))}\n")
    for piece in pieces:
        solved = coefficients(piece)
        last = piece.powers[-1]
        sys.stdout.write(f"# up to x^{last}, error {largest_error(piece, solved):.2e}\n")
        lines = "".join(f"    {value!r},\n" for value in reversed(solved))
        sys.stdout.write(f"{piece.name} = (\n{lines})\n")
