"""LLVM's functions without the lock that llvmlite has around all of its calls.

LLVM compiles in several threads at once, in contexts of their own; llvmlite's lock lets one in at a time. Its functions
without the lock are private. So each is compared with what it was: if one is not there, or takes or returns something
else, there are none, and kernels are compiled one after the other.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, c_bool, c_char_p, c_int, c_size_t, c_void_p
from functools import cache
from typing import Any

from llvmlite.binding import ffi

from tensorframe.quick_tuples import NamedTuple

_MESSAGE = POINTER(c_char_p)


class Unlocked(NamedTuple):
    """What compiles a module. The first two let other threads run meanwhile; the others take less time than that."""

    emit: Callable[..., Any]
    run_passes: Callable[..., Any]
    parse: Callable[..., Any]
    verify: Callable[..., Any]
    start: Callable[..., Any]
    size: Callable[..., Any]
    free: Callable[..., Any]
    dispose: Callable[..., Any]


# The name of each, what it takes and what it returns: a type, or the name of one of llvmlite's.
_SIGNATURES: dict[str, tuple[str, list[Any], Any]] = {
    "emit": (
        "TargetMachineEmitToMemory",
        ["LLVMTargetMachineRef", "LLVMModuleRef", c_int, _MESSAGE],
        "LLVMMemoryBufferRef",
    ),
    "run_passes": (
        "RunNewModulePassManager",
        ["LLVMModulePassManagerRef", "LLVMModuleRef", "LLVMPassBuilderRef"],
        c_int,
    ),
    "parse": ("ParseAssembly", ["LLVMContextRef", c_char_p, _MESSAGE], "LLVMModuleRef"),
    "verify": ("VerifyModule", ["LLVMModuleRef", _MESSAGE], c_bool),
    "start": ("GetBufferStart", ["LLVMMemoryBufferRef"], c_void_p),
    "size": ("GetBufferSize", ["LLVMMemoryBufferRef"], c_size_t),
    "free": ("DisposeMemoryBuffer", ["LLVMMemoryBufferRef"], c_int),
    "dispose": ("DisposeModule", ["LLVMModuleRef"], c_int),
}
_LONG = ("emit", "run_passes")


@cache
def unlocked() -> Unlocked | None:
    """Return LLVM's functions without llvmlite's lock, or None if this llvmlite has others."""
    try:
        return Unlocked(**{name: _function(name) for name in _SIGNATURES})
    except (AttributeError, TypeError):
        return None


def _function(name: str) -> Callable[..., Any]:
    ending, takes, gives = _SIGNATURES[name]
    function = getattr(ffi.lib, f"LLVMPY_{ending}")._cfn
    arguments, result = [_type(kind) for kind in takes], _type(gives)
    if list(function.argtypes) != arguments or function.restype is not result:
        raise TypeError(f"llvmlite has another {ending}")
    if name in _LONG:
        return function  # type: ignore[no-any-return]
    # To release the interpreter's lock and take it again, a thread waits up to 5 ms for one that prints.
    address = ctypes.cast(function, c_void_p).value
    return ctypes.PYFUNCTYPE(result, *arguments)(address)  # type: ignore[arg-type]


def _type(kind: Any) -> Any:
    return getattr(ffi, kind) if isinstance(kind, str) else kind
