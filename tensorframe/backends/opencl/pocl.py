"""PoCL on processors that are newer than its compiler.

The PoCL that pip installs has a compiler of 2022. On a processor that this does not know it asks itself for one called
"generic", which it then refuses: no kernel compiles (pocl/pocl issue 1049). There is no option for it, so the name is
put right where PoCL keeps it. Other drivers are never touched, nor is PoCL where it knows the processor.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_UNKNOWN = b"generic\0"
_WORDS = 256  # of PoCL's record of a device; the name has been among the first hundred

# instructions, and the name of the processor that has them
_LEVELS = ((("avx2", "fma", "bmi2"), b"x86-64-v3"), (("sse4_2",), b"x86-64-v2"), ((), b"x86-64"))


def name_processor(device: Any) -> None:
    """Have PoCL compile for the processor's instruction set if it does not know the processor."""
    if "PoCL" not in device.version or not device.version.rstrip().endswith(
        "x86_64-unknown-linux-gnu-generic"
    ):
        return
    try:
        ranges = list(_writable())
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        return
    name = next(name for needed, name in _LEVELS if all(flag in flags for flag in needed))
    first = device.int_ptr
    for place in range(first, first + 8 * _WORDS, 8):
        if not _within(ranges, place, 8):
            return
        pointer = ctypes.c_uint64.from_address(place).value
        # a string of its own has 24 bytes at least, as glibc allocates
        if _within(ranges, pointer, 24) and ctypes.string_at(pointer, len(_UNKNOWN)) == _UNKNOWN:
            ctypes.memmove(pointer, name + b"\0", len(name) + 1)


def _writable() -> Iterator[tuple[int, int]]:
    """Yield the ranges of this process's memory that can be read and written."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        addresses, rights, *_ = line.split()
        if rights.startswith("rw"):
            first, last = (int(address, 16) for address in addresses.split("-"))
            yield first, last


def _within(ranges: list[tuple[int, int]], address: int, count: int) -> bool:
    return any(first <= address and address + count <= last for first, last in ranges)
