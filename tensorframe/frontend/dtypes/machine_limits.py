"""Machine limits: the range and the precision of a dtype."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tensorframe import dtypes
from tensorframe.dtypes import FLOATING, INTEGER, DType, DTypeLike
from tensorframe.errors import DTypeError
from tensorframe.frontend.dtypes.data_types import dtype_of

__all__ = ["finfo", "iinfo"]


@dataclass(frozen=True)
class FloatLimits:
    """What `finfo` tells: limits of a real floating dtype, as Python numbers."""

    bits: int
    eps: float  # from 1.0 to the next number
    max: float
    min: float
    smallest_normal: float
    smallest_subnormal: float
    dtype: DType

    @property
    def tiny(self) -> float:
        """NumPy's other name of `smallest_normal`."""
        return self.smallest_normal


@dataclass(frozen=True)
class IntegerLimits:
    """What `iinfo` tells: limits of an integer dtype, as Python integers."""

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: DTypeLike, /) -> FloatLimits:
    """Return the limits of a floating dtype or of a tensor's; of complex dtypes those of one part.

    >>> tfr.finfo(tfr.bfloat16).eps
    0.0078125
    """
    described = dtype_of(type)
    if described not in FLOATING:
        raise DTypeError(
            f"finfo: {described} is not floating", suggestions=("iinfo, for integers",)
        )
    return _floating_limits(dtypes.real_of(described))


@cache
def _floating_limits(real: DType) -> FloatLimits:
    how = dtypes.FORMAT[real]
    return FloatLimits(
        bits=8 * real.itemsize,
        eps=how.epsilon,
        max=how.largest,
        min=-how.largest,
        smallest_normal=how.normal,
        smallest_subnormal=how.step,
        dtype=real,
    )


def iinfo(type: DTypeLike, /) -> IntegerLimits:
    """Return the limits of an integer dtype or of a tensor's.

    Smallest and largest integer and the number of bits, as Python integers; floats have `finfo`.

    >>> tfr.iinfo(tfr.int8).max
    127
    """
    described = dtype_of(type)
    if described not in INTEGER:
        raise DTypeError(f"iinfo: {described} is not an integer dtype", suggestions=("finfo",))
    low, high = dtypes.LIMITS[described]
    return IntegerLimits(8 * described.itemsize, high, low, described)
