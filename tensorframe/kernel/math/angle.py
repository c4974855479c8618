"""Angles without their multiples of pi / 2, for arguments of any size.

Up to 2^17 in float32 and 2^40 in float64, pi / 2 in three parts is subtracted as often as it fits (Cody and Waite,
"Software manual for the elementary functions", 1980): the first fma is exact, so what is left keeps its relative
precision next to zero. Larger ones are multiplied by those bits of 1 / pi that matter to them (Payne and Hanek,
"Radian reduction for trigonometric functions", 1983), in float64.
"""

from __future__ import annotations

from math import pi

from tensorframe.dtypes import float32, float64, int32
from tensorframe.kernel.ir import Expr, literal
from tensorframe.kernel.ir.formula import cast, fma, rint, where, where_rare
from tensorframe.kernel.math.parts import fast_two_sum, nearest, two_product, two_sum

# by docs/derive/trigonometric.py
PI_32 = (3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15)
PI_64 = (3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33)
RECIPROCAL_OF_PI = int(
    "28be60db9391054a7f09d5f47d4d377036d8a5664f10e4107f9458eaf7aef1586dc91b8e909374b8"
    "01924bba827464873f877ac72c4a69cfba208d7d4baed1213a671c09ad17df904e64758e60d4ce7d"
    "272117e2ef7e4a0ec7fe25fff7816603fbcbc462d6829b47db4d9fb3c9f2c26dd3d18fd9a797fa8b"
    "5d49eeb1faf97c5ecf41ce7de294a4ba9afed7ec47e357421580cc11bf1edaeaf",
    16,
)

PI = {float32: PI_32, float64: PI_64}
NEAR = {float32: 2.0**17, float64: 2.0**40}
BITS = 53 * 23  # of 1 / pi


