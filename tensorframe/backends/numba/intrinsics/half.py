"""float16 and bfloat16, which exist in memory only: in kernels their values are float32.

No conversion calls a function of the compiler's run-time library, which this process need not have.
"""

from __future__ import annotations

from functools import cache

from tensorframe.backends.numba.intrinsics.define import FLOAT, HALF, SHORT, WORD, Value
from tensorframe.backends.numba.target import processor


@cache
def converts_half() -> bool:
    """Return whether the processor converts float16 itself: all but old x86 do."""
    triple, _, features = processor()
    return not triple.startswith("x86") or "+f16c" in features.split(",")


def float32_from_float16(builder: Value, short: Value) -> Value:
    """Exact."""
    if converts_half():
        return builder.fpext(builder.bitcast(short, HALF), FLOAT)
    return float32_from_float16_bits(builder, short)


def float16_from_float32(builder: Value, value: Value) -> Value:
    """Rounded to the nearest, halves to even."""
    if converts_half():
        return builder.bitcast(builder.fptrunc(value, HALF), SHORT)
    return float16_bits_from_float32(builder, value)


def float32_from_float16_bits(builder: Value, short: Value) -> Value:
    """The exponent and fraction moved up, and a product that makes the exponent right, of subnormal numbers too."""
    bits = builder.zext(short, WORD)
    sign = builder.shl(builder.and_(bits, WORD(0x8000)), WORD(16))
    magnitude = builder.shl(builder.and_(bits, WORD(0x7FFF)), WORD(13))
    scaled = builder.bitcast(builder.fmul(builder.bitcast(magnitude, FLOAT), FLOAT(2.0**112)), WORD)
    special = builder.icmp_unsigned(">=", magnitude, WORD(0x7C00 << 13))
    infinite_or_nan = builder.or_(magnitude, WORD(0x7F800000))
    return builder.bitcast(
        builder.or_(sign, builder.select(special, infinite_or_nan, scaled)), FLOAT
    )


def float16_bits_from_float32(builder: Value, value: Value) -> Value:
    """By integer arithmetic; small numbers by adding one whose last place is float16's smallest step."""
    bits = builder.bitcast(value, WORD)
    sign = builder.lshr(builder.and_(bits, WORD(0x80000000)), WORD(16))
    magnitude = builder.and_(bits, WORD(0x7FFFFFFF))
    odd = builder.and_(builder.lshr(magnitude, WORD(13)), WORD(1))
    rebased = builder.sub(magnitude, WORD((127 - 15) << 23))
    normal = builder.lshr(builder.add(builder.add(rebased, WORD(0xFFF)), odd), WORD(13))
    step = FLOAT(0.5)  # the last place of numbers in [0.5, 1) is 2^-24
    shifted = builder.bitcast(builder.fadd(builder.bitcast(magnitude, FLOAT), step), WORD)
    subnormal = builder.sub(shifted, WORD(0x3F000000))
    too_large = builder.icmp_unsigned(">=", magnitude, WORD((127 + 16) << 23))
    too_small = builder.icmp_unsigned("<", magnitude, WORD((127 - 14) << 23))
    is_nan = builder.icmp_unsigned(">", magnitude, WORD(0x7F800000))
    finite = builder.select(too_small, subnormal, normal)
    # a NaN keeps the upper part of its fraction and becomes quiet
    fraction = builder.and_(builder.lshr(magnitude, WORD(13)), WORD(0x3FF))
    special = builder.select(is_nan, builder.or_(fraction, WORD(0x7E00)), WORD(0x7C00))
    found = builder.select(too_large, special, finite)
    return builder.trunc(builder.or_(sign, found), SHORT)


def float32_from_bfloat16(builder: Value, short: Value) -> Value:
    """Exact: bfloat16 is the upper half of float32."""
    return builder.bitcast(builder.shl(builder.zext(short, WORD), WORD(16)), FLOAT)


def bfloat16_from_float32(builder: Value, value: Value) -> Value:
    """Rounded to the nearest, halves to even; a NaN keeps the upper part of its fraction and becomes quiet."""
    bits = builder.bitcast(value, WORD)
    upper = builder.lshr(bits, WORD(16))
    half = builder.add(WORD(0x7FFF), builder.and_(upper, WORD(1)))
    rounded = builder.lshr(builder.add(bits, half), WORD(16))
    is_nan = builder.fcmp_unordered("uno", value, value)
    kept = builder.select(is_nan, builder.or_(upper, WORD(0x40)), rounded)
    return builder.trunc(kept, SHORT)
