"""From a kernel's text to its function: in memory, on disk, or compiled; each kernel once in a process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter_ns
from typing import TypeVar

from tensorframe.backends import objects
from tensorframe.backends.host_pool import pool
from tensorframe.backends.interruptible import is_interrupted_here, run_interruptibly
from tensorframe.backends.llvm import ahead
from tensorframe.backends.llvm.compile import object_code
from tensorframe.backends.llvm.engine import COMPILER
from tensorframe.backends.llvm.key import object_key
from tensorframe.backends.llvm.library import llvm_lock
from tensorframe.backends.llvm.load import KernelFunction, Placed
from tensorframe.backends.spans import Work, spanned, tell_span

Made = TypeVar("Made")

_functions: dict[str, KernelFunction] = {}
_placed: set[str] = set()  # modules of our own that are in memory


def kernel_function(name: str, source: str) -> KernelFunction:
    """Return the function of a kernel. The name belongs to the text: it contains a hash of it."""
    function = _functions.get(name)
    if function is None:
        # an interrupt in the middle of importing or running the compiler might leave it broken for good
        made = partial(_made, name, source)
        function = run_interruptibly(made) if is_interrupted_here() else made()
    return function


def begin(name: str, source: str) -> None:
    """Have a kernel, or a module, compiled ahead unless it is there: whoever needs it waits less."""
    if name in _functions or name in _placed or ahead.is_begun(name):
        return
    if objects.is_there(object_key(name, source)):
        ahead.expect(name)
    else:
        ahead.begin(name, source)


def _made(name: str, source: str) -> KernelFunction:
    with llvm_lock:
        function = _functions.get(name)
        if function is None:
            function = _functions[name] = _from_object_code(
                name, source, partial(KernelFunction, name)
            )
        return function


def placed(name: str, text: str, symbols: Sequence[str]) -> Placed:
    """Return the functions of a module of our own, which there is once in a process."""
    module = _from_object_code(name, text, lambda code: Placed(name, code, symbols))
    _placed.add(name)
    return module


def _from_object_code(name: str, text: str, loaded: Callable[[bytes], Made]) -> Made:
    """Return what is loaded from the object code of a text, which is compiled only if it is not on disk."""
    with llvm_lock:
        began = perf_counter_ns()
        key = object_key(name, text)
        code = objects.read(key)
        if code is not None:
            with suppress(RuntimeError):  # it calls something that is not in this process
                kernel = loaded(code)
                tell_span(Work.LOAD, name, "llvm", began)
                return kernel
        if not pool.budget.has_room(COMPILER):
            raise MemoryError(f"to compile: {pool.budget.why_not(COMPILER)}")
        objects.statistics.compilations += 1
        with spanned(Work.COMPILE, name, "llvm"):
            code = ahead.finished(name) or object_code(text)
            objects.write(key, code)
            return loaded(code)
