"""From a kernel's text to its function, each kernel once in a process."""

from __future__ import annotations

from threading import Lock

from tensorframe.backends.numba.load import KernelFunction, load

_functions: dict[str, KernelFunction] = {}
_lock = Lock()


def kernel_function(name: str, source: str) -> KernelFunction:
    """Return the function of a kernel, compiled if it is new; its name contains a hash of its text."""
    found = _functions.get(name)
    if found is None:
        with _lock:
            found = _functions.get(name)
            if found is None:
                found = _functions[name] = _made(name, source)
    return found


def _made(name: str, source: str) -> KernelFunction:
    from tensorframe.backends.numba.compile import compile_kernel  # imports Numba: 0.6 s

    return load(*compile_kernel(name, source))
