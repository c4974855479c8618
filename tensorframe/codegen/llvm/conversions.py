"""From one type to another: by value, as NumPy casts, and by bits.

Half precision exists in memory only: its values are float32 that have been rounded. No conversion calls a function of
the compiler's run-time library, which this process need not have.
"""

from __future__ import annotations

from tensorframe.codegen.llvm.arithmetic import select
from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.types import VALUE, real
from tensorframe.dtypes import (
    FLOAT,
    HALF,
    SIGNED,
    DType,
    bool_,
    float16,
    float32,
    float64,
    int32,
    uint64,
)


def converted(b: Builder, x: str, source: DType, result: DType) -> str:
    """Return a value as another dtype; what a float beyond an integer's range becomes is some number."""
    if result in HALF:
        return _rounded(b, converted(b, x, source, float32), result)
    if VALUE[source] == VALUE[result] and result != bool_:
        return x
    if result == bool_:
        return _truth(b, x, source)
    before, after = b.type(source), b.type(result)
    if source in FLOAT and result in FLOAT:
        return b.value(f"{'fpext' if result == float64 else 'fptrunc'} {before} {x} to {after}")
    if source in FLOAT:
        return _integer_of_float(b, x, source, result)
    if result in FLOAT:
        return b.value(f"{'sitofp' if source in SIGNED else 'uitofp'} {before} {x} to {after}")
    if source != bool_ and source.itemsize > result.itemsize:
        return b.value(f"trunc {before} {x} to {after}")
    return b.value(f"{'sext' if source in SIGNED else 'zext'} {before} {x} to {after}")


def reinterpreted(b: Builder, x: str, source: DType, result: DType) -> str:
    """Return the bits of a value as another dtype of the same size."""
    if VALUE[source] == VALUE[result]:
        return x
    return b.value(f"bitcast {b.type(source)} {x} to {b.type(result)}")


def _truth(b: Builder, x: str, source: DType) -> str:
    if source == bool_:
        return x
    zero = b.constant(VALUE[source], real(0.0) if source in FLOAT else 0)
    unequal = "fcmp une" if source in FLOAT else "icmp ne"
    return b.value(f"{unequal} {b.type(source)} {x}, {zero}")


# --- from floats to integers ---


def _integer_of_float(b: Builder, x: str, source: DType, result: DType) -> str:
    """Towards zero; beyond the range, some number.

    Narrow and unsigned integers are the low bits of a wider signed one, so that negative numbers wrap: NumPy does so.
    """
    if result == uint64:
        return _uint64_of_float(b, x, source)
    bits = 8 * result.itemsize
    wide = "i32" if bits <= (32 if result in SIGNED else 16) else "i64"
    whole = _towards_zero(b, x, source, wide)
    if wide == VALUE[result]:
        return whole
    return b.value(f"trunc {b.vector(wide)} {whole} to {b.type(result)}")


def _towards_zero(b: Builder, x: str, source: DType, integer: str) -> str:
    # outside the range the result is poison, which would spoil what depends on it; frozen, it is just some number
    kind = b.vector(integer)
    whole = b.value(f"fptosi {b.type(source)} {x} to {kind}")
    return b.value(f"freeze {kind} {whole}")


def _uint64_of_float(b: Builder, x: str, source: DType) -> str:
    kind, long = b.type(source), b.vector("i64")
    half = b.constant(VALUE[source], real(2.0**63))
    large = b.value(f"fcmp oge {kind} {x}, {half}")
    lower = b.value(f"fsub {kind} {x}, {half}")
    below = select(b, source, large, lower, x)
    top = select(b, uint64, large, b.constant("i64", -(1 << 63)), b.constant("i64", 0))
    return b.value(f"xor {long} {_towards_zero(b, below, source, 'i64')}, {top}")


# --- half precision ---


def widened(b: Builder, short: str, dtype: DType) -> str:
    """Return the float32 of an element of half precision: exact."""
    if dtype != float16:
        return _shifted_up(b, short)
    if b.target.converts_half:
        half = b.value(f"bitcast {b.vector('i16')} {short} to {b.vector('half')}")
        return b.value(f"fpext {b.vector('half')} {half} to {b.vector('float')}")
    return _widened_by_bits(b, short)


