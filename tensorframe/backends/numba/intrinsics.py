"""The namespace of printed kernels: what a kernel says beyond loops and arithmetic, each as the LLVM code it means.

Values have the types of NumPy's scalars; float16 and bfloat16 exist in memory only, their values are float32.
Nothing here branches, raises or checks: a loop over these becomes vector code.

Memory is reached through addresses, a type of their own. What `load_T` reads and what `store_T` writes do not overlap,
except that a store may overwrite what was loaded from the very same place before; arrays in different slots do not
overlap either. `peek_T` reads what the kernel itself has written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models
from numba.core.extending import intrinsic, register_model

from tensorframe.backends.numba.abi import data_offset

Value = Any  # llvmlite's values, builders and types, and Numba's types, have no type information
Build = Callable[..., Value]

BIT, BYTE, SHORT, WORD, LONG = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
POINTER = BYTE.as_pointer()
HALF, FLOAT, DOUBLE = ir.HalfType(), ir.FloatType(), ir.DoubleType()

SIGNED = (types.int8, types.int16, types.int32, types.int64)
UNSIGNED = (types.uint8, types.uint16, types.uint32, types.uint64)
INTEGERS = SIGNED + UNSIGNED
FLOATS = (types.float32, types.float64)
SCALARS = (types.boolean, *INTEGERS, *FLOATS)
MACHINE = {
    types.boolean: BIT,
    **{one: ir.IntType(one.bitwidth) for one in INTEGERS},
    types.float32: FLOAT,
    types.float64: DOUBLE,
}

CACHE_LINE = 64  # and the width of the widest vectors: scratch memory begins on one
SCOPES = 32  # slots that are told apart; beyond, two may share a scope, which only promises less


class Address(types.Type):  # type: ignore[misc]
    """Where an array's data begins; `scope` says which memory that is."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(name=f"Address({scope})")


@register_model(Address)
class _AddressModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Value, address: Address) -> None:
        super().__init__(manager, address, POINTER)


SCRATCH = Address("scratch")
NAMESPACE: dict[str, Value] = {}


def _named(name: str, typed: Callable[..., Value], *, literal: bool = False) -> None:
    """Put an intrinsic into the namespace; `typed` returns its signature and code, or None for other types."""
    typed.__name__ = typed.__qualname__ = name
    NAMESPACE[name] = intrinsic(prefer_literal=literal)(typed)


def _llvm(builder: Value, name: str, result: Value, *arguments: Value) -> Value:
    """Call an LLVM intrinsic that is overloaded on its result only."""
    shape = ir.FunctionType(result, [one.type for one in arguments])
    return builder.call(builder.module.declare_intrinsic(name, [result], shape), arguments)


def _element(builder: Value, address: Value, at: Value, kind: Value) -> Value:
    """Return the pointer to an element, by pointer arithmetic: LLVM loses track of integers made pointers."""
    if isinstance(address.type, ir.IntType):
        start = builder.inttoptr(address, kind.as_pointer())
    else:
        start = builder.bitcast(address, kind.as_pointer())
    return builder.gep(start, [at], inbounds=True)


# --- slots ---


def _slot(builder: Value, slots: Value, at: Value, kind: Value) -> Value:
    return builder.load(_element(builder, slots, at, kind))


def _slot_reader(name: str, result: Value, kind: Value) -> None:
    def typed(context: Value, slots: Value, k: Value) -> Value:
        def build(_context: Value, builder: Value, _signature: Value, arguments: Value) -> Value:
            return _slot(builder, arguments[0], arguments[1], kind)

        return result(slots, k), build

    _named(name, typed)


_slot_reader("unsigned_at", types.uint64, LONG)
_slot_reader("integer_at", types.int64, LONG)
_slot_reader("float64_at", types.float64, DOUBLE)


