"""LLVM's functions as llvmlite's library has them, called without the package around it.

To import the package takes 25 ms, three times what loading the library does: it makes classes for all of LLVM, and
reads modules of Python's to find its own file. Its lock lets one thread at a time into LLVM, which compiles in several
at once, in contexts of their own. But these functions are private to it. So they are called where its version is one
that has them as they are written here, or where the package, asked about each, says the same. With any other version
there are none, and kernels are compiled through the package, one after the other (`passes.py`).
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from ctypes import POINTER, c_bool, c_char_p, c_int, c_size_t, c_uint, c_uint8, c_uint64, c_void_p
from functools import cache
from threading import Thread
from typing import Any

import llvmlite

from tensorframe.forks import held_while_forking, new_reentrant_lock
from tensorframe.quick_tuples import NamedTuple

# Versions of llvmlite, by their first two numbers, whose functions take and return what is written here.
_KNOWN = frozenset({"0.45", "0.46", "0.47", "0.48", "0.49", "0.50"})

# Held by whoever calls LLVM, which has locks of its own that a forked process would find taken.
llvm_lock = new_reentrant_lock()
held_while_forking(llvm_lock)

_MESSAGE = POINTER(c_char_p)
Function = Callable[..., Any]


class LinkElement(ctypes.Structure):
    """What is linked: object code, or the symbols of this process."""

    _fields_ = (("element_kind", c_uint8), ("value", c_char_p), ("value_len", c_size_t))


class SymbolAddress(ctypes.Structure):
    """Where a symbol is."""

    _fields_ = (("name", c_char_p), ("address", c_uint64))


class Library(NamedTuple):
    """What compiles and links a module. The first three let other threads run meanwhile; the others take less time."""

    emit: Function
    run_passes: Function
    link: Function
    version: Function
    triple: Function
    processor: Function
    features: Function
    has_target: Function
    has_printer: Function
    target: Function
    machine: Function
    layout: Function
    spelled_layout: Function
    free_layout: Function
    context: Function
    parse: Function
    is_wrong: Function
    start: Function
    size: Function
    free: Function
    dispose: Function
    linker: Function
    unlink: Function
    free_text: Function


# The name of each, what it takes, None where llvmlite does not say, and what it returns: a type, or the name of one of
# llvmlite's.
_SIGNATURES: dict[str, tuple[str, list[Any] | None, Any]] = {
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
    "link": (
        "LLJIT_Link",
        [
            "LLVMOrcLLJITRef",
            c_char_p,
            POINTER(LinkElement),
            c_size_t,
            POINTER(SymbolAddress),
            c_size_t,
            POINTER(SymbolAddress),
            c_size_t,
            _MESSAGE,
        ],
        "LLVMOrcDylibTrackerRef",
    ),
    "version": ("GetVersionInfo", None, c_uint),
    "triple": ("GetProcessTriple", [_MESSAGE], c_int),
    "processor": ("GetHostCPUName", [_MESSAGE], c_int),
    "features": ("GetHostCPUFeatures", [_MESSAGE], c_int),
    "has_target": ("InitializeNativeTarget", None, c_int),
    "has_printer": ("InitializeNativeAsmPrinter", None, c_int),
    "target": ("GetTargetFromTriple", [c_char_p, _MESSAGE], "LLVMTargetRef"),
    "machine": (
        "CreateTargetMachine",
        ["LLVMTargetRef", *(c_char_p,) * 3, c_int, *(c_char_p,) * 2, c_int, c_int, c_char_p],
        "LLVMTargetMachineRef",
    ),
    "layout": ("CreateTargetMachineData", ["LLVMTargetMachineRef"], "LLVMTargetDataRef"),
    "spelled_layout": ("CopyStringRepOfTargetData", ["LLVMTargetDataRef", _MESSAGE], c_int),
    "free_layout": ("DisposeTargetData", ["LLVMTargetDataRef"], c_int),
    "context": ("ContextCreate", None, "LLVMContextRef"),
    "parse": ("ParseAssembly", ["LLVMContextRef", c_char_p, _MESSAGE], "LLVMModuleRef"),
    "is_wrong": ("VerifyModule", ["LLVMModuleRef", _MESSAGE], c_bool),
    "start": ("GetBufferStart", ["LLVMMemoryBufferRef"], c_void_p),
    "size": ("GetBufferSize", ["LLVMMemoryBufferRef"], c_size_t),
    "free": ("DisposeMemoryBuffer", ["LLVMMemoryBufferRef"], c_int),
    "dispose": ("DisposeModule", ["LLVMModuleRef"], c_int),
    "linker": (
        "CreateLLJITCompiler",
        ["LLVMTargetMachineRef", c_bool, c_bool, _MESSAGE],
        "LLVMOrcLLJITRef",
    ),
    "unlink": ("LLJIT_Dylib_Tracker_Dispose", ["LLVMOrcDylibTrackerRef", _MESSAGE], c_bool),
    "free_text": ("DisposeString", None, c_int),
}
_LONG = ("emit", "run_passes", "link")


@cache
def library() -> Library | None:
    """Return LLVM's functions, or None if this llvmlite has others."""
    if os.name != "posix":
        return None
    try:
        if ".".join(llvmlite.__version__.split(".")[:2]) not in _KNOWN and not is_as_written():
            return None
        loaded = ctypes.CDLL(_path())
        return Library(**{name: _function(loaded, name) for name in Library._fields})
    except (OSError, AttributeError):
        return None


