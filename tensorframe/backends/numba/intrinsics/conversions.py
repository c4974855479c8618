"""From one scalar type to another: by value, as NumPy casts, and by bits."""

from __future__ import annotations

from llvmlite import ir
from numba.core import types

from tensorframe.backends.numba.intrinsics.define import (
    FLOATS,
    LONG,
    MACHINE,
    NUMBERS,
    SCALARS,
    SIGNED,
    WORD,
    Code,
    Value,
    define,
)
from tensorframe.backends.numba.intrinsics.half import (
    bfloat16_from_float32,
    float16_from_float32,
    float32_from_bfloat16,
    float32_from_float16,
)


def _towards_zero(builder: Value, x: Value, integer: Value) -> Value:
    # outside the range the result is poison, which would spoil what depends on it; frozen, it is just some number
    whole = builder.fptosi(x, integer)
    frozen = ir.instructions.Instruction(builder.block, integer, "freeze", [whole])
    builder._insert(frozen)  # llvmlite has no method for it
    return frozen


def _integer_of_float(builder: Value, x: Value, result: Value) -> Value:
    """Towards zero; beyond the range, some number.

    Narrow and unsigned integers are the low bits of a wider signed one, so that negative numbers wrap: NumPy does so.
    """
    if result == types.uint64:
        return _uint64_of_float(builder, x)
    wide = WORD if result.bitwidth <= (32 if result in SIGNED else 16) else LONG
    whole = _towards_zero(builder, x, wide)
    return whole if wide == MACHINE[result] else builder.trunc(whole, MACHINE[result])


def _uint64_of_float(builder: Value, x: Value) -> Value:
    half = x.type(2.0**63)
    large = builder.fcmp_ordered(">=", x, half)
    below = builder.select(large, builder.fsub(x, half), x)
    top = builder.select(large, LONG(1 << 63), LONG(0))
    return builder.xor(_towards_zero(builder, below, LONG), top)


def _boolean(builder: Value, x: Value, source: Value) -> Value:
    unequal = builder.fcmp_unordered if source in FLOATS else builder.icmp_unsigned
    return unequal("!=", x, MACHINE[source](0))


def _converted(builder: Value, x: Value, source: Value, result: Value) -> Value:
    machine = MACHINE[result]
    if source == result:
        return x
    if result == types.boolean:
        return _boolean(builder, x, source)
    if source in FLOATS and result in FLOATS:
        return (builder.fpext if result == types.float64 else builder.fptrunc)(x, machine)
    if source in FLOATS:
        return _integer_of_float(builder, x, result)
    if result in FLOATS:
        return (builder.sitofp if source in SIGNED else builder.uitofp)(x, machine)
    if x.type.width >= machine.width:
        return x if x.type == machine else builder.trunc(x, machine)
    return (builder.sext if source in SIGNED else builder.zext)(x, machine)


def _by_value(name: str, result: Value) -> None:
    def code(builder: Value, shape: Value, x: Value) -> Value:
        return _converted(builder, x, shape.args[0], result)

    define(name, lambda x: result if x in SCALARS else None, code)


def _by_bits(name: str, result: Value) -> None:
    def code(builder: Value, shape: Value, x: Value) -> Value:
        return builder.bitcast(x, MACHINE[result])

    define(name, lambda x: result if x in NUMBERS and x.bitwidth == result.bitwidth else None, code)


for _type in NUMBERS:
    _by_value(f"to_{_type.name}", _type)
    _by_bits(f"as_{_type.name}", _type)
_by_value("to_bool_", types.boolean)


def _rounded(name: str, narrow: Code, widen: Code) -> None:
    """A float32 rounded to a type that exists in memory only."""

    def code(builder: Value, shape: Value, x: Value) -> Value:
        return widen(builder, narrow(builder, x))

    define(name, lambda x: x if x == types.float32 else None, code)


_rounded("round_float16", float16_from_float32, float32_from_float16)
_rounded("round_bfloat16", bfloat16_from_float32, float32_from_bfloat16)
