"""Ops on values of one type, with NumPy's meaning: integers wrap, NaN stays, nothing branches, traps or is left open.

No instruction carries a flag that lets LLVM change a result.
"""

from __future__ import annotations

from collections.abc import Callable

from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.byte_products import dot4
from tensorframe.codegen.llvm.types import VALUE, suffix
from tensorframe.dtypes import FLOAT, SIGNED, DType, bool_

# (builder, dtype of the last operand, operands) -> result
Code = Callable[..., str]


# operands that leave the other one as it is: positions are full of them, and LLVM takes longer to find them
_ZERO, _UNIT = "0", "1"
_NEUTRAL = {"add": (_ZERO, _ZERO), "sub": ("", _ZERO), "mul": (_UNIT, _UNIT)}


def _two(of_float: str, of_integer: str) -> Code:
    left, right = _NEUTRAL.get(of_integer, ("", ""))

    def code(b: Builder, dtype: DType, x: str, y: str) -> str:
        if dtype not in FLOAT and (y == right or x == left):
            return x if y == right else y
        name = of_float if dtype in FLOAT else of_integer
        return b.value(f"{name} {b.type(dtype)} {x}, {y}")

    return code


def _of_llvm(name: str) -> Code:
    return lambda b, dtype, *operands: b.call(f"llvm.{name}", VALUE[dtype], *operands)


# --- arithmetic ---


def _negative(b: Builder, dtype: DType, x: str) -> str:
    if dtype in FLOAT:
        return b.value(f"fneg {b.type(dtype)} {x}")
    return b.value(f"sub {b.type(dtype)} {b.constant(VALUE[dtype], 0)}, {x}")


def _absolute(b: Builder, dtype: DType, x: str) -> str:
    """The magnitude; the most negative integer is its own."""
    if dtype in FLOAT:
        return b.call("llvm.fabs", VALUE[dtype], x)
    if dtype not in SIGNED:
        return x
    kind = b.type(dtype)
    name = f"@llvm.abs.{suffix(VALUE[dtype], b.lanes)}"
    b.declare(f"{kind} {name}({kind}, i1)")
    return b.value(f"call {kind} {name}({kind} {x}, i1 false)")


def _upper_half(b: Builder, dtype: DType, x: str, y: str) -> str:
    """The product in 64 bits, shifted: vector units have that multiplication."""
    narrow, wide = b.type(dtype), b.vector("i64")
    x, y = (b.value(f"zext {narrow} {operand} to {wide}") for operand in (x, y))
    product = b.value(f"mul {wide} {x}, {y}")
    upper = b.value(f"lshr {wide} {product}, {b.constant('i64', 32)}")
    return b.value(f"trunc {wide} {upper} to {narrow}")


def _dot4(b: Builder, _dtype: DType, x: str, y: str) -> str:
    return dot4(b, x, y)


# --- division of integers, rounded down ---


def _division(*, rest: bool) -> Code:
    def code(b: Builder, dtype: DType, x: str, y: str) -> str:
        known = b.known(y) or 0
        if known <= 0 or dtype in SIGNED:
            return _divided(b, dtype, x, y)[rest]
        kind, of = b.type(dtype), VALUE[dtype]
        if known & (known - 1):
            return b.value(f"{'urem' if rest else 'udiv'} {kind} {x}, {y}")
        if rest:
            return b.value(f"and {kind} {x}, {b.constant(of, known - 1)}")
        return b.value(f"lshr {kind} {x}, {b.constant(of, known.bit_length() - 1)}")

    return code


def _divided(b: Builder, dtype: DType, x: str, y: str) -> tuple[str, str]:
    """The quotient and the rest: both 0 where the divisor is 0, and the most negative number over -1 wraps."""
    kind, of = b.type(dtype), VALUE[dtype]
    zero, unit = b.constant(of, 0), b.constant(of, 1)
    by_zero = b.value(f"icmp eq {kind} {y}, {zero}")
    if dtype not in SIGNED:
        divisor = select(b, dtype, by_zero, unit, y)
        quotient, rest = (b.value(f"{op} {kind} {x}, {divisor}") for op in ("udiv", "urem"))
    else:
        by_minus_one = b.value(f"icmp eq {kind} {y}, {b.constant(of, -1)}")
        safe = select(b, dtype, by_minus_one, unit, y)
        divisor = select(b, dtype, by_zero, unit, safe)
        quotient, rest = (b.value(f"{op} {kind} {x}, {divisor}") for op in ("sdiv", "srem"))
        quotient, rest = _down(b, dtype, quotient, rest, divisor)
        quotient = select(b, dtype, by_minus_one, _negative(b, dtype, x), quotient)
    return select(b, dtype, by_zero, zero, quotient), select(b, dtype, by_zero, zero, rest)


