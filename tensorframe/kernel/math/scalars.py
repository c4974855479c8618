"""Ops on scalars: how the elements of one op become an expression, whatever their dtype.

Half precision computes in float32 and is rounded after every op, as unfused ops would do it. What has a formula is
written out, the rest are machine ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorframe.dtypes import (
    ADDED,
    BOOL,
    FLOAT,
    INTEGER,
    NARROW,
    DType,
    bool_,
    float32,
    float64,
    int32,
    uint8,
    wide_of,
)
from tensorframe.graph.op import Op
from tensorframe.kernel.ir import Expr, apply
from tensorframe.kernel.ir.formula import bitcast, cast, not_equal, where
from tensorframe.kernel.ir.machine_ops import MACHINE_OPS
from tensorframe.kernel.math.registry import adapts, formula_of, has_formula, takes_half

if TYPE_CHECKING:
    from tensorframe.ops.user import Compiled

# ops on booleans that are logic under another name
_LOGIC = {
    "add": "logical_or",
    "multiply": "logical_and",
    "maximum": "logical_or",
    "minimum": "logical_and",
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "bitwise_invert": "logical_not",
    "bitwise_xor": "not_equal",
    "fmax": "logical_or",
    "fmin": "logical_and",
}
# what users' functions are given, and give, instead
_PASSED: dict[DType, DType] = {**{dtype: wide_of(dtype) for dtype in NARROW}, bool_: uint8}
# of float64: NumPy rounds its own dtypes once, those that are added to it by way of float32
_ROUNDED_ONCE = NARROW - ADDED
_TAKES_TRUTH = frozenset({"logical_and", "logical_or", "logical_xor", "logical_not"})


def supports(op: Op, operands: Sequence[DType], result: DType) -> bool:
    """Whether kernels can compute an elementwise op on these dtypes."""
    kinds = {*operands, result}
    if not kinds <= BOOL | INTEGER | FLOAT:
        return False
    return op.compiled is not None or op.name in MACHINE_OPS or has_formula(op.name)


def element(
    op: Op,
    attrs: tuple[Any, ...],
    operands: Sequence[Expr],
    result: DType,
    *,
    double: bool = True,
) -> Expr:
    """Return the expression of one element of an elementwise op; `double` says that there is float64."""
    if op.compiled is not None:
        return _called(op.compiled, operands, result)
    if op.printed is not None:
        wide = [converted(operand, wide_of(operand.dtype)) for operand in operands]
        return cast(apply(op.printed.call, *wide, dtype=wide_of(result)), result)
    if op.name == "cast":
        return converted(operands[0], attrs[0])
    # a condition given as a number takes the dtype of the other operands
    conditions = [converted(operand, bool_) for operand in operands[: op.conditions]]
    values = operands[op.conditions :]
    if not takes_half(op.name):
        values = [converted(value, wide_of(value.dtype)) for value in values]
    computed = _element(op.name, (*conditions, *values), attrs, wide_of(result), double=double)
    return cast(computed, result)


def _called(function: Compiled, operands: Sequence[Expr], result: DType) -> Expr:
    """Return a call of a user's function, which knows no half precision, and truth values as bytes."""
    values = [converted(operand, _PASSED.get(operand.dtype, operand.dtype)) for operand in operands]
    (call,) = function.calls
    return converted(apply(call, *values, dtype=_PASSED.get(result, result)), result)


def _element(
    name: str, operands: Sequence[Expr], attrs: tuple[Any, ...], result: DType, *, double: bool
) -> Expr:
    if name in _TAKES_TRUTH:
        operands = [truth(operand) for operand in operands]
    if all(operand.dtype == bool_ for operand in operands):
        name = _LOGIC.get(name, name)
    written = formula_of(name)
    if written is None:
        return apply(name, *operands, dtype=result)
    if not double and adapts(name):
        return written(*operands, *attrs, double=False)
    return written(*operands, *attrs)


def truth(x: Expr) -> Expr:
    """Return whether an element is true: not zero."""
    return x if x.dtype == bool_ else not_equal(x, 0)


def converted(x: Expr, dtype: DType) -> Expr:
    """Return an element converted; narrow dtypes are left, and reached, through those that they are computed in."""
    if dtype == x.dtype:
        return x
    wide = cast(x, wide_of(x.dtype))
    if dtype == bool_:
        return truth(wide)
    if dtype in _ROUNDED_ONCE and x.dtype == float64:
        return cast(_to_odd(x), dtype)
    return cast(cast(wide, wide_of(dtype)), dtype)


def _to_odd(x: Expr) -> Expr:
    """Return a float64 as float32 whose last bit says that something was lost, so that rounding it again rounds once.

    Source: S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Trans. Comput. 57 (2008).
    """
    near = cast(x, float32)
    back, bits = cast(near, float64), bitcast(near, int32)
    towards_zero = where(abs(back) > abs(x), bits - 1, bits)
    return bitcast(where(not_equal(back, x), towards_zero | 1, bits), float32)
