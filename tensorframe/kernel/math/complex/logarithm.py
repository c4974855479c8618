"""Complex logarithms: the logarithm of the magnitude, and the angle.

log |x + iy| is that of the longer side and half of log1p of the squared ratio of the sides. It needs no scaling, and
where the two cancel, the angle is so much larger that nothing is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorframe.kernel.math.complex.exponential import Pair
from tensorframe.ops import term as real
from tensorframe.ops.term import Term, atan2, equal, isinf, logical_or, maximum, where

# up to this size, log1p of |1 + z|^2 - 1 is more accurate than the logarithm of 1 + z
SMALL = 0.375


def log(x: Term, y: Term) -> Pair:
    """Natural logarithm. Largest error: 1.5 ULP."""
    return _log(x, y, real.log, 1.0)


def log2(x: Term, y: Term) -> Pair:
    """Logarithm to base 2. Largest error: 2.0 ULP."""
    return _log(x, y, real.log2, math.log2(math.e))


def log10(x: Term, y: Term) -> Pair:
    """Logarithm to base 10. Largest error: 2.4 ULP."""
    return _log(x, y, real.log10, math.log10(math.e))


def _log(x: Term, y: Term, logarithm: Callable[[Term], Term], unit: float) -> Pair:
    """Return the logarithm to a base whose real one is `logarithm`, and that of e is `unit`."""
    long, ratio = _sides(x, y)
    size = logarithm(long) + real.log1p(ratio * ratio) * (0.5 * unit)
    angle = atan2(y, x)
    return _unbounded(size, x, y), angle if unit == 1 else angle * unit


def log1p(x: Term, y: Term) -> Pair:
    """Return log(1 + z), accurate near zero. Largest error: 3.6 ULP."""
    total = 1 + x
    long, ratio = _sides(total, y)
    small = maximum(abs(x), abs(y)) < SMALL
    square = where(small, x * (2 + x) + y * y, ratio * ratio)
    size = where(small, 0.0, real.log(long)) + real.log1p(square) * 0.5
    return _unbounded(size, x, y), atan2(y, total)


def _sides(x: Term, y: Term) -> tuple[Term, Term]:
    """Return the longer side, and the shorter one as a part of it, written like that of atan2, which has it too."""
    steep = abs(y) > abs(x)
    short, long = where(steep, abs(x), abs(y)), where(steep, abs(y), abs(x))
    return long, where(equal(short, 0.0), 0.0, short / long)


def _unbounded(size: Term, x: Term, y: Term) -> Term:
    """Return `size`, infinite where one of two parts is, even beside NaN."""
    return where(logical_or(isinf(x), isinf(y)), math.inf, size)
