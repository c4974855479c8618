"""Special functions that NumPy lacks: erf and erfc from piecewise polynomials, within 2 units in the last place.

The coefficients are printed by docs/derive/erf.py, lowest power first. float32 takes every element through every piece,
in place and in blocks that stay in the cache; float64 takes each element through its own piece. Kernels have others
(`kernel/math/error_function.py`), whose fused multiply-adds take NumPy 2 to 30 times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import spells
from tensorframe.machine import HOST

Array = Any
Coefficients = tuple[float, ...]

# elements per block of the float32 path: four float32 blocks fit the second-level cache
_BLOCK = HOST.second // 16

# erf(x) / x - 1, by x^2 up to 1
ERF_32 = (
    0.12837916612625122,
    -0.3761262595653534,
    0.11283597350120544,
    -0.02685432881116867,
    0.005189312156289816,
    -0.0008018855005502701,
    7.882497448008507e-05,
)
# log(erfc(x)), by x - 1 from 1 to 4
LOG_ERFC_32 = (
    -1.8496055603027344,
    -2.6389667987823486,
    -0.8431177735328674,
    -0.04150305315852165,
    0.009895252995193005,
    -0.0018296357011422515,
    0.00018655171152204275,
)
# erf(x) / x - 1, by x^2 up to 1
ERF_64 = (
    0.1283791670955126,
    -0.3761263890318375,
    0.11283791670954882,
    -0.026866170645077334,
    0.005223977624823223,
    -0.0008548326981129666,
    0.00012055331122299266,
    -1.4925595519506043e-05,
    1.6461004480962034e-06,
    -1.6350354461959655e-07,
    1.4660051998394848e-08,
    -1.1373902296430911e-09,
    5.958930743134941e-11,
)
# log(erfc(x)), by x - 1 from 1 to 6
LOG_ERFC_64 = (
    -1.8496055099332482,
    -2.638967514234788,
    -0.8431072563586866,
    -0.04156109804159179,
    0.010033825371928505,
    -0.0019779025510959767,
    0.0002373224078962554,
    2.6278094448532506e-05,
    -2.715957480596495e-05,
    9.60960724352212e-06,
    -2.0605669406249576e-06,
    1.4353832208517946e-07,
    9.713692640519622e-08,
    -5.185047792207241e-08,
    1.4849384331745716e-08,
    -2.849581657658107e-09,
    3.660080614374357e-10,
    -2.8608882469579202e-11,
    1.0305267765735484e-12,
)
# exp(x^2) erfc(x), by x - 1 from 0.6875 to 1.25
NEAR_64 = (
    0.427583576155807,
    -0.27321201478389856,
    0.1543715613719087,
    -0.07922696894132666,
    0.03757229621523478,
    -0.01666186909044217,
    0.006970142379953946,
    -0.0027690647719739244,
    0.00105026918585501,
    -0.00038195475927369974,
    0.00013366773968844867,
    -4.513738608181398e-05,
    1.4699429033695265e-05,
    -4.7620462499995885e-06,
    1.6913718989131707e-06,
)
# exp(x^2) erfc(x), by x - 2 from 1.25 to 2.5
MIDDLE_64 = (
    0.25539567631050575,
    -0.1067964618534896,
    0.04180275260352654,
    -0.01546063776429108,
    0.0054407385374725895,
    -0.0018316642757348924,
    0.0005924699953231457,
    -0.00018477836724656765,
    5.5728315348499117e-05,
    -1.629371826439293e-05,
    4.6281749559065335e-06,
    -1.2795284767593525e-06,
    3.448539583496481e-07,
    -9.071264634252206e-08,
    2.3358028661677004e-08,
    -5.931114226713027e-09,
    1.3853053788558907e-09,
    -3.111932939056012e-10,
    1.5873957466599484e-10,
)
# sqrt(pi) x exp(x^2) erfc(x) - 1, by 1 / x^2 from 2.5 to 28
TAIL_64 = (
    -3.799419699688058e-16,
    -0.4999999999994375,
    0.7499999997073763,
    -1.8749999230626455,
    6.562488021479338,
    -29.530032918432173,
    162.3356579110862,
    -1051.2739469711187,
    7742.194655732514,
    -61878.48565608253,
    504353.39484774787,
    -3917394.7555552074,
    27281198.69438174,
    -162101149.23895222,
    788428450.1041954,
    -3016496586.968904,
    8664661485.716227,
    -17477208250.08313,
    21998546031.434475,
    -12970949676.92575,
)
_TAIL_LIMIT = 0.5641895835477563  # 1 / sqrt(pi)


def _polynomial(coefficients: Coefficients, x: Array, out: Array) -> Array:
    """Evaluate by Horner's rule into `out`."""
    np.multiply(x, coefficients[-1], out=out)
    for coefficient in coefficients[-2:0:-1]:
        out += coefficient
        out *= x
    out += coefficients[0]
    return out


