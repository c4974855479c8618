"""Streaming stores, forwarded: loops on vectors write past the caches what they would leave in scratch memory.

So a row is stored once, not stored, loaded and stored again. Such stores need whole lines of the cache. Rows that do
not begin with one are brought to memory by a loop of their own (`lines.py`), as they are on processors without masks,
whose loops LLVM vectorises. Where an output does not begin with a line, which the pool's memory always does, the same
loop fills scratch memory, and that is copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager

from tensorframe.codegen.llvm import lines
from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.expressions import evaluated
from tensorframe.codegen.llvm.memory import Memory
from tensorframe.codegen.llvm.steps import Steps
from tensorframe.kernel import ir
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.kernel.ir.walk import in_order
from tensorframe.machine import HOST

Names = Mapping[ir.Expr, str]


class Streams:
    """The streams of a kernel."""

    def __init__(self, b: Builder, memory: Memory) -> None:
        self._b = b
        self._memory = memory
        # of those that are forwarded, whether their elements are at their place already
        self._are_there: dict[ir.StreamingStore, str] = {}

    def forwarded(
        self, loop: ir.Loop, steps: Steps, following: Iterable[ir.Statement], names: Names
    ) -> AbstractContextManager[None]:
        """Have a loop on vectors, written meanwhile, store to where streams that follow it go, as far as it can."""
        b, memory, places = self._b, self._memory, {}
        for stream in following:
            if isinstance(stream, ir.StreamingStore) and _is_filled(stream, loop, steps, names):
                place = memory.pointer(stream.buffer, evaluated(b, memory, stream.position, names))
                begun = b.value(
                    f"and i64 {b.value(f'ptrtoint ptr {place} to i64')}, {HOST.line - 1}"
                )
                on_line = self._are_there[stream] = b.value(f"icmp eq i64 {begun}, 0")
                scratch = memory.pointer(stream.source, "0")
                target = f"select i1 {on_line}, ptr {place}, ptr {scratch}"
                places[stream.source] = b.value(target)
        return memory.past_caches(places)

    def write(self, stream: ir.StreamingStore, place: str, size: str) -> None:
        """Write what brings so many bytes to their place, if they are not there."""
        b, scratch = self._b, self._memory.pointer(stream.source, "0")
        are_there = self._are_there.get(stream)
        if are_there is None:
            lines.stream(b, place, scratch, size)
            return
        copying, after = b.new_label(), b.new_label()
        b.branch(are_there, after, copying)
        b.begin(copying)
        lines.copy(b, place, scratch, size)
        b.jump(after)
        b.begin(after)


def _is_filled(stream: ir.StreamingStore, loop: ir.Loop, steps: Steps, names: Names) -> bool:
    """Whether a loop fills all that is streamed, from its first element on and by whole vectors, to a known place."""
    if not stream.on_line or stream.buffer.dtype.itemsize != steps.widest:
        return False
    named = in_order((stream.position,), {})
    return _begins_buffer(stream.source, loop) and all(
        expr in names for expr in named if not isinstance(expr, ir.Apply | ir.Literal)
    )


def _begins_buffer(buffer: ir.Buffer, loop: ir.Loop) -> bool:
    """Whether a loop stores its elements to a buffer, the first one where that begins."""
    first = loop.index if loop.start is ZERO else loop.index - loop.start
    values: dict[ir.Expr, ir.Expr] = {}
    for statement in loop.body:
        if isinstance(statement, ir.Let):
            values[statement.variable] = statement.value
        elif isinstance(statement, ir.Store) and statement.buffer is buffer:
            return values.get(statement.position, statement.position) is first
    return False
