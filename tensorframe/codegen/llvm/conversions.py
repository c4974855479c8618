"""From one type to another: by value, as NumPy casts, and by bits.

Narrow dtypes exist in memory only: their values are float32 that have been rounded. No conversion calls a function of
the compiler's run-time library, which this process need not have.
"""

from __future__ import annotations

from tensorframe.codegen.llvm.arithmetic import select
from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.types import ELEMENT, VALUE, real
from tensorframe.dtypes import (
    FLOAT,
    FORMAT,
    NARROW,
    SIGNED,
    DType,
    bool_,
    float16,
    float64,
    int32,
    uint64,
    wide_of,
)
from tensorframe.formats import SINGLE_BIAS, SINGLE_FRACTION


def converted(b: Builder, x: str, source: DType, result: DType) -> str:
    """Return a value as another dtype; what a float beyond an integer's range becomes is some number."""
    if result in NARROW:
        return _rounded(b, converted(b, x, source, wide_of(result)), result)
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


# --- narrow dtypes ---


def rounds_slowly(dtype: DType) -> bool:
    """Whether a dtype is narrow, and no processor rounds to it."""
    return dtype in NARROW and dtype != float16


def widened(b: Builder, short: str, dtype: DType) -> str:
    """Return the float32 of an element of a narrow dtype: exact."""
    w = _Words(b, dtype)
    if w.how.has_exponents_of_single:
        return w.as_float(w("shl", w.of_short(short), w.how.spare))
    if dtype != float16 or not b.target.converts_half:
        return _widened_by_bits(w, short)
    half = b.value(f"bitcast {b.vector('i16')} {short} to {b.vector('half')}")
    return b.value(f"fpext {b.vector('half')} {half} to {b.vector('float')}")


def narrowed(b: Builder, value: str, dtype: DType) -> str:
    """Return the element of a narrow dtype nearest to a float32, halves to even."""
    w = _Words(b, dtype)
    if w.how.has_exponents_of_single:
        return _upper_part(w, value)
    if dtype != float16 or not b.target.converts_half:
        return _narrowed_by_bits(w, value)
    half = b.value(f"fptrunc {b.vector('float')} {value} to {b.vector('half')}")
    return b.value(f"bitcast {b.vector('half')} {half} to {b.vector('i16')}")


def _rounded(b: Builder, value: str, dtype: DType) -> str:
    return widened(b, narrowed(b, value, dtype), dtype)


class _Words:
    """Arithmetic on the bits of float32, and those of a narrow dtype."""

    def __init__(self, b: Builder, dtype: DType) -> None:
        self.b = b
        self.how = FORMAT[dtype]
        self.size = 8 * dtype.itemsize
        self.kind = b.vector("i32")
        self._short = b.vector(ELEMENT[dtype])

    def __call__(self, op: str, x: str, y: str | int) -> str:
        y = self.b.constant("i32", y) if isinstance(y, int) else y
        return self.b.value(f"{op} {self.kind} {x}, {y}")

    def of_float(self, x: str) -> str:
        return self.b.value(f"bitcast {self.b.vector('float')} {x} to {self.kind}")

    def as_float(self, x: str) -> str:
        return self.b.value(f"bitcast {self.kind} {x} to {self.b.vector('float')}")

    def of_short(self, x: str) -> str:
        return self.b.value(f"zext {self._short} {x} to {self.kind}")

    def as_short(self, x: str) -> str:
        return self.b.value(f"trunc {self.kind} {x} to {self._short}")

    def choice(self, condition: str, x: str, y: str) -> str:
        return select(self.b, int32, condition, x, y)


def _upper_part(w: _Words, value: str) -> str:
    """The upper part, rounded; a NaN keeps the upper part of its fraction and becomes quiet."""
    how, bits = w.how, w.of_float(value)
    upper = w("lshr", bits, how.spare)
    half = w("add", w("and", upper, 1), how.half_spare)
    rounded = w("lshr", w("add", bits, half), how.spare)
    is_nan = w.b.value(f"fcmp uno {w.b.vector('float')} {value}, {value}")
    return w.as_short(w.choice(is_nan, w("or", upper, how.quiet ^ how.infinity), rounded))


def _widened_by_bits(w: _Words, short: str) -> str:
    """The exponent and fraction moved up, and a product that makes the exponent right, of subnormal numbers too."""
    b, how, kind = w.b, w.how, w.b.vector("float")
    bits, highest = w.of_short(short), 1 << (w.size - 1)
    sign = w("shl", w("and", bits, highest), 32 - w.size)
    magnitude = w("shl", w("and", bits, highest - 1), how.spare)
    factor = b.constant("float", real(2.0**how.rebias))
    scaled = w.of_float(b.value(f"fmul {kind} {w.as_float(magnitude)}, {factor}"))
    special = w("icmp uge", magnitude, how.infinity << how.spare)
    infinite_or_nan = w("or", magnitude, 0x7F800000)
    return w.as_float(w("or", sign, w.choice(special, infinite_or_nan, scaled)))


def _narrowed_by_bits(w: _Words, value: str) -> str:
    """By integer arithmetic; small numbers by adding one whose last place is the smallest step of the dtype."""
    b, how, kind = w.b, w.how, w.b.vector("float")
    bits = w.of_float(value)
    sign = w("lshr", w("and", bits, -0x80000000), 32 - w.size)
    magnitude = w("and", bits, 0x7FFFFFFF)
    odd = w("and", w("lshr", magnitude, how.spare), 1)
    rebased = w("sub", magnitude, how.rebias << SINGLE_FRACTION)
    normal = w("lshr", w("add", w("add", rebased, how.half_spare), odd), how.spare)
    exponent = 1 - how.bias - how.fraction + SINGLE_FRACTION
    step = b.constant("float", real(2.0**exponent))
    shifted = w.of_float(b.value(f"fadd {kind} {w.as_float(magnitude)}, {step}"))
    subnormal = w("sub", shifted, (SINGLE_BIAS + exponent) << SINGLE_FRACTION)
    too_large = w("icmp uge", magnitude, how.overflow_bits)
    too_small = w("icmp ult", magnitude, (how.rebias + 1) << SINGLE_FRACTION)
    is_nan = w("icmp ugt", magnitude, 0x7F800000)
    finite = w.choice(too_small, subnormal, normal)
    # a NaN keeps the upper part of its fraction and becomes quiet
    fraction = w("and", w("lshr", magnitude, how.spare), (1 << how.fraction) - 1)
    special = w.choice(is_nan, w("or", fraction, how.quiet), b.constant("i32", how.infinity))
    return w.as_short(w("or", sign, w.choice(too_large, special, finite)))
