"""Memory: arrays, their elements, and scratch memory.

What is loaded from inputs and what is stored do not overlap, except that a store may overwrite what was loaded from the
very same place before, and outputs do not overlap either. Alias scopes say so: loops need no checks to become vector
code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.conversions import narrowed, widened
from tensorframe.codegen.llvm.types import ELEMENT, suffix
from tensorframe.dtypes import NARROW, DType, bool_
from tensorframe.kernel.ir import Buffer, Role
from tensorframe.machine import HOST

_INPUTS, _SCRATCH = "inputs", "scratch"


class Memory:
    """The buffers of a kernel, as pointers."""

    def __init__(self, b: Builder, outputs: Iterable[Buffer]) -> None:
        self._b = b
        self._pointers: dict[Buffer, str] = {}
        self._past_caches: dict[Buffer, str] = {}  # where scratch buffers go instead of memory
        self._written = [_INPUTS, _SCRATCH, *[output.name for output in outputs]]

    def add(self, buffer: Buffer, pointer: str) -> None:
        """Say where a buffer begins."""
        self._pointers[buffer] = pointer

    @contextmanager
    def past_caches(self, places: Mapping[Buffer, str]) -> Iterator[None]:
        """Have scratch buffers meanwhile be elsewhere, where lines of the cache begin, and whole vectors go past it."""
        self._past_caches.update(places)
        yield
        self._past_caches.clear()

    def allocate(self, buffer: Buffer, size: str) -> None:
        """Make the memory of a scratch buffer of so many bytes."""
        b = self._b
        # whole cache lines: neighbours of other threads are not in them, and C wants a multiple of the alignment
        more = b.value(f"add i64 {size}, {HOST.line - 1}")
        whole = b.value(f"and i64 {more}, {-HOST.line}")
        if b.target.is_windows:
            b.declare("noalias ptr @_aligned_malloc(i64, i64)")
            call = f"@_aligned_malloc(i64 {whole}, i64 {HOST.line})"
        else:
            b.declare("noalias ptr @aligned_alloc(i64, i64)")
            call = f"@aligned_alloc(i64 {HOST.line}, i64 {whole})"
        self.add(buffer, b.value(f"call noalias ptr {call}"))

    def release(self, buffer: Buffer) -> None:
        """Give scratch memory back."""
        name = "_aligned_free" if self._b.target.is_windows else "free"
        self._b.declare(f"void @{name}(ptr)")
        self._b.do(f"call void @{name}(ptr {self._pointers[buffer]})")

    def origin(self, buffer: Buffer, position: str) -> str:
        """Return an address that is the same for a whole loop, as one that LLVM looks no further into."""
        b, kind = self._b, ELEMENT[buffer.dtype]
        place = f"getelementptr {kind}, ptr {self._base(buffer)}, i64 {position}"
        return b.opaque("ptr", b.value(place))

    def pointer(self, buffer: Buffer, position: str, *, inbounds: bool = True) -> str:
        """Return the address of an element, or, if it need not be there, of where it would be."""
        kind = ELEMENT[buffer.dtype]
        way = "inbounds " if inbounds else ""
        base = self._base(buffer)
        return self._b.value(f"getelementptr {way}{kind}, ptr {base}, i64 {position}")

    def _base(self, buffer: Buffer) -> str:
        return self._past_caches.get(buffer) or self._pointers[buffer]

    def load(self, buffer: Buffer, position: str) -> str:
        """Return an element as a value."""
        return self.load_from(self.pointer(buffer, position), buffer)

    def load_from(self, place: str, buffer: Buffer, mask: str = "") -> str:
        """Return the element at an address, or neighbours in the lanes of a value; with a mask, those that it has."""
        b, kind = self._b, self._b.vector(ELEMENT[buffer.dtype])
        said = self._read(buffer)
        if not mask:
            align = buffer.dtype.itemsize
            return self.as_value(b.value(f"load {kind}, ptr {place}, align {align}{said}"), buffer)
        name, size = self._masked("load", buffer)
        masks = b.vector("i1")
        b.declare(f"{kind} {name}(ptr, i32, {masks}, {kind})")
        given = f"ptr {place}, i32 {size}, {masks} {mask}, {kind} zeroinitializer"
        return self.as_value(b.value(f"call {kind} {name}({given}){said}"), buffer)

    def store(self, buffer: Buffer, position: str, value: str) -> None:
        """Write an element."""
        self.store_to(self.pointer(buffer, position), buffer, value)

    def store_to(self, place: str, buffer: Buffer, value: str, mask: str = "") -> None:
        """Write an element to an address, or neighbours from the lanes of a value; with a mask, those that it has."""
        b, element = self._b, self.as_element(value, buffer.dtype)
        kind, said = b.vector(ELEMENT[buffer.dtype]), self._written_to(buffer)
        if not mask:
            align = buffer.dtype.itemsize
            if buffer in self._past_caches:
                align = min(align * b.lanes, HOST.line)
                said += f", !nontemporal {b.metadata('!{i32 1}')}"
            b.do(f"store {kind} {element}, ptr {place}, align {align}{said}")
            return
        name, size = self._masked("store", buffer)
        masks = b.vector("i1")
        b.declare(f"void {name}({kind}, ptr, i32, {masks})")
        b.do(f"call void {name}({kind} {element}, ptr {place}, i32 {size}, {masks} {mask}){said}")

    def _masked(self, way: str, buffer: Buffer) -> tuple[str, int]:
        """Return LLVM's function that loads or stores lanes that a mask has, and the alignment of elements."""
        short = suffix(ELEMENT[buffer.dtype], self._b.lanes)
        return f"@llvm.masked.{way}.{short}.p0", buffer.dtype.itemsize

    # --- elements and values ---

    def as_value(self, element: str, buffer: Buffer) -> str:
        """Return what an element is in a register."""
        dtype, b = buffer.dtype, self._b
        if dtype == bool_:
            return b.value(f"icmp ne {b.vector('i8')} {element}, {b.constant('i8', 0)}")
        return widened(b, element, dtype) if dtype in NARROW else element

    def as_element(self, value: str, dtype: DType) -> str:
        """Return what a value is in memory."""
        b = self._b
        if dtype == bool_:
            return b.value(f"zext {b.vector('i1')} {value} to {b.vector('i8')}")
        return narrowed(b, value, dtype) if dtype in NARROW else value

    # --- alias scopes ---

    def _scope(self, buffer: Buffer) -> str:
        if buffer.role is Role.INPUT:
            return _INPUTS
        return _SCRATCH if buffer.role is Role.SCRATCH else buffer.name

    def _scopes(self, names: Iterable[str]) -> str:
        b = self._b
        domain = b.metadata('!{!"tensorframe"}')
        scopes = [b.metadata(f'!{{!"{name}", {domain}}}') for name in names]
        return b.metadata(f"!{{{', '.join(scopes)}}}")

    def _read(self, buffer: Buffer) -> str:
        return f", !alias.scope {self._scopes([self._scope(buffer)])}"

    def _written_to(self, buffer: Buffer) -> str:
        """Return what is said of a store."""
        own = self._scope(buffer)
        others = self._scopes([name for name in self._written if name != own])
        return f", !alias.scope {self._scopes([own])}, !noalias {others}"
