"""Which complex functions are written in real ops, and where."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tensorframe.graph.op import Op
from tensorframe.kernel.math.complex import algebraic, exponential, inverse, logarithm, powers
from tensorframe.kernel.math.complex.exponential import Pair
from tensorframe.ops import elementwise as row

# of the parts of the operands, in order
FORMULAS: Mapping[Op, Callable[..., Pair]] = {
    row.SQUARE: algebraic.square,
    row.DIVIDE: algebraic.divide,
    row.RECIPROCAL: algebraic.reciprocal,
    row.SQRT: algebraic.sqrt,
    row.SIGN: algebraic.sign,
    row.EXP: exponential.exp,
    row.EXP2: exponential.exp2,
    row.EXPM1: exponential.expm1,
    row.SIN: exponential.sin,
    row.COS: exponential.cos,
    row.TAN: exponential.tan,
    row.SINH: exponential.sinh,
    row.COSH: exponential.cosh,
    row.TANH: exponential.tanh,
    row.LOG: logarithm.log,
    row.LOG2: logarithm.log2,
    row.LOG10: logarithm.log10,
    row.LOG1P: logarithm.log1p,
    row.POW: powers.pow_,
    row.ASIN: inverse.asin,
    row.ACOS: inverse.acos,
    row.ATAN: inverse.atan,
    row.ASINH: inverse.asinh,
    row.ACOSH: inverse.acosh,
    row.ATANH: inverse.atanh,
}
