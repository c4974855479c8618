"""Roots: cube root and hypotenuse."""

from __future__ import annotations

from math import inf

from tensorframe.dtypes import float32, float64
from tensorframe.kernel.ir import Expr, literal
from tensorframe.kernel.ir.formula import (
    bitcast,
    both,
    copysign,
    either,
    equal,
    fma,
    horner,
    maximum,
    not_equal,
    sqrt,
    where,
)
from tensorframe.kernel.math.parts import LAYOUTS, float_bits, two_product
from tensorframe.kernel.math.registry import formula

# by docs/derive/roots.py: w^(-1/3), for w = x z^3 of the first guess z of x^(-1/3)
ROOT_32 = (
    0.09286877512931824,
    -0.47299179434776306,
    1.3740925788879395,
)
ROOT_64 = (
    -0.016979423500107386,
    0.1521236827303014,
    -0.5754195411428265,
    1.1950541522386076,
    -1.5190876530751591,
    1.7641924058756573,
)
ROOT = {float32: ROOT_32, float64: ROOT_64}
SHIFT = 0.111
# numbers below the first, whose cube roots' residuals would be subnormal, are multiplied by the second, a cube
SMALL = {float32: (2.0**-80, 2.0**72, 2.0**-24), float64: (2.0**-800, 2.0**198, 2.0**-66)}


@formula("cbrt")
def cbrt(x: Expr) -> Expr:
    """Take a guess of x^(-1/3) from the bits, a polynomial, and one step of Newton's method with an exact residual.

    Exact for cubes. Largest error: 0.60 ULP in float32 (all arguments), 0.63 in float64.
    """
    bound, up, down = SMALL[x.dtype]
    small = abs(x) < bound
    size = where(small, abs(x) * up, abs(x))
    guess = _inverse_root(size)
    inverse = guess * horner(size * guess * guess * guess, ROOT[x.dtype])
    square = inverse * inverse
    root = size * square
    root_square, lost = two_product(root, root)
    residual = fma(-root, lost, fma(-root, root_square, size))
    root = fma(residual, square * (1 / 3), root)
    root = copysign(where(small, root * down, root), x)
    # zeros, infinities and NaN are their own roots
    return where(both(abs(x) < inf, not_equal(x, 0)), root, x)


def _inverse_root(x: Expr) -> Expr:
    """Return x^(-1/3), but for a factor, of a positive normal number within a thirtieth."""
    layout = LAYOUTS[x.dtype]
    # minus a third of the bits, computed in the fraction of a float whose last place is one
    spare = layout.bits.itemsize * 8 - layout.fraction
    whole = 2.0**layout.fraction
    binade = 2.0 ** (layout.fraction - spare)
    bits = bitcast((bitcast(x, layout.bits) >> spare) | float_bits(whole, x.dtype), x.dtype)
    third = fma(bits, -1 / 3, whole * (4 / 3) + binade * (layout.bias * (4 / 3) + SHIFT))
    return bitcast(bitcast(third, layout.bits) << spare, x.dtype)


@formula("hypot")
def hypot(x: Expr, y: Expr) -> Expr:
    """Scale both by the power of two that makes the larger one 2 to 4. Largest error: 1.00 ULP."""
    layout = LAYOUTS[x.dtype]
    x, y = abs(x), abs(y)
    larger, smaller = where(x > y, x, y), where(x > y, y, x)
    # the lowest exponents have no inverse; a subnormal number stays below 2
    exponent = bitcast(larger, layout.bits) & float_bits(inf, x.dtype)
    exponent = maximum(exponent, 2 << layout.fraction)
    ends = literal((2 * layout.bias + 1) << layout.fraction, layout.bits)
    scale = bitcast(ends - exponent, x.dtype)
    larger, smaller = larger * scale, smaller * scale
    root = sqrt(fma(larger, larger, smaller * smaller))
    length = root * bitcast(exponent - (1 << layout.fraction), x.dtype)
    return where(either(equal(x, inf), equal(y, inf)), inf, length)