def _down(b: Builder, dtype: DType, quotient: str, rest: str, divisor: str) -> tuple[str, str]:
    """What was rounded towards zero, rounded down."""
    kind, of = b.type(dtype), VALUE[dtype]
    zero, truth = b.constant(of, 0), b.vector("i1")
    signs = b.value(f"xor {kind} {rest}, {divisor}")
    unlike = b.value(f"icmp slt {kind} {signs}, {zero}")
    some = b.value(f"icmp ne {kind} {rest}, {zero}")
    down = b.value(f"and {truth} {some}, {unlike}")
    lower = b.value(f"sub {kind} {quotient}, {b.constant(of, 1)}")
    moved = b.value(f"add {kind} {rest}, {divisor}")
    return select(b, dtype, down, lower, quotient), select(b, dtype, down, moved, rest)


# --- bits ---


def _shift(*, left: bool) -> Code:
    """A count beyond the width, or below zero, shifts everything out."""

    def code(b: Builder, dtype: DType, x: str, count: str) -> str:
        kind, of, width = b.type(dtype), VALUE[dtype], 8 * dtype.itemsize
        op = "shl" if left else "ashr" if dtype in SIGNED else "lshr"
        if b.known(count) in range(width):
            return b.value(f"{op} {kind} {x}, {count}")
        within = b.value(f"icmp ult {kind} {count}, {b.constant(of, width)}")
        if not left and dtype in SIGNED:
            safe = select(b, dtype, within, count, b.constant(of, width - 1))
            return b.value(f"{op} {kind} {x}, {safe}")
        zero = b.constant(of, 0)
        safe = select(b, dtype, within, count, zero)
        shifted = b.value(f"{op} {kind} {x}, {safe}")
        return select(b, dtype, within, shifted, zero)

    return code


def _inverted(b: Builder, dtype: DType, x: str) -> str:
    ones = "true" if dtype == bool_ else -1
    return b.value(f"xor {b.type(dtype)} {x}, {b.constant(VALUE[dtype], ones)}")


# --- comparisons and choices ---


def _compared(of_float: str, unsigned: str, signed: str = "") -> Code:
    def code(b: Builder, dtype: DType, x: str, y: str) -> str:
        if dtype in FLOAT:
            return b.value(f"fcmp {of_float} {b.type(dtype)} {x}, {y}")
        way = signed if signed and dtype in SIGNED else unsigned
        return b.value(f"icmp {way} {b.type(dtype)} {x}, {y}")

    return code


def _extreme(of_float: str, of_integer: str, of_boolean: str) -> Code:
    """NaN wins, and -0.0 is below 0.0."""

    def code(b: Builder, dtype: DType, x: str, y: str) -> str:
        if dtype in FLOAT:
            return b.call(of_float, VALUE[dtype], x, y)
        if dtype == bool_:
            return b.value(f"{of_boolean} {b.type(dtype)} {x}, {y}")
        return b.call(f"llvm.{'s' if dtype in SIGNED else 'u'}{of_integer}", VALUE[dtype], x, y)

    return code


def select(b: Builder, dtype: DType, condition: str, x: str, y: str) -> str:
    """Write a choice between two values."""
    kind = b.type(dtype)
    return b.value(f"select {b.vector('i1')} {condition}, {kind} {x}, {kind} {y}")


OPS: dict[str, Code] = {
    "add": _two("fadd", "add"),
    "subtract": _two("fsub", "sub"),
    "multiply": _two("fmul", "mul"),
    "multiply_high": _upper_half,
    "dot4": _dot4,
    "divide": _two("fdiv", "udiv"),
    "negative": _negative,
    "abs": _absolute,
    "fma": _of_llvm("fma"),
    # their order is that of lanes, which loops have by now
    "accumulate_add": _two("fadd", "add"),
    "accumulate_multiply": _two("fmul", "mul"),
    "floor_divide": _division(rest=False),
    "remainder": _division(rest=True),
    "sqrt": _of_llvm("sqrt"),
    "floor": _of_llvm("floor"),
    "ceil": _of_llvm("ceil"),
    "trunc": _of_llvm("trunc"),
    "round": _of_llvm("rint"),
    "copysign": _of_llvm("copysign"),
    "maximum": _extreme("llvm.maximum", "max", "or"),
    "minimum": _extreme("llvm.minimum", "min", "and"),
    "less": _compared("olt", "ult", "slt"),
    "less_equal": _compared("ole", "ule", "sle"),
    "greater": _compared("ogt", "ugt", "sgt"),
    "greater_equal": _compared("oge", "uge", "sge"),
    "equal": _compared("oeq", "eq"),
    "not_equal": _compared("une", "ne"),
    "logical_and": _two("", "and"),
    "logical_or": _two("", "or"),
    "logical_not": _inverted,
    "bitwise_and": _two("", "and"),
    "bitwise_or": _two("", "or"),
    "bitwise_xor": _two("", "xor"),
    "bitwise_invert": _inverted,
    "bitwise_left_shift": _shift(left=True),
    "bitwise_right_shift": _shift(left=False),
    "where": select,
}
