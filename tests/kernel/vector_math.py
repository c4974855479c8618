"""What the tests of vector math share: formulas as functions of arrays, points to try, errors in last places."""

from __future__ import annotations

import mpmath
import numpy as np

from tensorframe.kernel.ir import argument
from tensorframe.kernel.ir.interpret import evaluate

SPECIAL = [0.0, 1.0, 0.5, 2.0, 3.0, 8.0, 27.0, 1e-3, 1e5, np.pi, np.inf, np.nan]


def run(formula, *operands):
    """Return what a formula gives for arrays."""
    arguments = [argument(f"x{k}", operand.dtype) for k, operand in enumerate(operands)]
    return evaluate(formula(*arguments), dict(zip(arguments, operands, strict=True)))


def random_bits(dtype, count, seed=0):
    """Return numbers of every exponent, and NaN."""
    rng = np.random.default_rng(seed)
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    found = rng.integers(0, np.iinfo(unsigned).max, count, unsigned, endpoint=True).view(dtype)
    # signalling ones raise warnings wherever they go
    return np.where(np.isnan(found), dtype(np.nan), found)


def special(dtype):
    """Return zeros, ones, infinities, NaN, the ends of the range, of both signs."""
    found = np.finfo(dtype)
    ends = [found.tiny, found.tiny / 4, found.smallest_subnormal, found.max]
    values = np.array([*SPECIAL, *ends], dtype)
    return np.concatenate([values, -values])


def spread(dtype, *ranges, count=100_000, seed=0):
    """Return random numbers of these ranges, random bits and special values."""
    rng = np.random.default_rng(seed)
    parts = [rng.uniform(low, high, count).astype(dtype) for low, high in ranges]
    return np.concatenate([*parts, random_bits(dtype, count, seed), special(dtype)])


def error(actual, exact, rest=0.0):
    """Return the largest distance from exact + rest, in units of the last place of each result.

    NaN, infinities and the signs of zeros count as infinitely far where they differ.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = exact.astype(actual.dtype)
        ordinary = np.isfinite(rounded) & np.isfinite(actual)
        same = ordinary | (rounded == actual) | (np.isnan(rounded) & np.isnan(actual))
        same &= (exact != 0) | (np.signbit(exact) == np.signbit(actual))
        distance = np.abs((actual.astype(exact.dtype) - exact) - rest) / np.spacing(abs(rounded))
    return float(np.max(np.where(same, np.where(ordinary, distance, 0), np.inf)))


def precisely(function, *operands):
    """Return the finite results of a function of mpmath, each as a float64 and what is missing to it."""
    with mpmath.workdps(40):
        found = [
            function(*map(mpmath.mpf, row))
            for row in zip(*map(np.ndarray.tolist, operands), strict=True)
        ]
        first = [float(one) for one in found]
        rest = [float(one - near) for one, near in zip(found, first, strict=True)]
    return np.array(first), np.array(rest)
