"""What a kernel's object code depends on besides its text: how it is compiled, LLVM and the processor, as one hash."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, cast

import llvmlite

from tensorframe.backends.llvm.target import processor
from tensorframe.digests import sha256

if TYPE_CHECKING:
    from importlib.abc import FileLoader

# of the modules that make object code; those that print kernels, place, keep and call them may change
_SOURCES = ("compile.py", "passes.py", "target.py")


def object_key(name: str, text: str) -> bytes:
    """Return the hash under which object code of a text is kept."""
    return sha256(b"\0".join((_surroundings(), name.encode(), text.encode()))).digest()


@cache
def _surroundings() -> bytes:
    digest = sha256()
    # not by importlib.resources, which imports fifteen modules
    folder, loader = os.path.dirname(__file__), cast("FileLoader", __spec__.loader)
    for source in _SOURCES:
        digest.update(loader.get_data(os.path.join(folder, source)))
    digest.update(repr((llvmlite.__version__, *processor())).encode())
    return digest.digest()
