"""Elementwise functions of NumPy's that are formulas of others: angles, parts of numbers, bits and powers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.dtypes import BOOL, COMPLEX, FLOAT, INTEGER, as_dtype
from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.elementwise.options import composed, several
from tensorframe.frontend.fast_paths.exact_functions import exact
from tensorframe.frontend.fast_paths.memoization import memoized_of
from tensorframe.frontend.manipulation.views import joined, part_of
from tensorframe.frontend.operands import converted, filled, floating, operand, promoted
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import flag, number
from tensorframe.frontend.reductions.elementary import all as all_true
from tensorframe.frontend.reductions.scans import cumulative_sum
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import holds
from tensorframe.graph.shape import normalize_axis
from tensorframe.ops import elementwise as op
from tensorframe.ops.special import I0

__all__ = [
    "angle",
    "bitwise_count",
    "divmod",
    "fabs",
    "fix",
    "float_power",
    "frexp",
    "gcd",
    "i0",
    "iscomplex",
    "iscomplexobj",
    "isreal",
    "isrealobj",
    "lcm",
    "ldexp",
    "logaddexp2",
    "modf",
    "real_if_close",
    "rint",
    "spacing",
    "unwrap",
]


def angle(z: ArrayLike, deg: bool = False) -> Tensor:
    """The angles of complex numbers from -pi to pi, in degrees with `deg`; of real ones 0, or pi where negative.

    >>> tfr.angle(tfr.asarray([1.0, 1j, -1.0]), deg=True).tolist()
    [0.0, 90.0, 180.0]
    """
    (tensor,) = floating(z)
    is_complex = tensor.dtype in COMPLEX
    real = apply(op.REAL_PART, tensor) if is_complex else tensor
    imag: Any = apply(op.IMAG, tensor) if is_complex else 0.0
    radians = apply(op.ATAN2, imag, real)
    return radians * (180 / math.pi) if flag("angle", "deg", deg) else radians


def unwrap(
    p: ArrayLike, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Tensor:
    """Angles along `axis` with multiples of `period` added, so that no step is larger than half of it.

    Steps up to `discont` stay as they are. Integers stay integers if the period is even, else they become floats.

    >>> tfr.unwrap(tfr.asarray([0, 170, -170, 0]), period=360).tolist()
    [0, 170, 190, 360]
    >>> tfr.unwrap(tfr.asarray([[170, 0], [-170, 0]]), axis=0, period=360).tolist()
    [[170, 0], [190, 0]]
    """
    tensor: Any = operand(p)
    whole = tensor.dtype in INTEGER and isinstance(period, int) and period % 2 == 0
    if not whole:
        (tensor,) = floating(tensor)
        period = number("unwrap", "period", period)
    if not tensor.ndim:
        raise ShapeError("unwrap: a 0-d tensor has no neighbours")
    along = normalize_axis("unwrap", axis, tensor.ndim)
    size = tensor.shape[along]
    if size < 2:
        return operand(tensor)
    half = period // 2 if whole else period / 2
    limit = half if discont is None else max(number("unwrap", "discont", discont), half)
    step: Any = part_of(tensor, along, 1, size - 1) - part_of(tensor, along, 0, size - 1)
    near = (step + half) % period - half
    near = apply(op.WHERE, (near == -half) & (step > 0), half, near)
    change = apply(op.WHERE, abs(step) < limit, 0, near - step)
    total = converted(cumulative_sum(change, axis=along), tensor.dtype)
    moved = part_of(tensor, along, 1, size - 1) + total
    return joined([part_of(tensor, along, 0, 1), moved], along)


def _quotient_and_rest(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    left, right = promoted(x1, x2)
    return apply(op.FLOOR_DIVIDE, left, right), apply(op.REMAINDER, left, right)


def divmod(
    x1: ArrayLike, x2: ArrayLike, /, out: Output = None, **options: Any
) -> tuple[Tensor, Tensor]:
    """The largest integers not above the quotients, and the rests: `x1 // x2` and `x1 % x2`.

    Options are those of elementwise functions; `out` is a pair.

    >>> [part.tolist() for part in tfr.divmod(tfr.asarray([7, -7]), 3)]
    [[2, -3], [1, 2]]
    """
    parts: tuple[Tensor, Tensor] = several(
        op.FLOOR_DIVIDE, _quotient_and_rest, (x1, x2), out, options
    )
    return parts


def _fraction_and_whole(x: Any) -> tuple[Tensor, Tensor]:
    (tensor,) = floating(x)
    if tensor.dtype in COMPLEX:
        raise DTypeError("modf: takes real numbers, got " + str(tensor.dtype))
    whole: Any = apply(op.TRUNC, tensor)
    fraction = apply(op.WHERE, apply(op.ISINF, tensor), 0.0, tensor - whole)
    return apply(op.COPYSIGN, fraction, tensor), whole


@exact(np.modf, 1)
def modf(x: ArrayLike, /, out: Output = None, **options: Any) -> tuple[Tensor, Tensor]:
    """The fractions and the whole parts of numbers, both with their sign, as floats.

    >>> [part.tolist() for part in tfr.modf(tfr.asarray([2.5, -0.5]))]
    [[0.5, -0.5], [2.0, -0.0]]
    """
    parts: tuple[Tensor, Tensor] = several(op.TRUNC, _fraction_and_whole, (x,), out, options)
    return parts


def _mantissa_and_exponent(x: Any) -> tuple[Tensor, Tensor]:
    (tensor,) = floating(x)
    if tensor.dtype in COMPLEX:
        raise DTypeError("frexp: takes real numbers, got " + str(tensor.dtype))
    work = (
        tensor if dtypes.wide_of(tensor.dtype) == tensor.dtype else operand(tensor, dtype="float32")
    )
    plain = apply(op.ISFINITE, work) & apply(op.NOT_EQUAL, work, 0.0)
    size: Any = apply(op.WHERE, plain, apply(op.ABS, work), 1.0)
    guess: Any = apply(op.FLOOR, apply(op.LOG2, size)) + 1.0
    part = _scaled(size, -guess)
    # logarithms are rounded: next to a power of two they may be the next integer
    high, low = part >= 1.0, part < 0.5
    part = apply(op.WHERE, high, part * 0.5, apply(op.WHERE, low, part * 2.0, part))
    guess = guess + converted(high, work.dtype) - converted(low, work.dtype)
    mantissa = apply(op.WHERE, plain, apply(op.COPYSIGN, part, work), work)
    exponent = converted(apply(op.WHERE, plain, guess, 0.0), as_dtype("int32"))
    return converted(mantissa, tensor.dtype), exponent


@exact(np.frexp, 1, many=True)
def frexp(x: ArrayLike, /, out: Output = None, **options: Any) -> tuple[Tensor, Tensor]:
    """Numbers as mantissas from 0.5 to below 1 (with their sign) times powers of two, and the exponents (int32).

    >>> [part.tolist() for part in tfr.frexp(tfr.asarray([8.0, -0.75]))]
    [[0.5, -0.75], [4, 0]]
    """
    parts: tuple[Tensor, Tensor] = several(op.TRUNC, _mantissa_and_exponent, (x,), out, options)
    return parts


def _most_power(x: Tensor) -> float:
    """Return up to which exponent two to the power of it, and of its negative, are normal numbers."""
    return float(dtypes.FORMAT[x.dtype].bias - 1)


def _scaled(x: Any, exponent: Any) -> Any:
    """Return x times two to the power of whole numbers, rounded once.

    In three steps, of which the last goes as far as a normal number does: what is rounded, or overflows, before it
    becomes zero, or overflows, in any case.
    """
    most = _most_power(x)
    last: Any = apply(op.MAXIMUM, apply(op.MINIMUM, exponent, most), -most)
    half = apply(op.FLOOR, (exponent - last) * 0.5)
    step = apply(op.EXP2, half)
    is_odd = exponent - last - half - half
    return x * step * (step * (is_odd + 1.0)) * apply(op.EXP2, last)


@composed(op.EXP2, "x1", "x2", converts=1)
@exact(np.ldexp, 2)
def ldexp(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """The numbers `x1` times two to the power of the integers `x2`.

    The inverse of `frexp`. Exact wherever the result is a normal number of the dtype.

    >>> tfr.ldexp(tfr.asarray([0.5, -0.75]), tfr.asarray([4, 1])).tolist()
    [8.0, -1.5]
    """
    (left,) = floating(x1)
    right = operand(x2)
    if right.dtype not in INTEGER | BOOL:
        raise DTypeError(f"ldexp: x2 is made of integers, got {right.dtype}")
    work = converted(left, dtypes.wide_of(left.dtype))
    most = 3.0 * _most_power(
        work
    )  # from the smallest number to what overflows, and in each step a normal one
    exponent = apply(op.MAXIMUM, apply(op.MINIMUM, converted(right, work.dtype), most), -most)
    return converted(_scaled(work, exponent), left.dtype)


@composed(op.ADD, "x1", "x2")
@exact(np.gcd, 2)
def gcd(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """Greatest common divisors of integers. Computes at once, by NumPy: how many steps it takes depends on the values.

    >>> tfr.gcd(tfr.asarray([12, 20]), 8).tolist()
    [4, 4]
    """
    return _of_integers("gcd", np.gcd, x1, x2)


@composed(op.ADD, "x1", "x2")
@exact(np.lcm, 2)
def lcm(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """Least common multiples of integers. Computes at once, by NumPy, as `gcd` does.

    >>> tfr.lcm(tfr.asarray([12, 20]), 8).tolist()
    [24, 40]
    """
    return _of_integers("lcm", np.lcm, x1, x2)


def _of_integers(name: str, function: np.ufunc, x1: Any, x2: Any) -> Tensor:
    left, right = promoted(x1, x2)
    if left.dtype not in INTEGER:
        raise DTypeError(f"{name}: takes integers, got {left.dtype}")
    return operand(function(left._array(), right._array()), device=left.device)


@composed(op.POW, "x1", "x2")
@memoized_of(2)
def float_power(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """First operand to the power of the second, in float64 or complex128, where the device holds these.

    >>> tfr.float_power(tfr.asarray([2, 3]), -1).dtype
    dtype('float64')
    """
    left, right = promoted(x1, x2)
    wide = as_dtype("complex128" if left.dtype in COMPLEX else "float64")
    if not holds(left.device, wide):
        wide = dtypes.float_of(left.dtype)
    return apply(op.POW, converted(left, wide), converted(right, wide))


@composed(op.LOGADDEXP, "x1", "x2")
def logaddexp2(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """log2(2**x1 + 2**x2), without overflow on the way.

    The logarithm, to base 2, of a sum of numbers whose logarithms are given.

    >>> tfr.logaddexp2(tfr.asarray([3.0]), 3.0).tolist()
    [4.0]
    """
    return apply(op.LOGADDEXP2, x1, x2)


@composed(op.BITWISE_INVERT, "x", converts=0)
@exact(np.bitwise_count, 1)
def bitwise_count(x: ArrayLike) -> Tensor:
    """The number of bits set in the absolute value of each integer, as uint8.

    Bits are added in pairs, then in fours, and so on. Source: H. S. Warren, Hacker's Delight, section 5-1.

    >>> tfr.bitwise_count(tfr.asarray([7, -8, 0])).tolist()
    [3, 1, 0]
    """
    tensor = operand(x)
    if tensor.dtype in BOOL:
        return converted(tensor, as_dtype("uint8"))
    if tensor.dtype not in INTEGER:
        raise DTypeError(f"bitwise_count: takes integers, got {tensor.dtype}")
    width = 8 * tensor.dtype.itemsize
    size = apply(op.ABS, tensor) if tensor.dtype in dtypes.SIGNED else tensor
    bits: Any = converted(size, as_dtype(f"uint{width}"))
    ones = (1 << width) - 1
    bits = bits - ((bits >> 1) & ones // 3)
    bits = (bits & ones // 5) + ((bits >> 2) & ones // 5)
    bits = (bits + (bits >> 4)) & ones // 17
    for shift in (8, 16, 32):
        if shift < width:
            bits = bits + (bits >> shift)
    return converted(bits & 0x7F, as_dtype("uint8"))


@composed(op.NEXTAFTER, "x")
@exact(np.spacing, 1, besides=dtypes.NARROW)  # there NumPy's have no sign
def spacing(x: ArrayLike) -> Tensor:
    """The distance of each number to the next one further from zero; NaN for infinities.

    >>> tfr.spacing(tfr.asarray([1.0])).item() == tfr.finfo(tfr.float32).eps
    True
    """
    tensor = _real_floats("spacing", x)
    # zeros of either sign have one above them, as in NumPy
    away = apply(op.WHERE, apply(op.LESS, tensor, 0.0), -math.inf, math.inf)
    result: Tensor = apply(op.NEXTAFTER, tensor, away) - tensor
    return result


def i0(x: ArrayLike) -> Tensor:
    """Modified Bessel function of the first kind and order 0.

    It is even, one at zero, and grows like an exponential. Computed in float64.

    >>> tfr.i0(tfr.asarray([0.0])).tolist()
    [1.0]
    """
    return apply(I0, _real_floats("i0", x))


def _real_floats(name: str, x: Any) -> Tensor:
    (tensor,) = floating(x)
    if tensor.dtype not in FLOAT:
        raise DTypeError(f"{name}: takes real numbers, got {tensor.dtype}")
    return tensor


@composed(op.EXP, "x")
def fabs(x: ArrayLike) -> Tensor:
    """Absolute values of real numbers, as floats.

    Integers and booleans become floats first; complex numbers are refused, unlike by `abs`.

    >>> tfr.fabs(tfr.asarray([-1, 2])).tolist()
    [1.0, 2.0]
    """
    is_plain = type(x) is Tensor and x.node.dtype in FLOAT  # nothing to convert
    return apply(op.ABS, x if is_plain else _real_floats("fabs", x))


@composed(op.EXP, "x")
def rint(x: ArrayLike) -> Tensor:
    """Nearest integers, as floats; halves go to the even one.

    Unlike `round` it takes no number of decimals, and integers become floats.

    >>> tfr.rint(tfr.asarray([0.5, 1.5, -2.5])).tolist()
    [0.0, 2.0, -2.0]
    """
    is_plain = type(x) is Tensor and x.node.dtype in FLOAT  # nothing to convert
    return apply(op.ROUND, x if is_plain else floating(x)[0])


def fix(x: ArrayLike, out: Output = None) -> Tensor:
    """Elements without their fraction: `trunc` by another name.

    Rounded towards zero, as floats: 2.7 becomes 2 and -2.7 becomes -2.

    >>> tfr.fix(tfr.asarray([1.5, -1.5])).tolist()
    [1.0, -1.0]
    """
    return delivered("fix", apply(op.TRUNC, x), out)


def isreal(x: ArrayLike) -> Tensor:
    """Whether the imaginary parts of elements are zero.

    All True for tensors of real dtypes: it looks at values, `isrealobj` at the dtype.

    >>> tfr.isreal(tfr.asarray([1 + 1j, 2 + 0j])).tolist()
    [False, True]
    """
    tensor = operand(x)
    if tensor.dtype in COMPLEX:
        return apply(op.EQUAL, apply(op.IMAG, tensor), 0.0)
    return filled(tensor.shape, True, dtypes.bool_, tensor.device)


def iscomplex(x: ArrayLike) -> Tensor:
    """Whether the imaginary parts of elements are not zero.

    All False for tensors of real dtypes: it looks at values, `iscomplexobj` at the dtype.

    >>> tfr.iscomplex(tfr.asarray([1 + 1j, 2 + 0j])).tolist()
    [True, False]
    """
    tensor = operand(x)
    if tensor.dtype in COMPLEX:
        return apply(op.NOT_EQUAL, apply(op.IMAG, tensor), 0.0)
    return filled(tensor.shape, False, dtypes.bool_, tensor.device)


def iscomplexobj(x: ArrayLike) -> bool:
    """Whether the dtype of a tensor, or of what `asarray` makes of an object, is complex.

    >>> tfr.iscomplexobj(tfr.asarray([1 + 0j])), tfr.iscomplexobj([1.0])
    (True, False)
    """
    if isinstance(x, str | bytes | type(None)):
        return False  # no numbers, and no complex ones
    return operand(x).dtype in COMPLEX


def isrealobj(x: ArrayLike) -> bool:
    """Whether the dtype of a tensor, or of what `asarray` makes of an object, is not complex.

    >>> tfr.isrealobj(tfr.asarray([1.0]))
    True
    """
    return not iscomplexobj(x)


def real_if_close(a: ArrayLike, tol: float = 100) -> Tensor:
    """The real parts if all imaginary parts are below `tol` (times the spacing of floats at 1, from 1 on), else `a`.

    Computes at once: what dtype the result has depends on the values.

    >>> tfr.real_if_close(tfr.asarray([1 + 0j, 2 + 0j])).tolist()
    [1.0, 2.0]
    """
    tensor = operand(a)
    bound = number("real_if_close", "tol", tol)
    if tensor.dtype not in COMPLEX:
        return tensor
    real = apply(op.REAL_PART, tensor)
    if bound > 1:
        bound *= float(np.finfo(real.dtype).eps)
    small: Any = apply(op.ABS, apply(op.IMAG, tensor)) < bound
    return real if bool(all_true(small)) else tensor