def _array_at(context: Value, slots: Value, k: Value) -> Value:
    offset = data_offset()

    def build(_context: Value, builder: Value, _signature: Value, arguments: Value) -> Value:
        found = _slot(builder, arguments[0], arguments[1], POINTER)
        if offset is None:  # the slot holds the address of the data
            return found
        field = builder.gep(found, [LONG(offset)], inbounds=True)
        return builder.load(builder.bitcast(field, POINTER.as_pointer()))

    if not isinstance(k, types.IntegerLiteral):
        return None
    return Address(f"slot {k.literal_value % SCOPES}")(slots, k), build


_named("array_at", _array_at, literal=True)


# --- memory ---


ALL_SCOPES = ("inputs", SCRATCH.scope, *(f"slot {k}" for k in range(SCOPES)))


def _alias_scopes(module: Value, names: Iterable[str]) -> Value:
    """Return LLVM's metadata for a set of scopes; equal ones are one."""
    domain = module.add_metadata(["tensorframe"])
    return module.add_metadata([module.add_metadata([name, domain]) for name in names])


def _scope(address: Value) -> str:
    return address.scope if isinstance(address, Address) else SCRATCH.scope


Widen = Callable[[Value, Value], Value]


def _reader(name: str, result: Value, element: Value, widen: Widen, *, of_input: bool) -> None:
    def typed(context: Value, address: Value, i: Value) -> Value:
        def build(_context: Value, builder: Value, _signature: Value, arguments: Value) -> Value:
            found = builder.load(_element(builder, arguments[0], arguments[1], element))
            scope = "inputs" if of_input else _scope(address)
            found.set_metadata("alias.scope", _alias_scopes(builder.module, [scope]))
            return widen(builder, found)

        return result(address, i), build

    _named(name, typed)


def _writer(name: str, takes: Value, element: Value, narrow: Widen) -> None:
    def typed(context: Value, address: Value, i: Value, value: Value) -> Value:
        def build(_context: Value, builder: Value, _signature: Value, arguments: Value) -> None:
            place = _element(builder, arguments[0], arguments[1], element)
            written = builder.store(narrow(builder, arguments[2]), place)
            scope = _scope(address)
            others = [other for other in ALL_SCOPES if other != scope]
            written.set_metadata("alias.scope", _alias_scopes(builder.module, [scope]))
            written.set_metadata("noalias", _alias_scopes(builder.module, others))

        return (types.void(address, i, value), build) if value == takes else None

    _named(name, typed)


def _in_memory(name: str, value: Value, element: Value, widen: Widen, narrow: Widen) -> None:
    _reader(f"load_{name}", value, element, widen, of_input=True)
    _reader(f"peek_{name}", value, element, widen, of_input=False)
    _writer(f"store_{name}", value, element, narrow)


def _same(builder: Value, value: Value) -> Value:
    return value


def _float_of_bfloat(builder: Value, short: Value) -> Value:
    return builder.bitcast(builder.shl(builder.zext(short, WORD), WORD(16)), FLOAT)


def _bfloat_of_float(builder: Value, value: Value) -> Value:
    """The upper half of the bits, rounded to the nearest, halves to even; NaN stays a (quiet) NaN."""
    bits = builder.bitcast(value, WORD)
    upper = builder.lshr(bits, WORD(16))
    half = builder.add(WORD(0x7FFF), builder.and_(upper, WORD(1)))
    rounded = builder.lshr(builder.add(bits, half), WORD(16))
    is_nan = builder.fcmp_unordered("uno", value, value)
    kept = builder.select(is_nan, builder.or_(upper, WORD(0x40)), rounded)
    return builder.trunc(kept, SHORT)


for _type in (*INTEGERS, *FLOATS):
    _in_memory(_type.name, _type, MACHINE[_type], _same, _same)
_in_memory(
    "bool_",
    types.boolean,
    BYTE,
    lambda builder, byte: builder.icmp_unsigned("!=", byte, BYTE(0)),
    lambda builder, bit: builder.zext(bit, BYTE),
)
_in_memory(
    "float16",
    types.float32,
    HALF,
    lambda builder, half: builder.fpext(half, FLOAT),
    lambda builder, value: builder.fptrunc(value, HALF),
)
_in_memory("bfloat16", types.float32, SHORT, _float_of_bfloat, _bfloat_of_float)