@spells("erf")
def erf(x: Array) -> Array:
    """Error function."""
    if x.dtype == np.float64:
        return _by_piece(x, np.abs(x) < 1, _erf_small, _erf_large)
    flat = np.ravel(x).astype(np.float32, copy=False)
    result = np.empty(flat.shape, np.float32)
    for start in range(0, flat.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        _erf_float32(flat[block], result[block])
    return result.reshape(x.shape).astype(x.dtype, copy=False)


def _erf_float32(x: Array, out: Array) -> None:
    """Write erf(x): x + x p(x^2) below 1, and 1 - exp(q(|x|)) above, which is 1 from 4 on."""
    size = np.minimum(np.abs(x), np.float32(4))
    argument = size * size
    small = _polynomial(ERF_32, argument, np.empty_like(size))
    small *= x
    small += x
    np.subtract(size, 1, out=argument)
    _polynomial(LOG_ERFC_32, argument, out)
    np.exp(out, out=out)
    np.subtract(1, out, out=out)
    np.copysign(out, x, out=out)
    _select_negative(argument, small, out)


def _select_negative(decider: Array, chosen: Array, out: Array) -> None:
    """Copy `chosen` to `out` where the sign bit of `decider` is set; all are float32, and are overwritten.

    In integer arithmetic: choosing by a bool mask costs ten times as much (4.3 ns per element).
    """
    mask, bits, target = (array.view(np.int32) for array in (decider, chosen, out))
    np.right_shift(mask, 31, out=mask)
    bits ^= target
    bits &= mask
    target ^= bits


def _by_piece(
    x: Array, first: Array, inside: Callable[[Array], Array], outside: Callable[[Array], Array]
) -> Array:
    """Return `inside` of the elements where `first` holds, and `outside` of the others."""
    if first.all():
        return inside(x)
    if not first.any():
        return outside(x)
    # by positions: a mask that follows no pattern makes the processor guess at every element, and takes twice as long
    flat, chosen = x.reshape(-1), first.reshape(-1)
    result = np.empty(flat.shape, x.dtype)
    for positions, function in (
        (np.flatnonzero(chosen), inside),
        (np.flatnonzero(~chosen), outside),
    ):
        result[positions] = function(flat[positions])
    return result.reshape(x.shape)


def _erf_small(x: Array) -> Array:
    return x + x * _polynomial(ERF_64, x * x, np.empty_like(x))


def _erf_large(x: Array) -> Array:
    argument = np.minimum(np.abs(x), 6.0) - 1
    complement = np.exp(_polynomial(LOG_ERFC_64, argument, np.empty_like(argument)))
    return np.copysign(1 - complement, x)


@spells("erfc")
def erfc(x: Array) -> Array:
    """Complementary error function, computed in float64."""
    wide = np.atleast_1d(x).astype(np.float64, copy=False)
    result = _by_piece(wide, np.abs(wide) < 0.6875, _erfc_small, _erfc_large)
    return result.reshape(x.shape).astype(x.dtype, copy=False)


def _erfc_small(x: Array) -> Array:
    rest = x * _polynomial(ERF_64, x * x, np.empty_like(x))
    # x - 0.5 is exact around 0.5, so that only small numbers round before the last step
    return np.where(x < 0.25, 1 - (x + rest), 0.5 - ((x - 0.5) + rest))


def _erfc_large(x: Array) -> Array:
    # every result is 0 or 2 before 28
    size = np.minimum(np.abs(x), 28.0)
    result = _by_piece(size, size < 2.5, _erfc_middle, _erfc_tail)
    return np.where(x < 0, 2 - result, result)


def _erfc_middle(x: Array) -> Array:
    return _by_piece(
        x, x < 1.25, lambda x: _shifted(x, 1.0, NEAR_64), lambda x: _shifted(x, 2.0, MIDDLE_64)
    )


def _shifted(x: Array, centre: float, coefficients: Coefficients) -> Array:
    argument = x - centre
    rest = argument * _polynomial(coefficients[1:], argument, np.empty_like(x))
    return _damped(x, coefficients[0], rest)


def _erfc_tail(x: Array) -> Array:
    inverse = 1 / x
    leading = _TAIL_LIMIT / x
    rest = _polynomial(TAIL_64, inverse * inverse, np.empty_like(x))
    rest = leading * rest + _division_error(x, leading)
    return _damped(x, leading, rest)


def _division_error(x: Array, quotient: Array) -> Array:
    """Return what rounding took from _TAIL_LIMIT / x, by products of halves of the digits, which are exact."""
    x_high, quotient_high = _upper_half(x), _upper_half(quotient)
    x_low, quotient_low = x - x_high, quotient - quotient_high
    remainder = _TAIL_LIMIT - x_high * quotient_high - x_high * quotient_low - x_low * quotient
    return remainder / x


def _upper_half(x: Array) -> Array:
    """Return float64 numbers without the lower 27 of their 53 significant bits: their squares are exact."""
    return (x.view(np.int64) & np.int64(-(1 << 27))).view(np.float64)


def _damped(x: Array, base: Array | float, rest: Array) -> Array:
    """Return exp(-x^2) (base + rest); what x^2 loses by rounding only corrects `rest`."""
    high = _upper_half(x)
    correction = np.expm1((high - x) * (high + x))
    return np.exp(-high * high) * (base + (rest + (base + rest) * correction))
