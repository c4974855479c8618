"""What a kernel's object code depends on besides its text: how it is compiled, LLVM and the processor, as one hash."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import llvmlite

from tensorframe.backends.llvm.target import processor
from tensorframe.digests import sha256

# of the modules that make object code; those that print kernels, place, keep and call them may change
_SOURCES = ("compile.py", "target.py")


def object_key(name: str, text: str) -> bytes:
    """Return the hash under which object code of a text is kept."""
    return sha256(b"\0".join((_surroundings(), name.encode(), text.encode()))).digest()


@cache
def _surroundings() -> bytes:
    digest = sha256()
    package = files("tensorframe.backends.llvm")
    for source in _SOURCES:
        digest.update(package.joinpath(source).read_bytes())
    digest.update(repr((llvmlite.__version__, *processor())).encode())
    return digest.digest()
