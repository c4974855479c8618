"""Software prefetch and streaming stores: whole lines of the cache, prefetched, or written past it.

Written where they are needed: to compile a function of its own takes LLVM longer than all instructions in one of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tensorframe.codegen.llvm.builder import Builder
from tensorframe.machine import HOST


def fetch(b: Builder, start: str, size: str) -> None:
    """Ask for so many bytes from an address on, line by line; what is no memory is passed over."""
    if size.isdecimal() and int(size) <= HOST.line:  # those of an element or two
        _fetch_line(b, start)
        return
    start = b.opaque("ptr", start)
    # unrolled, a burst of a page would take Zen 3 a fifth of the time of a softmax's rows
    rolled = b.distinct_loop(b.metadata('!{!"llvm.loop.unroll.disable"}'))
    with _each_line(b, "0", b.opaque("i64", size), f", !llvm.loop {rolled}") as position:
        _fetch_line(b, b.value(f"getelementptr i8, ptr {start}, i64 {position}"))


def fetch_beyond(b: Builder, place: str) -> None:
    """Ask for the line of an address, for the second level of cache: the nearest one is full of what it meets."""
    _fetch_line(b, place, locality=2)


def _fetch_line(b: Builder, place: str, *, locality: int = 3) -> None:
    b.declare("void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    b.do(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 {locality}, i32 1)")


def stream(b: Builder, to: str, source: str, size: str) -> None:
    """Copy so many bytes: whole lines past the caches, into which a store would read them first, the ends as ever."""
    b.declare("i64 @llvm.umin.i64(i64, i64)")
    to, source = b.opaque("ptr", to), b.opaque("ptr", source)
    missing = b.value(f"sub i64 0, {b.value(f'ptrtoint ptr {to} to i64')}")
    first = b.value(f"and i64 {missing}, {HOST.line - 1}")
    head = b.opaque("i64", b.value(f"call i64 @llvm.umin.i64(i64 {first}, i64 {size})"))
    copy(b, to, source, head)
    whole = b.value(f"and i64 {b.value(f'sub i64 {size}, {head}')}, {-HOST.line}")
    end = b.opaque("i64", b.value(f"add i64 {head}, {whole}"))
    line, past = f"<{HOST.line // 4} x i32>", b.metadata("!{i32 1}")
    with _each_line(b, head, end) as position:
        place = b.value(f"getelementptr inbounds i8, ptr {source}, i64 {position}")
        value = b.value(f"load {line}, ptr {place}, align 1")
        place = b.value(f"getelementptr inbounds i8, ptr {to}, i64 {position}")
        b.do(f"store {line} {value}, ptr {place}, align {HOST.line}, !nontemporal {past}")
    last = b.value(f"getelementptr inbounds i8, ptr {to}, i64 {end}")
    last_source = b.value(f"getelementptr inbounds i8, ptr {source}, i64 {end}")
    copy(b, last, last_source, b.value(f"sub i64 {size}, {end}"))


def fence(b: Builder) -> None:
    """Have everything that was streamed arrive before whatever is written next; on other processors, any lock does."""
    if b.target.is_x86:
        b.declare("void @llvm.x86.sse.sfence()")
        b.do("call void @llvm.x86.sse.sfence()")


def copy(b: Builder, to: str, source: str, size: str) -> None:
    """Copy so many bytes as the C library does."""
    b.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    b.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")


@contextmanager
def _each_line(b: Builder, start: str, stop: str, hint: str = "") -> Iterator[str]:
    """Write a loop around what the block writes, for every position of a line from `start` to before `stop`."""
    inside, after, before = b.new_label(), b.new_label(), b.block
    b.branch(b.value(f"icmp ult i64 {start}, {stop}"), inside, after)
    b.begin(inside)
    position, line = b.open_phi("i64")
    yield position
    following = b.value(f"add nuw i64 {position}, {HOST.line}")
    b.branch(b.value(f"icmp ult i64 {following}, {stop}"), inside, after, hint)
    b.close_phi(line, (start, before), (following, inside))
    b.begin(after)
