"""Derives the tables of tensorframe/ops/special_tables.py: the program prints them.

Each is a polynomial in t, which goes from -1 to 1 over its interval, through the values at Chebyshev's nodes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import mpmath as mp
from mpmath import mpf

mp.mp.dps = 40
ROOT = mp.findroot(lambda x: mp.psi(0, x), 1.4616)


class Piece(NamedTuple):
    """A function on an interval, and the degree of the polynomial that takes its place."""

    name: str
    function: Callable[[mpf], mpf]
    low: float
    high: float
    degree: int
    meaning: str


def _is_zero(x: mpf) -> bool:
    return abs(x) < mpf("1e-30")


def near_two(z: mpf) -> mpf:
    """Return log(gamma(2 + z)) / z."""
    return 1 - mp.euler if _is_zero(z) else mp.loggamma(2 + z) / z


def above_two(x: mpf) -> mpf:
    """Return log(gamma(x)) / (x - 2)."""
    return mp.loggamma(x) / (x - 2)


def between_zeros(x: mpf) -> mpf:
    """Return log(gamma(x)) / ((x - 1) (x - 2))."""
    return mp.loggamma(x) / ((x - 1) * (x - 2))


def stirling(v: mpf) -> mpf:
    """Return what Stirling's series leaves of log(gamma(x)), times x, by 1 / x^2."""
    if _is_zero(v):
        return mpf(1) / 12
    x = 1 / mp.sqrt(v)
    half = mpf(1) / 2
    return (mp.loggamma(x) - (x - half) * (mp.log(x) - 1) - (mp.log(2 * mp.pi) - 1) / 2) * x


def digamma_far(v: mpf) -> mpf:
    """Return (log(x) - 1 / (2 x) - digamma(x)) x^2 by 1 / x^2."""
    if _is_zero(v):
        return mpf(1) / 12
    x = 1 / mp.sqrt(v)
    return (mp.log(x) - 1 / (2 * x) - mp.psi(0, x)) * x * x


def digamma_near(x: mpf) -> mpf:
    """Return digamma(x) / (x - its root)."""
    return mp.psi(1, ROOT) if _is_zero(x - ROOT) else mp.psi(0, x) / (x - ROOT)


def trigamma_far(v: mpf) -> mpf:
    """Return (trigamma(x) - 1 / x - 1 / (2 x^2)) x^3 by 1 / x^2."""
    if _is_zero(v):
        return mpf(1) / 6
    x = 1 / mp.sqrt(v)
    return (mp.psi(1, x) - 1 / x - 1 / (2 * x * x)) * x**3


def _inverse(w: mpf) -> tuple[mpf, mpf]:
    """Return erfinv(x) and x where w = -log(1 - x^2)."""
    complement = -mp.expm1(mp.log1p(-mp.exp(-w)) / 2)
    begin = mp.sqrt(max(w - mp.log(w * 4 + 4) / 2, mpf("0.01")))
    y = mp.findroot(
        lambda y: mp.log(mp.erfc(y)) - mp.log(complement),
        (begin, mp.sqrt(w) * mpf("0.9") + mpf("0.01")),
        solver="secant",
        tol=1e-60,
        maxsteps=100,
        verify=False,
    )
    return y, 1 - complement


def inverse_near(w: mpf) -> mpf:
    """Return erfinv(x) / x by -log(1 - x^2)."""
    if _is_zero(w):
        return mp.sqrt(mp.pi) / 2
    y, x = _inverse(w)
    return y / x


def inverse_far(q: mpf) -> mpf:
    """Return q erfinv(x) / x by q = 1 / sqrt(-log(1 - x^2))."""
    y, x = _inverse(1 / (q * q))
    return y / x * q


def bessel(order: int) -> Callable[[mpf], mpf]:
    """Return sqrt(x) exp(-x) I(x) of an order by 8 / x."""

    def scaled(u: mpf) -> mpf:
        if _is_zero(u):
            return 1 / mp.sqrt(2 * mp.pi)
        x = 8 / u
        return mp.besseli(order, x) * mp.exp(-x) * mp.sqrt(x)

    return scaled