def narrowed(b: Builder, value: str, dtype: DType) -> str:
    """Return the element of half precision nearest to a float32, halves to even."""
    if dtype != float16:
        return _upper_part(b, value)
    if b.target.converts_half:
        half = b.value(f"fptrunc {b.vector('float')} {value} to {b.vector('half')}")
        return b.value(f"bitcast {b.vector('half')} {half} to {b.vector('i16')}")
    return _narrowed_by_bits(b, value)


def _rounded(b: Builder, value: str, dtype: DType) -> str:
    return widened(b, narrowed(b, value, dtype), dtype)


class _Words:
    """Arithmetic on the bits of float32."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.kind = b.vector("i32")

    def __call__(self, op: str, x: str, y: str | int) -> str:
        y = self.b.constant("i32", y) if isinstance(y, int) else y
        return self.b.value(f"{op} {self.kind} {x}, {y}")

    def of_float(self, x: str) -> str:
        return self.b.value(f"bitcast {self.b.vector('float')} {x} to {self.kind}")

    def as_float(self, x: str) -> str:
        return self.b.value(f"bitcast {self.kind} {x} to {self.b.vector('float')}")

    def of_short(self, x: str) -> str:
        return self.b.value(f"zext {self.b.vector('i16')} {x} to {self.kind}")

    def as_short(self, x: str) -> str:
        return self.b.value(f"trunc {self.kind} {x} to {self.b.vector('i16')}")

    def choice(self, condition: str, x: str, y: str) -> str:
        return select(self.b, int32, condition, x, y)


def _shifted_up(b: Builder, short: str) -> str:
    """bfloat16 is the upper half of float32."""
    w = _Words(b)
    return w.as_float(w("shl", w.of_short(short), 16))


def _upper_part(b: Builder, value: str) -> str:
    """The upper half, rounded; a NaN keeps the upper part of its fraction and becomes quiet."""
    w = _Words(b)
    bits = w.of_float(value)
    upper = w("lshr", bits, 16)
    half = w("add", w("and", upper, 1), 0x7FFF)
    rounded = w("lshr", w("add", bits, half), 16)
    is_nan = b.value(f"fcmp uno {b.vector('float')} {value}, {value}")
    return w.as_short(w.choice(is_nan, w("or", upper, 0x40), rounded))


def _widened_by_bits(b: Builder, short: str) -> str:
    """The exponent and fraction moved up, and a product that makes the exponent right, of subnormal numbers too."""
    w, kind = _Words(b), b.vector("float")
    bits = w.of_short(short)
    sign = w("shl", w("and", bits, 0x8000), 16)
    magnitude = w("shl", w("and", bits, 0x7FFF), 13)
    factor = b.constant("float", real(2.0**112))
    scaled = w.of_float(b.value(f"fmul {kind} {w.as_float(magnitude)}, {factor}"))
    special = w("icmp uge", magnitude, 0x7C00 << 13)
    infinite_or_nan = w("or", magnitude, 0x7F800000)
    return w.as_float(w("or", sign, w.choice(special, infinite_or_nan, scaled)))


def _narrowed_by_bits(b: Builder, value: str) -> str:
    """By integer arithmetic; small numbers by adding one whose last place is float16's smallest step."""
    w, kind = _Words(b), b.vector("float")
    bits = w.of_float(value)
    sign = w("lshr", w("and", bits, -0x80000000), 16)
    magnitude = w("and", bits, 0x7FFFFFFF)
    odd = w("and", w("lshr", magnitude, 13), 1)
    rebased = w("sub", magnitude, (127 - 15) << 23)
    normal = w("lshr", w("add", w("add", rebased, 0xFFF), odd), 13)
    step = b.constant("float", real(0.5))  # the last place of numbers in [0.5, 1) is 2^-24
    shifted = w.of_float(b.value(f"fadd {kind} {w.as_float(magnitude)}, {step}"))
    subnormal = w("sub", shifted, 0x3F000000)
    too_large = w("icmp uge", magnitude, (127 + 16) << 23)
    too_small = w("icmp ult", magnitude, (127 - 14) << 23)
    is_nan = w("icmp ugt", magnitude, 0x7F800000)
    finite = w.choice(too_small, subnormal, normal)
    # a NaN keeps the upper part of its fraction and becomes quiet
    fraction = w("and", w("lshr", magnitude, 13), 0x3FF)
    special = w.choice(is_nan, w("or", fraction, 0x7E00), b.constant("i32", 0x7C00))
    return w.as_short(w("or", sign, w.choice(too_large, special, finite)))
