"""From object code to a function that can be called: LLVM's linker, without Numba, so that a warm start needs none."""

from __future__ import annotations

import ctypes
from functools import cache
from itertools import count
from threading import Lock
from typing import Any

import llvmlite.binding as llvm

from tensorframe.backends.numba.target import target_machine

# a call lets go of the interpreter; `varying` is passed as bytes, `fixed` as an array or the address of one
PROTOTYPE = ctypes.CFUNCTYPE(
    None, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_void_p
)
_lock = Lock()
_serial = count()  # the name of a library cannot be used twice


class KernelFunction:
    """A kernel in memory. `call(start, stop, varying, fixed)` runs it."""

    __slots__ = ("_memory", "address", "call", "name")

    def __init__(self, name: str, address: int, memory: Any) -> None:
        self.name = name
        self.address = address
        self.call = PROTOTYPE(address)
        self._memory = memory  # the code lives as long as this does

    def __repr__(self) -> str:
        return f"<KernelFunction {self.name} at {self.address:#x}>"


@cache
def _linker() -> Any:
    return llvm.create_lljit_compiler(target_machine())


def load(symbol: str, code: bytes) -> KernelFunction:
    """Place object code in memory; what it needs of the C library comes from this process."""
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    with _lock:
        memory = library.export_symbol(symbol).link(_linker(), f"{symbol}_{next(_serial)}")
    return KernelFunction(symbol, memory[symbol], memory)
