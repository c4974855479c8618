"""Ops on scalars of one type, with NumPy's meaning: integers wrap, NaN stays, nothing branches or raises."""

from __future__ import annotations

from numba.core import types

from tensorframe.backends.numba.intrinsics.define import (
    BIT,
    FLOATS,
    INTEGERS,
    LONG,
    MACHINE,
    NUMBERS,
    SCALARS,
    SIGNED,
    Code,
    Value,
    call_llvm,
    define,
    define_alike,
)


def _of_llvm(name: str) -> Code:
    return lambda builder, kind, *operands: call_llvm(builder, name, MACHINE[kind], *operands)


for _name in ("rint", "floor", "ceil", "trunc", "sqrt", "fabs"):
    define_alike(_name, 1, FLOATS, _of_llvm(f"llvm.{_name}"))
define_alike("copysign", 2, FLOATS, _of_llvm("llvm.copysign"))
define_alike("fma", 3, FLOATS, _of_llvm("llvm.fma"))


# --- arithmetic: Numba's own operators promote small integers ---


def _either_way(of_float: str, of_integer: str, flags: tuple[str, ...] = ()) -> Code:
    def code(builder: Value, kind: Value, x: Value, y: Value) -> Value:
        if kind in FLOATS:
            return getattr(builder, of_float)(x, y, flags=flags)
        return getattr(builder, of_integer)(x, y)

    return code


def _upper_half(builder: Value, kind: Value, x: Value, y: Value) -> Value:
    """The product in 64 bits, shifted: vector units have that multiplication."""
    product = builder.mul(builder.zext(x, LONG), builder.zext(y, LONG))
    return builder.trunc(builder.lshr(product, LONG(32)), MACHINE[kind])


define_alike("add", 2, NUMBERS, _either_way("fadd", "add"))
define_alike("subtract", 2, NUMBERS, _either_way("fsub", "sub"))
define_alike("multiply", 2, NUMBERS, _either_way("fmul", "mul"))
define_alike("multiply_high", 2, (types.uint32,), _upper_half)
define_alike("divide", 2, FLOATS, lambda builder, kind, x, y: builder.fdiv(x, y))
# in whatever order is fastest; `reassoc` alone leaves NaN, infinities and signed zeros their meaning
define_alike("add_any", 2, NUMBERS, _either_way("fadd", "add", ("reassoc",)))
define_alike("multiply_any", 2, NUMBERS, _either_way("fmul", "mul", ("reassoc",)))


def _negative(builder: Value, kind: Value, x: Value) -> Value:
    return builder.fneg(x) if kind in FLOATS else builder.neg(x)


def _absolute(builder: Value, kind: Value, x: Value) -> Value:
    """The magnitude; the most negative integer is its own."""
    if kind in FLOATS:
        return call_llvm(builder, "llvm.fabs", MACHINE[kind], x)
    return call_llvm(builder, "llvm.abs", MACHINE[kind], x, BIT(0)) if kind in SIGNED else x


define_alike("negative", 1, NUMBERS, _negative)
define_alike("absolute", 1, NUMBERS, _absolute)


# --- division with the quotient rounded down ---


def _quotient_and_rest(builder: Value, kind: Value, x: Value, y: Value) -> tuple[Value, Value]:
    """Integers: 0 and 0 where the divisor is 0, and the most negative one over -1 wraps, as in NumPy."""
    machine = MACHINE[kind]
    zero, one = machine(0), machine(1)
    by_zero = builder.icmp_unsigned("==", y, zero)
    if kind not in SIGNED:
        divisor = builder.select(by_zero, one, y)
        quotient, rest = builder.udiv(x, divisor), builder.urem(x, divisor)
    else:
        by_minus_one = builder.icmp_signed("==", y, machine(-1))
        divisor = builder.select(builder.or_(by_zero, by_minus_one), one, y)
        quotient, rest = builder.sdiv(x, divisor), builder.srem(x, divisor)
        unlike = builder.icmp_signed("<", builder.xor(rest, divisor), zero)
        down = builder.and_(builder.icmp_signed("!=", rest, zero), unlike)
        quotient = builder.select(down, builder.sub(quotient, one), quotient)
        rest = builder.select(down, builder.add(rest, divisor), rest)
        quotient = builder.select(by_minus_one, builder.neg(x), quotient)
    return builder.select(by_zero, zero, quotient), builder.select(by_zero, zero, rest)


