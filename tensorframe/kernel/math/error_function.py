"""Error functions: polynomials near zero, and complements that fall as exp(-x^2) does."""

from __future__ import annotations

from math import e, log2

from tensorframe.dtypes import float32, float64
from tensorframe.kernel.formula import bitcast, copysign, fma, where
from tensorframe.kernel.ir import Expr, literal
from tensorframe.kernel.math.exponential import EXP, LOG_2
from tensorframe.kernel.math.parts import LAYOUTS, at_most, nearest, polynomial, scale, two_product
from tensorframe.kernel.math.registry import formula

# by docs/derive/error_function.py: erf(x) / x - 1 by x^2, for erf up to 1
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
    -7.583020509576401e-10,
    1.3604889952929744e-08,
    -1.6181602998115304e-07,
    1.6443883299719822e-06,
    -1.4924447553798195e-05,
    0.0001205527973758879,
    -0.0008548325465531761,
    0.005223977596447415,
    -0.026866170641937363,
    0.1128379167093689,
    -0.37612638903183343,
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
    -7.1107885117005996e-12,
    2.950382613678977e-10,
    -5.676185338941333e-09,
    6.697707927640691e-08,
    -5.385870977832724e-07,
    3.081279723854049e-06,
    -1.2504738377454715e-05,
    3.2928190661074846e-05,
    -2.9244717034912226e-05,
    -0.00019482366441627135,
    0.0011117820094279493,
    -0.0027640948984641654,
    0.0005923842168124318,
    0.027397056596795852,
    -0.14816975354971518,
    -0.9184826010803844,
    -1.6278997040664183,
    -7.253619338178898e-07,
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
    4.438854638921875e-10,
    7.073232892056955e-09,
    1.0178160104712126e-07,
    1.3215438836874202e-06,
    1.5252733633829653e-05,
    0.00015403530449034213,
    0.001333355814654644,
    0.009618129107601606,
    0.05550410866482172,
    0.24022650695910108,
    0.6931471805599453,
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
# from where erf rounds to 1, and erfc to 0
ONE = {float32: 4.0, float64: 6.0}
ZERO = {float32: 10.1, float64: 27.3}


@formula("erf")
def erf(x: Expr) -> Expr:
    """Return x + x p(x^2) up to 1, and 1 - erfc(x) above, where log2(erfc(x)) is a polynomial.

    Largest error: 1.12 ULP in float32 (all arguments), 1.13 in float64.
    """
    size = abs(x)
    near = fma(x, polynomial(x * x, ERF[x.dtype]), x)
    log = polynomial(at_most(size, ONE[x.dtype]), LOG_ERFC[x.dtype])
    n, bits = nearest(log)
    layout = LAYOUTS[x.dtype]
    fraction = bitcast(polynomial(log - n, EXP2[x.dtype]), layout.bits)
    complement = bitcast(fraction + (bits << layout.fraction), x.dtype)
    # in this order NaN is near
    return where(size >= 1.0, copysign(1.0 - complement, x), near)


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