def riemann(x: mpf) -> mpf:
    """Return (x - 1) zeta(x)."""
    return mpf(1) if _is_zero(x - 1) else (x - 1) * mp.zeta(x)


PIECES = (
    Piece("GAMMA", lambda z: mp.gamma(2 + z), -0.5, 0.5, 21, "gamma(2 + z)"),
    Piece("NEAR_TWO", near_two, -0.5, 0.5, 20, "log(gamma(2 + z)) / z"),
    Piece("BETWEEN", between_zeros, 1.1875, 1.75, 17, "log(gamma(x)) / ((x - 1) (x - 2))"),
    Piece("ABOVE_TWO", above_two, 2.5, 4.5, 18, "log(gamma(x)) / (x - 2)"),
    Piece("BELOW_EIGHT", above_two, 4.5, 8.0, 18, "the same"),
    Piece(
        "STIRLING", stirling, 0.0, 1 / 64, 7, "what Stirling's series leaves, times x, by 1 / x^2"
    ),
    Piece(
        "DIGAMMA_FAR",
        digamma_far,
        0.0,
        0.25,
        20,
        "(log(x) - 1 / (2 x) - digamma(x)) x^2 by 1 / x^2",
    ),
    Piece("DIGAMMA_NEAR", digamma_near, 1.0, 2.0, 22, "digamma(x) / (x - its root)"),
    Piece(
        "TRIGAMMA_FAR",
        trigamma_far,
        0.0,
        1 / 64,
        8,
        "(trigamma(x) - 1 / x - 1 / (2 x^2)) x^3 by 1 / x^2",
    ),
    Piece("INVERSE_NEAR", inverse_near, 0.0, 6.25, 23, "erfinv(x) / x by w = -log(1 - x^2)"),
    Piece("INVERSE_FAR", inverse_far, 0.25, 0.4, 19, "q erfinv(x) / x by q = 1 / sqrt(w)"),
    Piece("INVERSE_FARTHER", inverse_far, 0.16, 0.25, 17, "the same"),
    Piece("INVERSE_FARTHEST", inverse_far, 1 / 28, 0.16, 23, "the same"),
    Piece("BESSEL_0", bessel(0), 0.0, 1.0, 23, "sqrt(x) exp(-x) I0(x) by 8 / x"),
    Piece("BESSEL_1", bessel(1), 0.0, 1.0, 23, "sqrt(x) exp(-x) I1(x) by 8 / x"),
    Piece("RIEMANN", riemann, -1.0, 1.0, 14, "(x - 1) zeta(x)"),
)


def coefficients(piece: Piece) -> list[float]:
    """Return the coefficients, that of the highest power first."""
    count = piece.degree + 1
    middle, half = (mpf(piece.low) + piece.high) / 2, (mpf(piece.high) - piece.low) / 2
    angles = [mp.pi * (k + mpf(1) / 2) / count for k in range(count)]
    values = [piece.function(middle + half * mp.cos(angle)) for angle in angles]
    powers = [mpf(0)] * count
    chebyshev: list[list[mpf]] = []
    for order in range(count):
        chebyshev.append(_next(chebyshev, order))
        total = mp.fsum([v * mp.cos(order * a) for v, a in zip(values, angles, strict=True)])
        weight = (total if order == 0 else 2 * total) / count
        for power, factor in enumerate(chebyshev[order]):
            powers[power] += weight * factor
    return [float(power) for power in reversed(powers)]


def _next(known: list[list[mpf]], order: int) -> list[mpf]:
    """Return a Chebyshev polynomial's coefficients, that of the lowest power first."""
    if order < 2:
        return [mpf(0)] * order + [mpf(1)]
    doubled = [mpf(0), *[2 * factor for factor in known[-1]]]
    before = known[-2] + [mpf(0)] * 2
    return [twice - other for twice, other in zip(doubled, before, strict=True)]