def load_beside() -> None:
    """Have another thread load the library, while the caller imports the modules that use it.

    What is wrong with it is found out by `library()`, which waits until this is done, or loads it itself.
    """
    if os.name == "posix":
        with suppress(RuntimeError):  # the system gives no more threads
            Thread(target=_load, name="tensorframe loader", daemon=True).start()


def _load() -> None:
    with llvm_lock, suppress(Exception):
        # as a function that is called: to make a `CDLL` keeps the interpreter for as long as the system's loader runs
        ctypes.CDLL(None).dlopen(os.fsencode(_path()), os.RTLD_NOW)


def _path() -> str:
    ending = "dylib" if sys.platform == "darwin" else "so"
    return os.path.join(os.path.dirname(llvmlite.__file__), "binding", f"libllvmlite.{ending}")


def is_as_written() -> bool:
    """Whether llvmlite says of each function that it takes and returns what is written here."""
    from llvmlite.binding import ffi, orcjit

    own: dict[Any, Any] = {
        POINTER(LinkElement): POINTER(orcjit._LinkElement),
        POINTER(SymbolAddress): POINTER(orcjit._SymbolAddress),
    }

    def types(kinds: list[Any]) -> list[Any]:
        return [getattr(ffi, x, None) if isinstance(x, str) else own.get(x, x) for x in kinds]

    for ending, takes, gives in _SIGNATURES.values():
        function = getattr(ffi.lib, f"LLVMPY_{ending}")._cfn
        given = None if function.argtypes is None else list(function.argtypes)
        if given != (None if takes is None else types(takes)):
            return False
        if [function.restype] != types([gives]):
            return False
    pairs = ((LinkElement, orcjit._LinkElement), (SymbolAddress, orcjit._SymbolAddress))
    return all(list(ours._fields_) == list(theirs._fields_) for ours, theirs in pairs)


def _function(loaded: ctypes.CDLL, name: str) -> Function:
    ending, takes, gives = _SIGNATURES[name]
    kinds = [c_void_p if isinstance(kind, str) else kind for kind in takes or ()]
    result = c_void_p if isinstance(gives, str) else gives
    # To release the interpreter's lock and take it again, a thread waits up to 5 ms for one that prints.
    made = ctypes.CFUNCTYPE if name in _LONG else ctypes.PYFUNCTYPE
    if name == "free_text":
        kinds = [c_char_p]
    return made(result, *kinds)((f"LLVMPY_{ending}", loaded))


class Message:
    """A text that a function writes: why it failed, or what it was asked for. It is freed with this object."""

    def __init__(self, functions: Library) -> None:
        self._text, self._free = c_char_p(), functions.free_text

    @property
    def place(self) -> Any:
        """Where the function is to write it."""
        return ctypes.byref(self._text)

    def __str__(self) -> str:
        return (self._text.value or b"").decode()

    def __del__(self) -> None:
        if self._text:
            self._free(self._text)


def told(functions: Library, function: Function, *given: Any) -> str:
    """Return the text that a function tells."""
    message = Message(functions)
    function(*given, message.place)
    return str(message)


def content(memory: Any, functions: Library) -> bytes:
    """Return the bytes of a buffer of LLVM's, which is freed."""
    try:
        return ctypes.string_at(functions.start(memory), functions.size(memory))
    finally:
        functions.free(memory)
