"""What a kernel's object code depends on besides its text: this package, Numba, LLVM and the processor, as one hash."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import llvmlite

from tensorframe.backends.numba.abi import data_offset
from tensorframe.backends.numba.target import processor

# of the modules that make object code; those that place, keep and call it may change
_SOURCES = ("abi.py", "compile.py", "lower.py", "target.py")


def object_key(name: str, text: str) -> bytes:
    """Return the hash under which object code of a text is kept."""
    return sha256(b"\0".join((_surroundings(), name.encode(), text.encode()))).digest()


@cache
def _surroundings() -> bytes:
    found = sha256()
    package = files("tensorframe.backends.numba")
    intrinsics = package.joinpath("intrinsics").iterdir()
    sources = [package.joinpath(name) for name in _SOURCES]
    sources += sorted(
        (one for one in intrinsics if one.name.endswith(".py")), key=lambda one: one.name
    )
    for source in sources:
        found.update(source.read_bytes())
    known = (_numba_version(), llvmlite.__version__, *processor(), data_offset())
    found.update(repr(known).encode())
    return found.digest()


def _numba_version() -> bytes:
    """Return what tells Numba's releases apart, without the 0.7 s of importing it."""
    spec = find_spec("numba")
    if spec is None or spec.origin is None:
        return b""
    try:
        return Path(spec.origin).with_name("_version.py").read_bytes()
    except OSError:
        return b""