def largest_error(piece: Piece, known: list[float]) -> float:
    """Return the largest relative error on a grid, in exact arithmetic."""
    worst = mpf(0)
    middle, half = (mpf(piece.low) + piece.high) / 2, (mpf(piece.high) - piece.low) / 2
    for place in range(61):
        t = mpf(2 * place) / 60 - 1
        value = mpf(0)
        for factor in known:
            value = value * t + factor
        worst = max(worst, abs(value / piece.function(middle + half * t) - 1))
    return float(worst)


def reciprocal_gamma(count: int) -> list[tuple[float, float]]:
    """Return Taylor's coefficients of 1 / gamma(2 + z), each as two floats, that of the highest power first."""
    with mp.workdps(80):
        known = mp.taylor(lambda z: mp.rgamma(2 + z), 0, count)
    return [(float(factor), float(factor - mpf(float(factor)))) for factor in reversed(known)]


def balance(power: int, count: int) -> list[tuple[float, float]]:
    """Return coefficients of (zeta(s, 1/2 - t) - zeta(s, 1/2 + t)) / t by t^2, as two floats, the highest first."""
    with mp.workdps(80):
        known = []
        for m in range(count - 1, -1, -1):
            order = power + 2 * m + 1
            known.append(2 * mp.binomial(order - 1, 2 * m + 1) * mp.zeta(order, mpf(1) / 2))
        return [(float(factor), float(factor - mpf(float(factor)))) for factor in known]


def gauss(count: int) -> list[tuple[float, float]]:
    """Return the nodes and weights of the Gauss-Legendre rule on the interval from 0 to 1."""
    pairs = []
    for index in range(count):
        guess = mp.cos(mp.pi * (index + mpf(3) / 4) / (count + mpf(1) / 2))
        x = mp.findroot(lambda t: mp.legendre(count, t), guess)
        slope = count * (x * mp.legendre(count, x) - mp.legendre(count - 1, x)) / (x * x - 1)
        pairs.append((float((1 + x) / 2), float(1 / ((1 - x * x) * slope * slope))))
    return sorted(pairs)


def main() -> None:
    """Print the module."""
    title = "Polynomials of special functions, by docs/derive/special.py: in t from -1 to 1, the highest power first."
    lines = [f'"""{title}"""', "", "# the root of digamma, and what is left of it"]
    lines.append(f"ROOT = ({float(ROOT)!r}, {float(ROOT - mpf(float(ROOT)))!r})")
    for piece in PIECES:
        solved = coefficients(piece)
        error = largest_error(piece, solved)
        interval = f"from {piece.low:g} to {piece.high:g}; off by {error:.1e} at most"
        numbers = ", ".join(map(repr, solved))
        lines += ["", f"# {piece.meaning}, {interval}"]
        lines.append(f"{piece.name} = (({piece.low!r}, {piece.high!r}), ({numbers}))")
    rule = "nodes and weights of the Gauss-Legendre rule of 32 points, from 0 to 1 (DLMF 3.5.5)"
    lines += ["", f"# {rule}", "GAUSS = (", *[f"    {pair!r}," for pair in gauss(32)], ")"]
    meaning = "Taylor's coefficients of 1 / gamma(2 + z), each as two numbers"
    lines += ["", f"# {meaning}", "RECIPROCAL_GAMMA = ("]
    lines += [*[f"    {pair!r}," for pair in reciprocal_gamma(33)], ")"]
    meaning = "Taylor's coefficients of (zeta(s, 1/2 - t) - zeta(s, 1/2 + t)) / t by t^2, for s = 3, 5, ... 33"
    lines += ["", f"# {meaning}", "BALANCE = ("]
    lines += [*[f"    {tuple(balance(power, 11))!r}," for power in range(3, 34, 2)], ")"]
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
