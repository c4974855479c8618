"""From a kernel's text to its function: in memory, on disk, or compiled; each kernel once in a process."""

from __future__ import annotations

import os
from contextlib import suppress
from threading import RLock

from tensorframe.backends.numba import objects
from tensorframe.backends.numba.compile import compile_kernel
from tensorframe.backends.numba.key import object_key
from tensorframe.backends.numba.load import KernelFunction, load

_functions: dict[str, KernelFunction] = {}
_lock = RLock()
if hasattr(os, "register_at_fork"):
    # nobody is inside LLVM, which has locks of its own, while the process forks
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def kernel_function(name: str, source: str) -> KernelFunction:
    """Return the function of a kernel. The name belongs to the text: it contains a hash of it."""
    found = _functions.get(name)
    if found is None:
        with _lock:
            found = _functions.get(name)
            if found is None:
                found = _functions[name] = _kept_or_compiled(name, source)
    return found


def _kept_or_compiled(name: str, source: str) -> KernelFunction:
    key = object_key(name, source)
    code = objects.read(key)
    if code is not None:
        with suppress(
            RuntimeError
        ):  # what it calls is not in this process: compiled here, it may do without
            return load(name, code)
    objects.statistics.compilations += 1
    code = compile_kernel(name, source).code
    objects.write(key, code)
    return load(name, code)
