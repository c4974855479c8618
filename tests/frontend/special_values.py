"""Exact values of special functions of one operand, and the arguments at which they are compared."""

from functools import cache

import mpmath as mp
import numpy as np


def erfcinv(x):
    """The inverse of erfc by Newton's method."""
    if x > 1:
        return -erfcinv(2 - mp.mpf(x))
    if x == 1:
        return mp.mpf(0)
    w = -mp.log(x * (2 - mp.mpf(x)))
    y = mp.sqrt(max(w - mp.log(w * 4 + 4) / 2, mp.mpf("1e-6")))
    for _ in range(60):
        y += mp.erfc(y) * mp.log(mp.erfc(y) / x) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return y


# what is exact, and ranges of arguments; those of more than three decades are spread over their exponents
EXACT = {
    "gammaln": (
        lambda x: mp.log(abs(mp.gamma(x))) if x < 9 else mp.loggamma(x),
        [
            (1e-30, 1e-3),
            (0.01, 3),
            (0.99, 1.01),
            (1.99, 2.01),
            (2.4, 9),
            (8, 1e30),
            (-60, 0),
            (-6, -2),
        ],
    ),
    "gamma": (mp.gamma, [(1e-30, 1e-3), (0.001, 9), (8, 34), (-8, 0), (-30, -8)]),
    "digamma": (
        lambda x: mp.psi(0, x),
        [(1e-30, 1e-3), (0.001, 3), (1.46, 1.463), (2, 9), (8, 1e30), (-60, 0), (-1e3, -60)],
    ),
    "trigamma": (lambda x: mp.psi(1, x), [(1e-15, 1e-3), (0.001, 9), (8, 1e15), (-20, 0)]),
    "erfinv": (lambda x: erfcinv(1 - mp.mpf(x)), [(-1, 1), (1e-12, 1e-3), (0.9999, 1)]),
    "erfcinv": (erfcinv, [(1e-35, 1e-3), (0.001, 2), (0.99, 1.01)]),
    "ndtri": (
        lambda x: -mp.sqrt(2) * erfcinv(2 * mp.mpf(x)),
        [(1e-35, 1e-3), (0.001, 1), (0.49, 0.51)],
    ),
    "ndtr": (mp.ncdf, [(-13, -5), (-5, 5), (5, 9)]),
    "i0": (lambda x: mp.besseli(0, x), [(-9, 9), (7.9, 8.1), (8, 85)]),
    "i1": (lambda x: mp.besseli(1, x), [(-9, 9), (8, 85), (1e-30, 1e-3)]),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), [(-9, 9), (8, 1e4)]),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), [(-9, 9), (8, 1e4), (1e-30, 1e-3)]),
    "logit": (lambda p: mp.log(p / (1 - p)), [(1e-30, 1e-3), (0.001, 1), (0.49, 0.51)]),
    "entr": (lambda x: -x * mp.log(x), [(1e-30, 1e-3), (0.001, 3), (3, 1e30)]),
}


@cache
def cases(name, dtype):
    """Arguments, and for each the exact value as the nearest number of the dtype and how far that is off, in ULP."""
    exact, ranges = EXACT[name]
    generator = np.random.default_rng(5)
    found = []
    for low, high in ranges:
        wide = low > 0 and high / low > 1e3
        found.append(
            np.exp(generator.uniform(np.log(low), np.log(high), 25))
            if wide
            else generator.uniform(low, high, 25)
        )
    x = np.concatenate(found).astype(dtype)
    with mp.workdps(50):
        values = [exact(mp.mpf(float(one))).real for one in x]
        nearest = np.array([float(one) for one in values]).astype(dtype)
        spacing = np.spacing(abs(nearest)).astype(np.float64)
        rest = [
            float((one - mp.mpf(float(near))) / mp.mpf(float(step)))
            for one, near, step in zip(values, nearest, spacing, strict=True)
        ]
    return x, nearest, np.array(rest), spacing
