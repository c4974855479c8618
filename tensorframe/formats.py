"""Formats: how each dtype is stored, computed and converted, a record for each; the other modules ask these."""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

from tensorframe.quick_tuples import NamedTuple

# the format that values of fewer bits are computed in: its exponent, its fraction, their bits, and its bias
SINGLE_EXPONENT, SINGLE_FRACTION, SINGLE_BIAS = 8, 23, 127


class Format(NamedTuple):
    """One dtype. Of floating ones, the sign is the highest bit, the exponent follows, then the fraction."""

    name: str
    kind: str  # bool, signed, unsigned, float, complex
    file: str = ""  # what it is called in safetensors files
    arrow: str = ""  # and in Arrow's C data interface, where bools are bits
    exponent: int = 0  # bits
    fraction: int = 0
    # Without infinities the largest exponent has numbers too, but for all ones, which is NaN.
    infinite: bool = True
    wide: str = ""  # the dtype that values are computed in, where it is another one, and rounded after every op
    part: str = ""  # the dtype of a complex number's parts
    dlpack: int = 0  # the code of DLPack, where NumPy does not know the dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of arrays: NumPy's own, or one that ml_dtypes adds."""
        return np.dtype(getattr(ml_dtypes, self.name, self.name))

    @property
    def bias(self) -> int:
        """What is added to exponents to store them."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def epsilon(self) -> float:
        """The distance from one to the next number."""
        return 2.0**-self.fraction

    @property
    def normal(self) -> float:
        """The smallest number that has all digits."""
        return 2.0 ** (1 - self.bias)

    @property
    def step(self) -> float:
        """The smallest number, and the distance of neighbours below `normal`."""
        return 2.0 ** (1 - self.bias - self.fraction)

    @property
    def top(self) -> int:
        """The exponent of the largest numbers."""
        return (1 << self.exponent) - 1 - self.bias - self.infinite

    @property
    def largest(self) -> float:
        """The largest number."""
        below = 1 if self.infinite else 2  # all ones are a number there, or NaN
        return (2.0 - below * self.epsilon) * 2.0**self.top

    # --- beside float32, which it is made of and computed in

    @property
    def spare(self) -> int:
        """How many bits of float32's fraction it lacks."""
        return SINGLE_FRACTION - self.fraction

    @property
    def half_spare(self) -> int:
        """What rounds to the nearest when it is added to the bits of float32: half of those that it lacks, less one."""
        return (1 << (self.spare - 1)) - 1

    @property
    def has_exponents_of_single(self) -> bool:
        """Whether it is the upper part of float32: rounding takes no care of the ends of its range."""
        return self.exponent == SINGLE_EXPONENT

    @property
    def rebias(self) -> int:
        """What the exponents of float32 are larger by, as they are stored."""
        return SINGLE_BIAS - self.bias

    @property
    def overflow(self) -> float:
        """The smallest float32 that rounds to more than the largest number."""
        middle = np.float32(self.largest + 2.0 ** (self.top - self.fraction - 1))
        # the middle itself rounds to the neighbour whose last bit is zero
        return float(middle if self.infinite else np.nextafter(middle, np.float32(np.inf)))

    @property
    def overflow_bits(self) -> int:
        """The bits of `overflow`."""
        return int(np.float32(self.overflow).view(np.uint32))

    @property
    def infinity(self) -> int:
        """The bits of infinity, or of the only NaN where there is none."""
        ones = ((1 << self.exponent) - 1) << self.fraction
        return ones if self.infinite else ones | ((1 << self.fraction) - 1)

    @property
    def quiet(self) -> int:
        """The bits of NaN."""
        return self.infinity | 1 << (self.fraction - 1)


FORMATS: Final = (
    Format("bool", "bool", "BOOL", "b"),
    Format("uint8", "unsigned", "U8", "C"),
    Format("uint16", "unsigned", "U16", "S"),
    Format("uint32", "unsigned", "U32", "I"),
    Format("uint64", "unsigned", "U64", "L"),
    Format("int8", "signed", "I8", "c"),
    Format("int16", "signed", "I16", "s"),
    Format("int32", "signed", "I32", "i"),
    Format("int64", "signed", "I64", "l"),
    Format("float16", "float", "F16", "e", exponent=5, fraction=10, wide="float32"),
    Format("bfloat16", "float", "BF16", exponent=8, fraction=7, wide="float32", dlpack=4),
    Format("float32", "float", "F32", "f", exponent=8, fraction=23),
    Format("float64", "float", "F64", "g", exponent=11, fraction=52),
    Format("complex64", "complex", "C64", part="float32"),
    Format("complex128", "complex", part="float64"),
)
