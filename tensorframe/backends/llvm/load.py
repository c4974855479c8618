"""From object code to functions that can be called: LLVM's linker."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from itertools import count
from typing import Any

import llvmlite.binding as llvm

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
        library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for symbol in symbols:
            library.export_symbol(symbol)
        with _lock:
            self._tracker = library.link(_linker(), f"{name}.{next(_serial)}")
        self.addresses: dict[str, int] = {symbol: self._tracker[symbol] for symbol in symbols}

    def function(self, symbol: str) -> Function:
        """Return one of the functions, which can be called as long as this lives."""
        return Function(self.addresses[symbol], PROTOTYPE(self.addresses[symbol]))


@cache
def _linker() -> Any:
    return llvm.create_lljit_compiler(target_machine(), use_jit_link=is_in_one_piece())
