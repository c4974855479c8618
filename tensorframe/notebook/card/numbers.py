"""The numbers of a card: the least, the greatest, and what is not finite, in words."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX

Array = np.ndarray[Any, Any]

CHEAP = 2**21  # elements in memory that are read through to be described: a few milliseconds


@dataclass(frozen=True, slots=True)
class Numbers:
    """What some elements are like; `low`, `high` and `mean` are of finite ones, None where there are none."""

    low: float | None
    high: float | None
    mean: float | None
    unknown: int  # NaN
    infinite: int

    @classmethod
    def of(cls, values: Array) -> Numbers:
        """Return those of real values."""
        finite = np.isfinite(values)
        if finite.all():
            unknown = infinite = 0
        else:
            unknown = int(np.isnan(values).sum())
            infinite = int(values.size - finite.sum()) - unknown
            values = values[finite]
        if not values.size:
            return cls(None, None, None, unknown, infinite)
        low, high = values.min(), values.max()
        with np.errstate(over="ignore"):
            mean = values.mean(dtype=np.float64)
        return cls(float(low), float(high), float(mean), unknown, infinite)

    @property
    def is_plain(self) -> bool:
        """Whether all elements are the same finite number."""
        return self.low == self.high and not self.oddities

    @property
    def oddities(self) -> list[str]:
        """What is not finite, in words."""
        counts = [(self.unknown, "NaN"), (self.infinite, "infinite")]
        return [f"{count:,} {word}" for count, word in counts if count]


def real(values: Array) -> Array:
    """Return values as real numbers that NumPy computes with: of complex ones, their magnitude."""
    if values.dtype in COMPLEX:
        with np.errstate(over="ignore"):
            return np.abs(values)
    return values.astype(np.float64) if values.dtype.kind not in "fiu" else values


def shares(values: Array, low: float, high: float) -> Array:
    """Return where values are from `low`, which is 0, to `high`, which is 1; of a single number, in the middle."""
    values = values.astype(np.float64)
    span = high / 2 - low / 2  # halves, since the whole range may be more than a float holds
    with np.errstate(invalid="ignore"):
        return (values / 2 - low / 2) / span if span else values * 0 + 0.5


def number_text(value: float) -> str:
    """Return a number in four digits, whole ones up to a million in full."""
    if isfinite(value) and value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.4g}"
