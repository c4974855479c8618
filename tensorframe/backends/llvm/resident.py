"""Pages of LLVM's library that this process has mapped, and heap that LLVM has freed, given back to the system.

Loading LLVM maps 40 MiB of its file, compiling a few kernels 70, and the system counts these as the process's until
something else runs short. They are read only, so the system has them in its page cache as well: the next compilation
maps them again as it comes to them.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

from tensorframe.backends import c_heap
from tensorframe.quick_tuples import NamedTuple

# of <elf.h>: a segment that is loaded, and what may be done with it
_LOADED, _EXECUTABLE, _WRITABLE = 1, 1, 2
_NAME = (
    "libllvmlite"  # how the name of the library's file begins; drivers have an LLVM of their own
)


class _Header(ctypes.Structure):
    """A segment, as a program header describes it."""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("offset", ctypes.c_uint64),
        ("address", ctypes.c_uint64),
        ("physical", ctypes.c_uint64),
        ("file_size", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("alignment", ctypes.c_uint64),
    )


class _Library(ctypes.Structure):
    """A shared library in memory: `struct dl_phdr_info`."""

    _fields_ = (
        ("base", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
        ("headers", ctypes.POINTER(_Header)),
        ("count", ctypes.c_uint16),
    )


_VISIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Library), ctypes.c_size_t, ctypes.c_void_p)


class _Segment(NamedTuple):
    """Whole pages of the library that nobody writes to, those that the loader relocates not among them."""

    address: int
    size: int
    is_code: bool


def release() -> None:
    """Give back what LLVM has left in memory: 2 ms, and 3 to 4 of the next compilation. Only Linux can."""
    for segment in _segments():
        _give_back(segment)
    c_heap.trim()


def release_tables() -> None:
    """Give back the tables of symbols and relocations, which are read once, as the library is loaded."""
    for segment in _segments()[:1]:
        if not segment.is_code:
            _give_back(segment)


def _give_back(segment: _Segment) -> None:
    _library().madvise(segment.address, segment.size, mmap.MADV_DONTNEED)


@cache
def _segments() -> tuple[_Segment, ...]:
    """Return the segments of LLVM's library in the order of its file; none where that cannot be told."""
    segments: list[_Segment] = []
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return ()

    def visit(library: Any, _size: int, _data: Any) -> int:
        name = (library.contents.name or b"").decode(errors="replace").rpartition("/")[2]
        if name.startswith(_NAME):
            segments.extend(_read_only(library.contents))
        return 0

    _library().dl_iterate_phdr(_VISIT(visit), None)
    return tuple(segments)


def _read_only(library: Any) -> Iterator[_Segment]:
    for header in library.headers[: library.count]:
        if header.kind == _LOADED and not header.flags & _WRITABLE:
            begin = library.base + header.address
            first = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE
            size = (begin + header.size) // mmap.PAGESIZE * mmap.PAGESIZE - first
            if size > 0:
                yield _Segment(first, size, bool(header.flags & _EXECUTABLE))


@cache
def _library() -> Any:
    library = ctypes.CDLL(None)
    library.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return library
