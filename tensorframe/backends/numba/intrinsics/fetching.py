"""Fetching: elements asked for before they are read, so that a loop finds them in the nearest cache."""

from __future__ import annotations

from llvmlite import ir
from numba.core import types

from tensorframe.backends.numba.intrinsics.define import (
    LONG,
    NUMBERS,
    POINTER,
    VOID,
    WORD,
    Code,
    Value,
    define,
)
from tensorframe.backends.numba.intrinsics.memory import CACHE_LINE, INDICES, Address

_FETCH = "fetch"
_TO_READ, _NEAREST, _DATA = WORD(0), WORD(3), WORD(1)  # of LLVM's prefetch


def _function(module: Value) -> Value:
    """Return the function of a module that asks for bytes, line by line; what is no memory is passed over."""
    known = module.globals.get(_FETCH)
    if known is not None:
        return known
    function = ir.Function(module, ir.FunctionType(VOID, [POINTER, LONG]), _FETCH)
    start, size = function.args
    loop, done = function.append_basic_block("loop"), function.append_basic_block("done")
    entry = function.insert_basic_block(0, "entry")
    builder = ir.IRBuilder(entry)
    builder.cbranch(builder.icmp_unsigned("<", LONG(0), size), loop, done)
    builder.position_at_end(loop)
    at = builder.phi(LONG)
    ask = module.declare_intrinsic(
        "llvm.prefetch", [POINTER], ir.FunctionType(VOID, [POINTER, WORD, WORD, WORD])
    )
    builder.call(ask, [builder.gep(start, [at]), _TO_READ, _NEAREST, _DATA])
    after = builder.add(at, LONG(CACHE_LINE))
    at.add_incoming(LONG(0), entry)
    at.add_incoming(after, loop)
    builder.cbranch(builder.icmp_unsigned("<", after, size), loop, done)
    builder.position_at_end(done)
    builder.ret_void()
    return function


def _rule(address: Value, at: Value, count: Value) -> Value:
    fits = isinstance(address, Address) and at in INDICES and count in INDICES
    return types.void if fits else None


def _fetch(itemsize: int) -> Code:
    def code(builder: Value, shape: Value, address: Value, at: Value, count: Value) -> None:
        first, size = (builder.mul(one, LONG(itemsize)) for one in (at, count))
        builder.call(_function(builder.module), [builder.gep(address, [first]), size])

    return code


for _type in NUMBERS:
    define(f"fetch_{_type.name}", _rule, _fetch(_type.bitwidth // 8))
define("fetch_bool_", _rule, _fetch(1))
define("fetch_float16", _rule, _fetch(2))
define("fetch_bfloat16", _rule, _fetch(2))
