"""Arguments, arrays and scratch memory.

What `load_T` reads and what `store_T` writes do not overlap, except that a store may overwrite what was loaded from the
very same place before: then loops need no checks to become vector code. Arrays in different slots do not overlap
either. `peek_T` reads what the kernel itself has written.

An address is not an integer: LLVM loses track of integers made pointers. Only these functions take one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from numba.core import types
from numba.core.datamodel import models
from numba.core.extending import register_model

from tensorframe.backends.numba.abi import data_offset
from tensorframe.backends.numba.intrinsics.define import (
    BYTE,
    LONG,
    MACHINE,
    NUMBERS,
    POINTER,
    SHORT,
    VOID,
    Code,
    Rule,
    Value,
    call_c,
    define,
)
from tensorframe.backends.numba.intrinsics.half import (
    bfloat16_from_float32,
    float16_from_float32,
    float32_from_bfloat16,
    float32_from_float16,
)

CACHE_LINE = 64  # and the width of the widest vectors
SCOPES = 32  # slots that are told apart; two that share a scope only promise less
INDICES = (types.uint64, types.int64)
SLOTS = types.CPointer(types.uint64)


class Address(types.Type):  # type: ignore[misc]
    """Where memory begins; `scope` says which."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(name=f"Address({scope})")


@register_model(Address)
class _AddressModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Value, address: Address) -> None:
        super().__init__(manager, address, POINTER)


SCRATCH = Address("scratch")
SCOPE_NAMES = ("inputs", SCRATCH.scope, *(f"slot {k}" for k in range(SCOPES)))


def _element(builder: Value, address: Value, at: Value, kind: Value) -> Value:
    return builder.gep(builder.bitcast(address, kind.as_pointer()), [at], inbounds=True)


# --- arguments ---


def _argument(name: str, result: Value) -> None:
    def code(builder: Value, shape: Value, slots: Value, k: Value) -> Value:
        return builder.load(_element(builder, slots, k, MACHINE[result]))

    define(name, lambda slots, k: result if slots == SLOTS and k in INDICES else None, code)


def _address_of_array(slots: Value, k: Value) -> Value:
    known = slots == SLOTS and isinstance(k, types.IntegerLiteral)
    return Address(f"slot {k.literal_value % SCOPES}") if known else None


def _array_at(builder: Value, shape: Value, slots: Value, k: Value) -> Value:
    offset = data_offset()
    found = builder.load(_element(builder, slots, k, POINTER))
    if offset is None:  # the slot holds the address of the data itself
        return found
    field = builder.gep(found, [LONG(offset)], inbounds=True)
    return builder.load(builder.bitcast(field, POINTER.as_pointer()))


_argument("unsigned_at", types.uint64)
_argument("integer_at", types.int64)
_argument("float64_at", types.float64)
define("array_at", _address_of_array, _array_at, literals=True)


# --- elements ---


def _scopes(builder: Value, names: Iterable[str]) -> Value:
    """Return LLVM's metadata for a set of alias scopes; equal sets are one."""
    module = builder.module
    domain = module.add_metadata(["tensorframe"])
    return module.add_metadata([module.add_metadata([name, domain]) for name in names])


Convert = Callable[[Value, Value], Value]


def _reads(result: Value) -> Rule:
    def rule(address: Value, i: Value) -> Value:
        return result if isinstance(address, Address) and i in INDICES else None

    return rule


def _read(kind: Value, widen: Convert, scope: str | None = None) -> Code:
    def code(builder: Value, shape: Value, address: Value, i: Value) -> Value:
        found = builder.load(_element(builder, address, i, kind))
        found.set_metadata("alias.scope", _scopes(builder, [scope or shape.args[0].scope]))
        return widen(builder, found)

    return code


def _writes(value: Value) -> Rule:
    def rule(address: Value, i: Value, given: Value) -> Value:
        fits = isinstance(address, Address) and i in INDICES and given == value
        return types.void if fits else None

    return rule


def _write(kind: Value, narrow: Convert) -> Code:
    def code(builder: Value, shape: Value, address: Value, i: Value, value: Value) -> None:
        scope = shape.args[0].scope
        written = builder.store(narrow(builder, value), _element(builder, address, i, kind))
        others = [other for other in SCOPE_NAMES if other != scope]
        written.set_metadata("alias.scope", _scopes(builder, [scope]))
        written.set_metadata("noalias", _scopes(builder, others))

    return code


def _elements(name: str, value: Value, kind: Value, widen: Convert, narrow: Convert) -> None:
    define(f"load_{name}", _reads(value), _read(kind, widen, scope="inputs"))
    define(f"peek_{name}", _reads(value), _read(kind, widen))
    define(f"store_{name}", _writes(value), _write(kind, narrow))


def _same(builder: Value, value: Value) -> Value:
    return value


def _true_unless_zero(builder: Value, byte: Value) -> Value:
    return builder.icmp_unsigned("!=", byte, BYTE(0))


def _zero_or_one(builder: Value, bit: Value) -> Value:
    return builder.zext(bit, BYTE)


for _type in NUMBERS:
    _elements(_type.name, _type, MACHINE[_type], _same, _same)
_elements("bool_", types.boolean, BYTE, _true_unless_zero, _zero_or_one)
_elements("float16", types.float32, SHORT, float32_from_float16, float16_from_float32)
_elements("bfloat16", types.float32, SHORT, float32_from_bfloat16, bfloat16_from_float32)


# --- scratch memory ---


def _allocate(builder: Value, shape: Value, size: Value) -> Value:
    # whole cache lines: neighbours of other threads are not in them, and C wants a multiple of the alignment
    whole = builder.and_(builder.add(size, LONG(CACHE_LINE - 1)), LONG(-CACHE_LINE))
    line = LONG(CACHE_LINE)
    if sys.platform == "win32":
        return call_c(builder, "_aligned_malloc", POINTER, whole, line, attributes=["noalias"])
    return call_c(builder, "aligned_alloc", POINTER, line, whole, attributes=["noalias"])


def _release(builder: Value, shape: Value, address: Value) -> None:
    call_c(builder, "_aligned_free" if sys.platform == "win32" else "free", VOID, address)


define("allocate", lambda size: SCRATCH if size == types.uint64 else None, _allocate)
define("release", lambda address: types.void if address == SCRATCH else None, _release)