def _float_quotient_and_rest(
    builder: Value, kind: Value, x: Value, y: Value
) -> tuple[Value, Value]:
    """The rest is exact: a call of the C library for each element."""
    machine = MACHINE[kind]
    zero, one = machine(0.0), machine(1.0)
    rest = builder.frem(x, y)
    quotient = builder.fdiv(builder.fsub(x, rest), y)
    unlike = builder.xor(builder.fcmp_ordered("<", y, zero), builder.fcmp_ordered("<", rest, zero))
    down = builder.and_(builder.fcmp_unordered("!=", rest, zero), unlike)
    quotient = builder.select(down, builder.fsub(quotient, one), quotient)
    whole = call_llvm(builder, "llvm.floor", machine, quotient)
    below = builder.fcmp_ordered(">", builder.fsub(quotient, whole), machine(0.5))
    whole = builder.select(below, builder.fadd(whole, one), whole)
    ratio = builder.fdiv(x, y)
    signed_zero = call_llvm(builder, "llvm.copysign", machine, zero, ratio)
    is_zero = builder.fcmp_ordered("==", quotient, zero)
    whole = builder.select(is_zero, signed_zero, whole)
    by_zero = builder.fcmp_ordered("==", y, zero)
    exact = builder.fcmp_ordered("==", rest, zero)
    rest_of_exact = call_llvm(builder, "llvm.copysign", machine, zero, y)
    rest = builder.select(exact, rest_of_exact, builder.select(down, builder.fadd(rest, y), rest))
    return builder.select(by_zero, ratio, whole), rest


def _division(builder: Value, kind: Value, x: Value, y: Value) -> tuple[Value, Value]:
    divide = _float_quotient_and_rest if kind in FLOATS else _quotient_and_rest
    return divide(builder, kind, x, y)


define_alike("floor_divide", 2, NUMBERS, lambda *given: _division(*given)[0])
define_alike("remainder", 2, NUMBERS, lambda *given: _division(*given)[1])
# what remains of a quotient rounded towards zero
define_alike("fmod", 2, FLOATS, lambda builder, kind, x, y: builder.frem(x, y))


# --- bits ---


def _shift(left: bool) -> Code:
    """A count beyond the width, or below zero, shifts everything out."""

    def code(builder: Value, kind: Value, x: Value, count: Value) -> Value:
        machine = MACHINE[kind]
        width = machine(kind.bitwidth)
        within = builder.icmp_unsigned("<", count, width)
        if not left and kind in SIGNED:
            return builder.ashr(x, builder.select(within, count, machine(kind.bitwidth - 1)))
        shift = builder.shl if left else builder.lshr
        shifted = shift(x, builder.select(within, count, machine(0)))
        return builder.select(within, shifted, machine(0))

    return code


BITS = (types.boolean, *INTEGERS)
define_alike("bitwise_and", 2, BITS, lambda builder, kind, x, y: builder.and_(x, y))
define_alike("bitwise_or", 2, BITS, lambda builder, kind, x, y: builder.or_(x, y))
define_alike("bitwise_xor", 2, BITS, lambda builder, kind, x, y: builder.xor(x, y))
define_alike("bitwise_invert", 1, BITS, lambda builder, kind, x: builder.not_(x))
define_alike("left_shift", 2, INTEGERS, _shift(left=True))
define_alike("right_shift", 2, INTEGERS, _shift(left=False))


# --- choice ---


def _extreme(of_float: str, of_integer: str, of_boolean: str) -> Code:
    """NaN wins, and -0.0 is below 0.0."""

    def code(builder: Value, kind: Value, x: Value, y: Value) -> Value:
        if kind in FLOATS:
            return call_llvm(builder, of_float, MACHINE[kind], x, y)
        if kind == types.boolean:
            return getattr(builder, of_boolean)(x, y)
        sign = "s" if kind in SIGNED else "u"
        return call_llvm(builder, f"llvm.{sign}{of_integer}", MACHINE[kind], x, y)

    return code


define_alike("maximum", 2, SCALARS, _extreme("llvm.maximum", "max", "or_"))
define_alike("minimum", 2, SCALARS, _extreme("llvm.minimum", "min", "and_"))


def _select_rule(condition: Value, x: Value, y: Value) -> Value:
    return x if condition == types.boolean and x == y and x in SCALARS else None


def _select(builder: Value, shape: Value, condition: Value, x: Value, y: Value) -> Value:
    return builder.select(condition, x, y)


define("select", _select_rule, _select)