def _declared(builder: Value, name: str, result: Value, *takes: Value) -> Value:
    known = builder.module.globals.get(name)
    return known or ir.Function(builder.module, ir.FunctionType(result, takes), name)


_ALIGNED = (
    ("_aligned_malloc", "_aligned_free") if sys.platform == "win32" else ("aligned_alloc", "free")
)


def _allocate(context: Value, size: Value) -> Value:
    def build(_context: Value, builder: Value, _signature: Value, arguments: Value) -> Value:
        function = _declared(builder, _ALIGNED[0], POINTER, LONG, LONG)
        function.return_value.add_attribute("noalias")
        # aligned_alloc wants a multiple of the alignment
        whole = builder.and_(builder.add(arguments[0], LONG(CACHE_LINE - 1)), LONG(-CACHE_LINE))
        line = LONG(CACHE_LINE)
        order = (whole, line) if sys.platform == "win32" else (line, whole)
        return builder.call(function, order)

    return SCRATCH(types.uint64), build


def _release(context: Value, address: Value) -> Value:
    def build(_context: Value, builder: Value, _signature: Value, arguments: Value) -> None:
        builder.call(_declared(builder, _ALIGNED[1], ir.VoidType(), POINTER), arguments)

    return (types.void(address), build) if address == SCRATCH else None


_named("allocate", _allocate)
_named("release", _release)


# --- arithmetic on values of one type ---


def _operation(
    name: str, arity: int, accepted: Sequence[Value], code: Build, result: Value = None
) -> None:
    """An op whose operands share one type, which is that of the result unless it is said.

    `code(builder, type, *operands)` makes it.
    """

    def resolve(kinds: Sequence[Value]) -> Value:
        kind = kinds[0]
        if kind not in accepted or any(other != kind for other in kinds):
            return None

        def build(_context: Value, builder: Value, _signature: Value, arguments: Value) -> Value:
            return code(builder, kind, *arguments)

        return (result or kind)(*kinds), build

    if arity == 1:
        _named(name, lambda context, x: resolve((x,)))
    elif arity == 2:
        _named(name, lambda context, x, y: resolve((x, y)))
    else:
        _named(name, lambda context, x, y, z: resolve((x, y, z)))


def _of_llvm(intrinsic_name: str) -> Build:
    return lambda builder, kind, *operands: _llvm(builder, intrinsic_name, MACHINE[kind], *operands)


for _name in ("rint", "floor", "ceil", "trunc", "sqrt", "fabs"):
    _operation(_name, 1, FLOATS, _of_llvm(f"llvm.{_name}"))
_operation("copysign", 2, FLOATS, _of_llvm("llvm.copysign"))
_operation("fma", 3, FLOATS, _of_llvm("llvm.fma"))


def _extreme(name: str, of_float: str, of_integer: str, of_boolean: str) -> None:
    """NaN wins, and -0.0 is below 0.0."""

    def code(builder: Value, kind: Value, x: Value, y: Value) -> Value:
        if kind in FLOATS:
            return _llvm(builder, of_float, MACHINE[kind], x, y)
        if kind == types.boolean:
            return getattr(builder, of_boolean)(x, y)
        sign = "s" if kind.signed else "u"
        return _llvm(builder, f"llvm.{sign}{of_integer}", MACHINE[kind], x, y)

    _operation(name, 2, SCALARS, code)


_extreme("maximum", "llvm.maximum", "max", "or_")
_extreme("minimum", "llvm.minimum", "min", "and_")


def _absolute(builder: Value, kind: Value, x: Value) -> Value:
    """The magnitude; the most negative integer is its own."""
    if kind in FLOATS:
        return _llvm(builder, "llvm.fabs", MACHINE[kind], x)
    return _llvm(builder, "llvm.abs", MACHINE[kind], x, BIT(0)) if kind in SIGNED else x


_operation("absolute", 1, (*INTEGERS, *FLOATS), _absolute)


