"""Streams: whole lines written past the caches, into which an ordinary store would read them first."""

from __future__ import annotations

from llvmlite import ir
from numba.core import types

from tensorframe.backends.numba.intrinsics.define import (
    BIT,
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
from tensorframe.backends.numba.target import processor

_STREAM = "stream"
_LINE = ir.VectorType(WORD, CACHE_LINE // 4)


def _function(module: Value) -> Value:
    """Return the function of a module that copies bytes: whole lines past the caches, the ends as ever."""
    known = module.globals.get(_STREAM)
    if known is not None:
        return known
    function = ir.Function(module, ir.FunctionType(VOID, [POINTER, POINTER, LONG]), _STREAM)
    to, source, size = function.args
    to.add_attribute("noalias")
    source.add_attribute("noalias")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    past = builder.and_(builder.ptrtoint(to, LONG), LONG(CACHE_LINE - 1))
    head = builder.and_(builder.sub(LONG(CACHE_LINE), past), LONG(CACHE_LINE - 1))
    head = builder.select(builder.icmp_unsigned("<", head, size), head, size)
    _copy(builder, to, source, LONG(0), head)
    whole = builder.and_(builder.sub(size, head), LONG(-CACHE_LINE))
    end = builder.add(head, whole)
    loop, done = function.append_basic_block("loop"), function.append_basic_block("done")
    entry = builder.block
    builder.cbranch(builder.icmp_unsigned("<", head, end), loop, done)
    builder.position_at_end(loop)
    at = builder.phi(LONG)
    line = builder.load(_lines(builder, source, at))
    line.align = 1
    written = builder.store(line, _lines(builder, to, at))
    written.align = CACHE_LINE
    written.set_metadata("nontemporal", module.add_metadata([WORD(1)]))
    after = builder.add(at, LONG(CACHE_LINE))
    at.add_incoming(head, entry)
    at.add_incoming(after, loop)
    builder.cbranch(builder.icmp_unsigned("<", after, end), loop, done)
    builder.position_at_end(done)
    _copy(builder, to, source, end, builder.sub(size, end))
    builder.ret_void()
    return function


def _lines(builder: Value, address: Value, at: Value) -> Value:
    return builder.bitcast(builder.gep(address, [at], inbounds=True), _LINE.as_pointer())


def _copy(builder: Value, to: Value, source: Value, at: Value, size: Value) -> None:
    """Copy less than a line."""
    kinds = [POINTER, POINTER, LONG]
    copy = builder.module.declare_intrinsic("llvm.memcpy", kinds)
    with builder.if_then(builder.icmp_unsigned("!=", size, LONG(0))):
        places = [builder.gep(one, [at], inbounds=True) for one in (to, source)]
        builder.call(copy, [*places, size, BIT(0)])


def _rule(to: Value, at: Value, source: Value, count: Value) -> Value:
    fits = isinstance(to, Address) and isinstance(source, Address)
    return types.void if fits and at in INDICES and count in INDICES else None


def _stream(itemsize: int) -> Code:
    def code(
        builder: Value, shape: Value, to: Value, at: Value, source: Value, count: Value
    ) -> None:
        first, size = (builder.mul(one, LONG(itemsize)) for one in (at, count))
        place = builder.gep(to, [first], inbounds=True)
        builder.call(_function(builder.module), [place, source, size])

    return code


def _fence(builder: Value, shape: Value) -> None:
    """Have everything that was streamed arrive before whatever is written next; on other processors, any lock does."""
    if processor().triple.startswith("x86_64"):
        name = "llvm.x86.sse.sfence"
        known = builder.module.globals.get(name)
        builder.call(known or ir.Function(builder.module, ir.FunctionType(VOID, []), name), [])


for _type in NUMBERS:
    define(f"stream_{_type.name}", _rule, _stream(_type.bitwidth // 8))
define("stream_bool_", _rule, _stream(1))
define("stream_float16", _rule, _stream(2))
define("stream_bfloat16", _rule, _stream(2))
define("fence", lambda: types.void, _fence)