def _fraction_bits(skipped: int, count: int) -> tuple[float, ...]:
    """Return 1 / pi without its first bits, as a sum of `count` float64."""
    whole = 1 << BITS
    rest = RECIPROCAL_OF_PI % (1 << BITS - skipped)
    quotients = []
    for _ in range(count):
        quotients.append(
            rest / whole
        )  # Python rounds a quotient of integers once, whatever their size
        numerator, denominator = quotients[-1].as_integer_ratio()
        rest -= numerator * (whole // denominator)
    return tuple(quotients)


# a float32 of at least 2^(24 + skipped) is a multiple of 2^(skipped + 1): skipped bits contribute even integers
SKIPPED = (25, 50, 75, 100)
TAILS = tuple((skipped, _fraction_bits(skipped, 2)) for skipped in (0, *SKIPPED))
# the bits of a word, how many quotients there are, and by how many the largest angles are moved
WIDTH = {float32: 24, float64: 53}
COUNT = {float32: 12, float64: 23}
STEPS = {float32: (4, 2, 1), float64: (16, 8, 4, 2, 1)}
WORDS = {
    dtype: tuple(
        float(RECIPROCAL_OF_PI >> (BITS - width * k) & ((1 << width) - 1))
        for k in range(1, COUNT[dtype] + 1)
    )
    for dtype, width in WIDTH.items()
}


def quarters(angle: Expr, *, double: bool = True) -> tuple[Expr, Expr]:
    """Return r and the bits of n for angle = r + n * pi / 2, |r| <= pi / 4 and hardly more.

    The angle is not negative. Only the two lowest bits of n mean something. The error of r is one unit in its last
    place at most, mostly half a unit.
    """
    n, bits = nearest(angle, 2 / pi)
    rest = angle
    for part in PI[angle.dtype]:
        rest = fma(n, -part / 2, rest)
    large = angle > NEAR[angle.dtype]
    turned, _, turned_bits = _turned(angle, double=double)
    return where_rare(large, turned, rest), where_rare(large, turned_bits, bits)


def quarters_with_error(angle: Expr, *, double: bool = True) -> tuple[Expr, Expr, Expr]:
    """Return r, what has to be added to it, and the bits of n."""
    n, bits = nearest(angle, 2 / pi)
    first, second, third = (-part / 2 for part in PI[angle.dtype])
    # exact, and a multiple of the last place of what follows
    rest = fma(n, first, angle)
    product, error = two_product(n, literal(second, angle.dtype))
    rest, rounded = fast_two_sum(rest, product)
    error = fma(n, third, error) + rounded
    large = angle > NEAR[angle.dtype]
    turned, turned_error, turned_bits = _turned(angle, double=double)
    return (
        where_rare(large, turned, rest),
        where_rare(large, turned_error, error),
        where_rare(large, turned_bits, bits),
    )


def _turned(angle: Expr, *, double: bool) -> tuple[Expr, Expr, Expr]:
    """Return what `quarters_with_error` does, for large angles."""
    first, second, *others = _half_turns(angle, double=double)
    n, bits = nearest(first + second, 2.0)
    rest = fma(n, -0.5, first)
    if angle.dtype != first.dtype:
        wide = (rest + second) * pi
        near = cast(wide, float32)
        return near, cast(wide - cast(near, float64), float32), cast(bits, int32)
    high, low = two_sum(rest, second)
    pi_high, pi_low, _ = PI[angle.dtype]
    low = fma(high, pi_low, (low + others[0]) * pi_high)
    product, error = two_product(high, literal(pi_high, angle.dtype))
    return *fast_two_sum(product, error + low), bits


def _half_turns(angle: Expr, *, double: bool) -> tuple[Expr, ...]:
    """Return angle / pi less an even integer as summands: two of float64 for float32, else three of its own dtype."""
    if angle.dtype == float64 or not double:
        return _sum_of_products(*_window(angle))
    wide = cast(angle, float64)
    high: Expr
    low: Expr
    high, low = (literal(part, float64) for part in TAILS[0][1])
    for skipped, tail in TAILS[1:]:
        reached = wide >= 2.0 ** (24 + skipped)
        high, low = where(reached, tail[0], high), where(reached, tail[1], low)
    product, error = two_product(wide, high)
    return _less_even(product), fma(wide, low, error)


def _less_even(x: Expr) -> Expr:
    """Return x less the nearest even integer: exactly, and 0 for a float so large that it is one."""
    return fma(rint(x * 0.5), -2.0, x)


def _window(angle: Expr) -> tuple[Expr, list[Expr]]:
    """Return the angle, scaled to less than two words, and the five words of 1 / pi from which it was scaled.

    What the words before would contribute is even, what those behind would is lost in rounding.
    """
    dtype = angle.dtype
    width = WIDTH[dtype]
    words: list[Expr] = [literal(word, dtype) for word in WORDS[dtype]]
    for step in STEPS[dtype]:
        far = angle >= 2.0 ** (width * (step + 1))
        angle = where(far, angle * 2.0 ** (-width * step), angle)
        moved = [*words[step:], *[literal(0.0, dtype)] * step]
        words = [where(far, *pair) for pair in zip(moved, words, strict=True)][: step + 4]
    return angle, words


def _sum_of_products(angle: Expr, words: list[Expr]) -> tuple[Expr, ...]:
    """Return angle times the words, as fractions, less an even integer, as three summands."""
    width = WIDTH[angle.dtype]
    scaled = [angle * 2.0 ** (-width * place) for place in range(1, 6)]
    pairs = [two_product(x, word) for x, word in zip(scaled, words, strict=True)]
    large = [*map(_less_even, (*pairs[0], pairs[1][0])), pairs[1][1], pairs[2][0]]
    high, errors = _accumulated(large)
    middle, errors = _accumulated([*errors, pairs[2][1], pairs[3][0]])
    low = pairs[3][1] + pairs[4][0]
    for error in errors:
        low = low + error
    return high, middle, low


def _accumulated(terms: list[Expr]) -> tuple[Expr, list[Expr]]:
    """Return the sum and the rounding errors made on the way."""
    total, errors = terms[0], []
    for term in terms[1:]:
        total, error = two_sum(total, term)
        errors.append(error)
    return total, errors