def _in_any_order(of_float: str, of_integer: str) -> Build:
    def code(builder: Value, kind: Value, x: Value, y: Value) -> Value:
        if kind in FLOATS:
            # reassoc alone: NaN, infinities and signed zeros keep their meaning
            return getattr(builder, of_float)(x, y, flags=("reassoc",))
        return getattr(builder, of_integer)(x, y)

    return code


_operation("add_any", 2, (*INTEGERS, *FLOATS), _in_any_order("fadd", "add"))
_operation("multiply_any", 2, (*INTEGERS, *FLOATS), _in_any_order("fmul", "mul"))


def _select(context: Value, condition: Value, x: Value, y: Value) -> Value:
    def build(_context: Value, builder: Value, _signature: Value, arguments: Value) -> Value:
        return builder.select(*arguments)

    if condition != types.boolean or x != y or x not in SCALARS:
        return None
    return x(condition, x, y), build


_named("select", _select)


# --- from one type to another ---


def _bit_cast(name: str, result: Value) -> None:
    def typed(context: Value, x: Value) -> Value:
        def build(_context: Value, builder: Value, _signature: Value, arguments: Value) -> Value:
            return builder.bitcast(arguments[0], MACHINE[result])

        same_size = x in (*INTEGERS, *FLOATS) and x.bitwidth == result.bitwidth
        return (result(x), build) if same_size else None

    _named(name, typed)


for _type in (types.int32, types.uint32, types.float32, types.int64, types.uint64, types.float64):
    _bit_cast(f"as_{_type.name}", _type)


def _integer_of_float(builder: Value, x: Value, result: Value) -> Value:
    """As C does on most machines: towards zero; beyond the range, some number.

    Narrow and unsigned integers are the low bits of a wider signed one, so that negative numbers wrap.
    """
    if result == types.uint64:
        return _uint64_of_float(builder, x)
    in_word = result.bitwidth <= (32 if result.signed else 16)
    wide = WORD if in_word else LONG
    whole = _towards_zero(builder, x, wide)
    return whole if wide == MACHINE[result] else builder.trunc(whole, MACHINE[result])


def _towards_zero(builder: Value, x: Value, integer: Value) -> Value:
    # outside the range the result is poison, which would spoil what depends on it; frozen, it is just some number
    whole = builder.fptosi(x, integer)
    frozen = ir.instructions.Instruction(builder.block, integer, "freeze", [whole])
    builder._insert(frozen)  # llvmlite's builder has no method for it
    return frozen


def _uint64_of_float(builder: Value, x: Value) -> Value:
    half = x.type(2.0**63)
    large = builder.fcmp_ordered(">=", x, half)
    below = builder.select(large, builder.fsub(x, half), x)
    top = builder.select(large, LONG(1 << 63), LONG(0))
    return builder.xor(_towards_zero(builder, below, LONG), top)


def _converted(builder: Value, x: Value, source: Value, result: Value) -> Value:
    if source == result:
        return x
    if result == types.boolean:
        zero = MACHINE[source](0)
        unequal = builder.fcmp_unordered if source in FLOATS else builder.icmp_unsigned
        return unequal("!=", x, zero)
    if source in FLOATS:
        if result in FLOATS:
            cast = builder.fpext if result == types.float64 else builder.fptrunc
            return cast(x, MACHINE[result])
        return _integer_of_float(builder, x, result)
    if result in FLOATS:
        cast = builder.sitofp if source in SIGNED else builder.uitofp
        return cast(x, MACHINE[result])
    if MACHINE[source].width >= result.bitwidth:
        return builder.trunc(x, MACHINE[result]) if MACHINE[source].width > result.bitwidth else x
    return (builder.sext if source in SIGNED else builder.zext)(x, MACHINE[result])


def _conversion(name: str, result: Value) -> None:
    def typed(context: Value, x: Value) -> Value:
        def build(_context: Value, builder: Value, _signature: Value, arguments: Value) -> Value:
            return _converted(builder, arguments[0], x, result)

        return (result(x), build) if x in SCALARS else None

    _named(name, typed)


for _type in (*INTEGERS, *FLOATS):
    _conversion(f"to_{_type.name}", _type)
_conversion("to_bool_", types.boolean)
