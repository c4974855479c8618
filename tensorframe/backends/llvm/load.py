"""From object code to functions that can be called: LLVM's linker."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_char_p
from functools import cache
from itertools import count
from typing import Any
from weakref import finalize

from tensorframe.backends.llvm.library import (
    Library,
    LinkElement,
    Message,
    SymbolAddress,
    library,
)
from tensorframe.backends.llvm.target import is_in_one_piece, target_machine
from tensorframe.forks import new_lock
from tensorframe.quick_tuples import NamedTuple

# A call releases the interpreter's lock. Both arrays of slots are passed as bytes.
PROTOTYPE = ctypes.CFUNCTYPE(
    None, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_char_p
)
_lock = new_lock()
_serial = count()  # the name of a library cannot be used twice


class KernelFunction:
    """A kernel in memory. `call(start, stop, varying, fixed)` runs it."""

    __slots__ = ("_memory", "address", "call", "name")

    def __init__(self, name: str, code: bytes) -> None:
        self._memory = Placed(name, code, [name])
        self.name = name
        self.address = self._memory.addresses[name]
        self.call = PROTOTYPE(self.address)

    def __repr__(self) -> str:
        return f"<KernelFunction {self.name} at {self.address:#x}>"


class Function(NamedTuple):
    """A compiled function as the workers take it."""

    address: int
    call: Any


class Placed:
    """Object code in memory, for as long as this lives, and the addresses of what is in it.

    What it needs of the C library comes from this process; RuntimeError if something is missing.
    """

    def __init__(self, name: str, code: bytes, symbols: Sequence[str]) -> None:
        functions, unique = library(), f"{name}.{next(_serial)}"
        with _lock:
            if functions is None:
                from tensorframe.backends.llvm.passes import linked_by_llvmlite  # another version

                self._owner, places = linked_by_llvmlite(unique, code, symbols)
            else:
                owner, places = _linked(functions, unique, code, symbols)
                # the end of the process takes everything down
                finalize(self, functions.unlink, owner, c_char_p()).atexit = False
        self.addresses: dict[str, int] = dict(zip(symbols, places, strict=True))

    def function(self, symbol: str) -> Function:
        """Return one of the functions, which can be called as long as this lives."""
        return Function(self.addresses[symbol], PROTOTYPE(self.addresses[symbol]))


# Kinds of elements that are linked, as llvmlite numbers them: object code, and, without a name, this process.
_OBJECT_CODE, _PROCESS = 2, 3


def _linked(
    functions: Library, name: str, code: bytes, symbols: Sequence[str]
) -> tuple[int, list[int]]:
    """Put object code into memory; return what it is unlinked by, and the addresses of its symbols."""
    linked = (LinkElement(_OBJECT_CODE, code, len(code)), LinkElement(_PROCESS, b"", 0))
    elements = (LinkElement * len(linked))(*linked)
    places = (SymbolAddress * len(symbols))(*[SymbolAddress(each.encode()) for each in symbols])
    none, problem = (SymbolAddress * 0)(), Message(functions)
    owner = functions.link(
        _linker(),
        name.encode(),
        elements,
        len(linked),
        none,
        0,
        places,
        len(symbols),
        problem.place,
    )
    if not owner:
        raise RuntimeError(str(problem))
    return owner, [place.address for place in places]


@cache
def _linker() -> int:
    functions = library()
    assert functions is not None
    problem = Message(functions)
    linker: int = functions.linker(target_machine(), False, is_in_one_piece(), problem.place)
    if not linker:
        raise RuntimeError(str(problem))
    return linker
