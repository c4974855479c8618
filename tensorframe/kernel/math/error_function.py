"""Error functions: polynomials near zero, and complements that fall as exp(-x^2) does."""

from __future__ import annotations

from math import e, log2

from tensorframe.dtypes import float32, float64
from tensorframe.kernel.ir import Expr, literal
from tensorframe.kernel.ir.formula import bitcast, copysign, fma, where
from tensorframe.kernel.math.exponential import EXP, LOG_2
from tensorframe.kernel.math.parts import (
    LAYOUTS,
    at_most,
    nearest,
    one_of,
    polynomial,
    scale,
    two_product,
)
from tensorframe.kernel.math.registry import formula

# by docs/derive/error_function.py: erf(x) / x - 1 by x^2, for erf up to FAR
ERF_32 = (
    7.806903158780187e-05,
    -0.0007997853099368513,
    0.005187162198126316,
    -0.026853347197175026,
    0.11283578723669052,
    -0.3761262595653534,
    0.12837916612625122,
)
ERF_64 = (
    4.712111196531205e-11,
    -1.0497624485227444e-09,
    1.4388459699458113e-08,
    -1.630163407209797e-07,
    1.645542310899724e-06,
    -1.4925170458825932e-05,
    0.0001205530939927438,
    -0.000854832624635284,
    0.005223977608989168,
    -0.026866170643054813,
    0.11283791670941476,
    -0.376126389031834,
    0.12837916709551256,
)
# log2(erfc(x))
LOG_ERFC_32 = (
    0.0002688838867470622,
    -0.004252504091709852,
    0.03150532394647598,
    -0.14875078201293945,
    -0.9206494092941284,
    -1.6260453462600708,
    -0.0004928711568936706,
)
LOG_ERFC_64 = (
    -2.703342982409664e-10,
    1.0896724493033931e-08,
    -2.051067451381487e-07,
    2.393971914627469e-06,
    -1.937113299193544e-05,
    0.00011469013447298199,
    -0.0005072141861357329,
    0.001646551022763933,
    -0.0034821865362129325,
    0.001339657595975407,
    0.026806915300030845,
    -0.14782811766113088,
    -0.918619249947491,
    -1.6278659767267312,
    -4.59413703924023e-06,
)
# 2^x, as accurate as 1 - 2^x needs it
EXP2_32 = (
    0.00015326471475418657,
    0.0013390806270763278,
    0.009618505835533142,
    0.05550359934568405,
    0.24022647738456726,
    0.6931471824645996,
    1.0,
)
EXP2_64 = (
    7.038164494935678e-09,
    1.0208320556185259e-07,
    1.3215653692647093e-06,
    1.525265944215748e-05,
    0.0001540352999402315,
    0.0013333558225771883,
    0.009618129107983353,
    0.05550410866448202,
    0.240226506959091,
    0.6931471805599492,
    1.0,
)
# erf(x) / x - 1 by x^2, for erfc up to 0.75
NEAR_32 = (
    -0.000655753945466131,
    0.005084148608148098,
    -0.026817258447408676,
    0.11282935738563538,
    -0.3761257231235504,
    0.12837915122509003,
)
NEAR_64 = (
    1.1271495677191705e-08,
    -1.5880353171956517e-07,
    1.642307534683591e-06,
    -1.4923653150951565e-05,
    0.00012055265766665752,
    -0.0008548325529209422,
    0.005223977603942801,
    -0.02686617064322486,
    0.11283791670945637,
    -0.3761263890318353,
    0.12837916709551256,
)
# (x + 3) exp(x^2) erfc(x) by 8 / (x + 3) - 1, from 0.75
TAIL_32 = (
    -4.5319469791138545e-05,
    -0.0002588106144685298,
    0.0005248381057754159,
    0.006003692280501127,
    0.027313441038131714,
    0.0876249298453331,
    0.22387295961380005,
    0.4796614646911621,
    0.885637104511261,
)
TAIL_64 = (
    -7.194499414233867e-11,
    2.168458265009304e-10,
    5.218950343858282e-10,
    -2.2458187383401916e-09,
    -3.7244512883477275e-09,
    1.8632266146084407e-08,
    3.594890007690328e-08,
    -1.5284181353804287e-07,
    -4.444722352078316e-07,
    1.1155648890921927e-06,
    6.227255061603907e-06,
    -2.220138786016238e-06,
    -8.28536446559436e-05,
    -0.00020565983234364642,
    0.0005111598737619554,
    0.0059921014446188536,
    0.027317987192664737,
    0.08762571665292944,
    0.22387273334256078,
    0.47966144308433484,
    0.885637101864549,
)

