"""Parts of formulas: floats taken apart by their bits, powers of two, sums and products with their errors, polynomials.

Nothing here converts a float to an integer: what has no integer (NaN, infinities, too large) gives a number without
meaning, never undefined behaviour, and processors without such a conversion for 64 bits need none.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from tensorframe.dtypes import FORMAT, DType, float32, float64, int32, int64
from tensorframe.kernel.ir import Expr, literal
from tensorframe.kernel.ir.formula import bitcast, fma, horner, where


class Layout:
    """How a floating dtype keeps its numbers in bits; a plain class, since a program that begins waits for this module.

    `bits` is the integer dtype of its size, `fraction` counts the bits of the fraction, and `bias` is that of the
    exponent. `normal` is the smallest normal number. `shifter` leaves a float rounded to an integer, that integer in
    its lowest bits, once it is added.
    """

    __slots__ = ("bias", "bits", "fraction", "normal", "shifter")

    def __init__(self, bits: DType, fraction: int, bias: int) -> None:
        self.bits, self.fraction, self.bias = bits, fraction, bias
        self.normal: float = 2.0 ** (1 - bias)
        self.shifter: float = 1.5 * 2.0**fraction


LAYOUTS = {
    dtype: Layout(bits, FORMAT[dtype].fraction, FORMAT[dtype].bias)
    for dtype, bits in ((float32, int32), (float64, int64))
}


def two_sum(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Return the sum and its rounding error."""
    total = a + b
    from_b = total - a
    return total, (a - (total - from_b)) + (b - from_b)


def fast_two_sum(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Return the sum and its rounding error, where `a` is zero or its exponent is not below that of `b`."""
    total = a + b
    return total, b - (total - a)


def two_product(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Return the product and its rounding error, where that does not underflow."""
    product = a * b
    return product, fma(a, b, -product)


def at_least(x: Expr, low: float) -> Expr:
    """Return x, or `low` if that is larger; NaN stays NaN.

    In this order of operands it is one instruction on x86, where `maximum` is several.
    """
    bound = literal(low, x.dtype)
    return where(bound > x, bound, x)


def at_most(x: Expr, high: float) -> Expr:
    """Return x, or `high` if that is smaller; NaN stays NaN."""
    bound = literal(high, x.dtype)
    return where(bound < x, bound, x)


def clamp(x: Expr, low: float, high: float) -> Expr:
    """Return x, not below `low` nor above `high`; NaN stays NaN."""
    return at_most(at_least(x, low), high)


def nearest(x: Expr, factor: float = 1.0) -> tuple[Expr, Expr]:
    """Return the integer nearest to `x * factor`: as a float, and as an integer whose low bits are those of it.

    For less than 2^22 in magnitude in float32 and 2^51 in float64. The high bits of the integer are noise: mask it, or
    shift it left.
    """
    layout = LAYOUTS[x.dtype]
    shifted = fma(x, factor, layout.shifter)
    return shifted - layout.shifter, bitcast(shifted, layout.bits)


def power_of_two(exponent: Expr) -> Expr:
    """Return 2^exponent for a float that is an integer, where that is a normal number."""
    layout = LAYOUTS[exponent.dtype]
    bits = bitcast(exponent + (layout.shifter + layout.bias), layout.bits)
    return bitcast(bits << layout.fraction, exponent.dtype)


def scale(x: Expr, exponent: Expr) -> Expr:
    """Return x * 2^exponent for a float that is an integer, at most twice the bias of the dtype in magnitude.

    Rounded once where x is neither subnormal nor so large that half of the exponent overflows it.
    """
    layout = LAYOUTS[x.dtype]
    half = fma(exponent, 0.5, layout.shifter) - layout.shifter
    return x * power_of_two(half) * power_of_two(exponent - half)


def split(x: Expr) -> tuple[Expr, Expr]:
    """Return m and e, floats, for which x = m * 2^e and sqrt(1/2) <= m < sqrt(2), of a positive finite x.

    Anything else gives finite numbers without meaning, and m = 0.5 ... 2.
    """
    layout = LAYOUTS[x.dtype]
    tiny = x < layout.normal
    lift = layout.fraction + 1
    moved = _moved(where(tiny, x * 2.0**lift, x))
    fraction = (1 << layout.fraction) - 1
    mantissa = bitcast((moved & fraction) + float_bits(sqrt(0.5), x.dtype), x.dtype)
    exponent = exponent_of(moved, x.dtype)
    return mantissa, where(tiny, exponent - float(lift), exponent)


def normalizer(x: Expr) -> tuple[Expr, Expr]:
    """Return e and 2^-e, floats, for which sqrt(1/2) <= x * 2^-e < sqrt(2), of a normal x below 2^(bias - 1).

    Anything else gives numbers without meaning.
    """
    layout = LAYOUTS[x.dtype]
    moved = _moved(x)
    highest = literal((2 * layout.bias) << layout.fraction, layout.bits)
    power = bitcast(highest - (moved & -(1 << layout.fraction)), x.dtype)
    return exponent_of(moved, x.dtype), power


def _moved(x: Expr) -> Expr:
    """Return the bits of x, moved so that sqrt(1/2) stands where the exponent changes."""
    one, lowest = float_bits(1.0, x.dtype), float_bits(sqrt(0.5), x.dtype)
    return bitcast(x, LAYOUTS[x.dtype].bits) + (one - lowest)


def exponent_of(bits: Expr, dtype: DType) -> Expr:
    """Return the exponent of the positive number of a dtype with these bits, as a float."""
    layout = LAYOUTS[dtype]
    # a mask as wide as what the shift leaves makes it a logical one, which every vector unit has for 64 bits
    field = (bits >> layout.fraction) & (4 * layout.bias + 3)
    # as the low bits of a float whose last place is one
    whole = 2.0**layout.fraction
    return bitcast(field | float_bits(whole, dtype), dtype) - (whole + layout.bias)


def float_bits(value: float, dtype: DType) -> int:
    """Return the bits of a number in a dtype, as a signed integer."""
    return int(dtype.type(value).view(LAYOUTS[dtype].bits))


def polynomial(x: Expr, coefficients: Sequence[Expr | float]) -> Expr:
    """Return what `horner` does, in less time: even and odd powers are two short chains of fma instead of a long one.

    The lowest powers, which decide about the rounding, are added as `horner` does.
    """
    high, low = coefficients[:-3], coefficients[-3:]
    square = x * x
    total = fma(horner(square, high[-2::-2][::-1]), x, horner(square, high[::-2][::-1]))
    for coefficient in low:
        total = fma(total, x, coefficient)
    return total


def one_of(condition: Expr, x: Expr, held: Sequence[float], otherwise: Sequence[float]) -> Expr:
    """Return the first polynomial in x where the condition holds, and the second one elsewhere.

    Choosing coefficients is cheaper than computing both.
    """
    count = max(len(held), len(otherwise))
    padded = [(0.0,) * (count - len(values)) + tuple(values) for values in (held, otherwise)]
    pairs = zip(*padded, strict=True)
    return polynomial(x, [where(condition, literal(a, x.dtype), b) for a, b in pairs])
