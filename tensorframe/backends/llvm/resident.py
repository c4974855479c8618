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
from contextlib import suppress
from functools import cache
from struct import Struct, iter_unpack
from typing import Any

from tensorframe.backends import c_heap
from tensorframe.quick_tuples import NamedTuple

# of <elf.h>: a segment that is loaded, and what may be done with it
_LOADED, _EXECUTABLE, _WRITABLE = 1, 1, 2
# of a file's header: where the descriptions of segments begin, and how many there are; kind, flags and offset of each,
# and its size in the file
_HEADERS, _SEGMENT = Struct("=32xQ16xH6x"), "=2IQ16xQ16x"
_SEGMENT_SIZE = 56
_NAME = (
    "libllvmlite"  # how the name of the library's file begins; drivers have an LLVM of their own
)


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
    """Return the segments of LLVM's library in the order of its file; none where that cannot be told.

    The loader could say it, but it calls back with its lock held, for which others wait who import a module: they have
    the interpreter's lock, and each would wait for the other.
    """
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return ()
    with suppress(OSError):  # no such file system, or the library's file was deleted
        return tuple(_mapped())
    return ()


def _mapped() -> Iterator[_Segment]:
    with open("/proc/self/maps", "rb") as file:
        lines = file.read().splitlines()
    for line in lines:
        where, may, offset, *_, name = line.split(maxsplit=5)
        if name.rpartition(b"/")[2].startswith(_NAME.encode()) and b"w" not in may:
            begin, end = (int(address, 16) for address in where.split(b"-"))
            size = min(
                end - begin, _unwritten(name.decode(errors="surrogateescape"), int(offset, 16))
            )
            if size > 0:
                yield _Segment(begin, size, b"x" in may)


def _unwritten(name: str, offset: int) -> int:
    """Return the bytes of whole pages in the read-only segment at this offset of a file; 0 if there is none."""
    with open(name, "rb") as file:
        start, count = _HEADERS.unpack(file.read(_HEADERS.size))
        file.seek(start)
        segments = file.read(count * _SEGMENT_SIZE)
    for kind, flags, first, size in iter_unpack(_SEGMENT, segments):
        begin, end = (place // mmap.PAGESIZE * mmap.PAGESIZE for place in (first, first + size))
        if kind == _LOADED and not flags & _WRITABLE and begin == offset:
            return int(end - begin)
    return 0


@cache
def _library() -> Any:
    library = ctypes.CDLL(None)
    library.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return library