ERF = {float32: ERF_32, float64: ERF_64}
LOG_ERFC = {float32: LOG_ERFC_32, float64: LOG_ERFC_64}
EXP2 = {float32: EXP2_32, float64: EXP2_64}
NEAR = {float32: NEAR_32, float64: NEAR_64}
TAIL = {float32: TAIL_32, float64: TAIL_64}
# from where erf is 1 - erfc
FAR = {float32: 1.0, float64: 1.125}
# from where erf rounds to 1, and erfc to 0
ONE = {float32: 4.0, float64: 6.0}
ZERO = {float32: 10.1, float64: 27.3}


@formula("erf")
def erf(x: Expr) -> Expr:
    """Return x + x p(x^2) where erfc(x) is large, else 1 - erfc(x), where log2(erfc(x)) is a polynomial.

    Largest error: 1.12 ULP in float32 (all arguments), 1.34 in float64.
    """
    size = abs(x)
    far = size >= FAR[x.dtype]  # NaN is near
    moved = where(far, at_most(size, ONE[x.dtype]), x * x)
    value = one_of(far, moved, LOG_ERFC[x.dtype], ERF[x.dtype])
    n, bits = nearest(value)
    layout = LAYOUTS[x.dtype]
    fraction = bitcast(polynomial(value - n, EXP2[x.dtype]), layout.bits)
    complement = bitcast(fraction + (bits << layout.fraction), x.dtype)
    return where(far, copysign(1.0 - complement, x), fma(x, value, x))


@formula("erfc")
def erfc(x: Expr) -> Expr:
    """Return 1 - erf(x) up to 0.75, and exp(-x^2) p(1 / (x + 3)) / (x + 3) above.

    Largest error: 2.15 ULP in float32 (all arguments), 2.03 in float64.
    """
    # x - 0.5 is exact around 0.5, so that only small numbers round before the last step
    most = where(x < 0.25, literal(0.0, x.dtype), 0.5)
    near = (1.0 - most) - fma(x, polynomial(x * x, NEAR[x.dtype]), x - most)
    far = _complement(abs(x))
    return where(abs(x) < 0.75, near, where(x < 0.0, 2.0 - far, far))


def _complement(x: Expr) -> Expr:
    """Return erfc(x) from 0.75 on."""
    x = at_most(x, ZERO[x.dtype])
    total = x + 3.0
    inverse = 1.0 / total
    # what rounding took from the inverse and from x^2 changes the result by a factor: it joins the exponent
    lost = fma(-inverse, x - (total - 3.0), fma(-inverse, total, 1.0))
    square, square_error = two_product(x, x)
    high, low = LOG_2[x.dtype]
    n, _ = nearest(square, -log2(e))
    rest = fma(n, -high, -square) + fma(n, -low, lost - square_error)
    growth = fma(rest * rest, polynomial(rest, EXP[x.dtype][:-2]), rest)
    moved = fma(inverse * lost, 8.0, fma(inverse, 8.0, -1.0))
    slope = polynomial(moved, TAIL[x.dtype][:-1])
    first = literal(TAIL[x.dtype][-1], x.dtype)
    ratio = fma(moved, slope, first)
    ratio_error = fma(moved, slope, first - ratio)
    scaled, scaled_error = two_product(ratio, inverse)
    error = fma(ratio_error, inverse, scaled_error)
    return scale(scaled + fma(scaled, growth, error), n)
