"""Makes special_reference.npz: operands and exact values of the incomplete functions, by ball arithmetic.

`pip install python-flint`, then `python tests/frontend/make_special_reference.py`. Values come from Arb's
hypergeometric functions; for large shapes, where these take minutes, from the integrals that define the functions,
by two Gauss-Legendre rules of 80 points with 260 bits. A test compares some of them with mpmath.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, ctx

COUNT = 30
BITS = 260
FILE = Path(__file__).with_name("special_reference.npz")
Operands = tuple[Any, ...]
generator = np.random.default_rng(19)


def plain(low: float, high: float) -> Any:
    """Return numbers from an interval, which are float32 as well."""
    return np.float64(np.float32(generator.uniform(low, high, COUNT)))


def spread(low: float, high: float) -> Any:
    """Return numbers of all magnitudes between two."""
    return np.exp(generator.uniform(np.log(low), np.log(high), COUNT))


def normal(scale: float = 1.0) -> Any:
    """Return normally distributed numbers."""
    return generator.normal(0, scale, COUNT)


def beside(a: Any, b: Any) -> Any:
    """Return arguments within some standard deviations of the mean of a beta distribution."""
    mean = a / (a + b)
    moved = mean + normal(4) * np.sqrt(mean * (1 - mean) / (a + b))
    return np.clip(moved, 1e-300, 1 - 2.0**-53)


def gamma_regions() -> dict[str, Operands]:
    """Return the shapes and arguments that `gammainc` and `gammaincc` are compared for."""
    middle, large, huge = spread(1e-2, 1e3), spread(100, 1e6), spread(1e6, 1e30)
    return {
        "middle": (middle, middle * np.exp(normal(2) * (1 / np.sqrt(middle) + 0.05))),
        "both below 1": (plain(0, 1), plain(0, 1)),
        "both tiny": (spread(1e-12, 1), spread(1e-12, 1)),
        "argument tiny": (plain(0, 1), spread(1e-250, 1)),
        "argument above 1": (spread(1e-8, 1), spread(1, 600)),
        "shape below 8": (plain(1, 8), plain(0, 600)),
        "both below 12": (plain(1, 8), plain(0, 12)),
        "shape below 100": (plain(7.5, 100), plain(0, 250)),
        "large": (large, abs(large + normal(4) * np.sqrt(large))),
        "huge": (huge, abs(huge + normal(4) * np.sqrt(huge))),
        "tails": (middle + 99, abs((middle + 99) * np.exp(normal(15) / np.sqrt(middle + 99)))),
    }


def beta_regions() -> dict[str, Operands]:
    """Return the shapes and arguments that `betainc` is compared for."""
    a, b, tiny, large = spread(1e-2, 1e3), spread(1e-2, 1e3), spread(1e-10, 1), spread(1, 1e9)
    odds = a / b * np.exp(normal(2) * (1 / np.sqrt(a) + 0.05) + normal(2) / np.sqrt(b))
    below, few, huge = spread(1e-4, 2), spread(0.1, 300), spread(1e6, 1e15)
    near = np.minimum(0.999, np.exp(normal(2)) / (large + below))
    return {
        "middle": (a, b, odds / (1 + odds)),
        "all below 1": (plain(0, 1), plain(0, 1), plain(0, 1)),
        "below 8": (plain(0, 8), plain(0, 8), plain(0, 1)),
        "argument tiny": (plain(0, 5), plain(0, 5), spread(1e-100, 1)),
        "first tiny": (tiny, b, plain(0, 1)),
        "second tiny": (b, tiny, 1 - spread(1e-15, 1)),
        "both tiny": (tiny, spread(1e-10, 1), plain(0, 1)),
        "large beside small": (large, below, 1 - near),
        "small beside large": (below, large, near),
        "below 100": (plain(8, 100), plain(8, 100), plain(0, 1)),
        "large": (large, few, beside(large, few)),
        "large, swapped": (few, large, beside(few, large)),
        "huge": (huge, huge * few, beside(huge, huge * few)),
    }


def ball(function: Callable[[], Any]) -> Any:
    """Return a value with as many bits as it takes."""
    ctx.prec = 200
    while True:
        value = function()
        if value.is_finite() and value.rel_accuracy_bits() > 90:
            return value
        ctx.prec *= 2


ctx.prec = BITS
RULE = [arb.legendre_p_root(80, k, weight=True) for k in range(80)]


def integral(exponent: Callable[[Any], Any]) -> Any:
    """Return the integral of exp(-h) from 0 on, for a convex h that is 0 there."""
    size = 1.0
    while float(exponent(arb(size)).mid()) > 75:
        size /= 2
    while float(exponent(arb(size)).mid()) < 75:
        size *= 1.3
    end, total = arb(size), arb(0)
    for low, high in ((arb(0), end / 3), (end / 3, end)):
        for node, weight in RULE:
            total += (
                weight * (-exponent(low + (high - low) * (node + 1) / 2)).exp() * (high - low) / 2
            )
    return total


def gammas(shape: float, argument: float) -> tuple[Any, Any]:
    """Return P and Q."""
    a, x = arb(shape), arb(argument)
    if shape < 30 and argument < 800:
        return ball(lambda: x.gamma_lower(a, 1)), ball(lambda: x.gamma_upper(a, 1))
    ctx.prec = BITS
    lower = argument < shape
    sign = -1 if lower else 1
    density = (a * x.log() - x - a.lgamma()).exp()
    tail = density * integral(lambda s: x * ((s * sign).exp() - 1) - sign * a * s)
    return (tail, 1 - tail) if lower else (1 - tail, tail)


def beta(first: float, second: float, argument: float) -> Any:
    """Return I."""
    a, b, x = arb(first), arb(second), arb(argument)
    if first + second < 40 or min(first, second) < 1:
        return ball(lambda: x.beta_lower(a, b, 1))
    ctx.prec = BITS

    def tail(a: Any, b: Any, x: Any, y: Any) -> Any:
        density = a * x.log() + b * y.log() - a.lgamma() - b.lgamma() + (a + b).lgamma()
        rest = integral(lambda s: a * s + (a + b) * (y + x * (-s).exp()).log())
        return density.exp() * rest

    if argument * (first + second) <= first:
        return tail(a, b, x, 1 - x)
    return 1 - tail(b, a, 1 - x, x)


def rounded(value: Any) -> tuple[float, float]:
    """Return the nearest float64, and what it lacks in units in the last place."""
    ctx.prec = BITS
    near = float(value.mid())
    return near, float(((value - arb(near)) / arb(float(np.spacing(abs(near))))).mid())


def main() -> None:
    """Write the file."""
    kept: dict[str, Any] = {}
    for region, operands in gamma_regions().items():
        both = [gammas(*map(float, row)) for row in zip(*operands, strict=True)]
        for name, place in (("gammainc", 0), ("gammaincc", 1)):
            values = np.transpose([rounded(pair[place]) for pair in both])
            kept[f"{name}: {region}"] = np.array([*operands, *values])
    for region, operands in beta_regions().items():
        rows = zip(*operands, strict=True)
        values = np.transpose([rounded(beta(*map(float, row))) for row in rows])
        kept[f"betainc: {region}"] = np.array([*operands, *values])
    np.savez_compressed(FILE, **kept)


if __name__ == "__main__":
    main()
