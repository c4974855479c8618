"""Kernels compiled by NVRTC and taken apart by NVIDIA's tools, and what these say kept on disk: most of a second each.

`SASS_CACHE` names the folder, that of the user's caches where it is not set; nothing is kept where it is empty. A text
is found by all that it depends on. What reads it is no part of that: it reads everything anew.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
import zlib
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tensorframe import config
from tensorframe.backends import objects
from tensorframe.backends.cuda.compiler import compiled, options
from tensorframe.digests import sha256

_TOOLS = ("nvdisasm", "cuobjdump")
_NOTHING = 'extern "C" __global__ void nothing() {}'
_MOST = 1 << 30  # bytes that are kept; all forms on four architectures take a thirtieth


def is_available() -> bool:
    """Whether kernels can be taken apart here."""
    return all(_tool(name) is not None for name in _TOOLS)


def disassembly(name: str, source: str, architecture: str) -> str:
    """Return what NVIDIA's tools say of a kernel: what it uses, and its instructions."""
    folder = _folder()
    key = sha256(repr((_releases(), options(architecture), source)).encode()).digest()
    with config.override(cache_dir=folder, cache_bytes=_MOST if folder else 0):
        kept = objects.read(key)
        if kept is not None:
            return zlib.decompress(kept).decode()
        text = _taken_apart(compiled(name, source, architecture))
        objects.write(key, zlib.compress(text.encode()))
    return text


def _folder() -> str:
    named = os.environ.get("SASS_CACHE")
    if named is not None:
        return named
    with config.override(cache_dir=""):
        kernels = objects.folder()
    return str(Path(kernels).with_name("sass")) if kernels else ""


@cache
def _releases() -> tuple[str, ...]:
    """Return what tells versions of the compiler and of the tools apart: PTX begins with the compiler's build."""
    ptx = compiled("nothing", _NOTHING, "compute_80").decode()
    return ptx, *[_said(name, "--version") for name in _TOOLS]


def _taken_apart(binary: bytes) -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        # what NVRTC gives ends one byte before the tools say that it does
        path.write_bytes(binary + b"\0")
        return _said("cuobjdump", "-res-usage", path) + _said("nvdisasm", "-c", path)


def _said(name: str, *arguments: str | Path) -> str:
    program = _tool(name)
    assert program is not None
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


@cache
def _tool(name: str) -> Path | None:
    """Return one of NVIDIA's tools, which their wheels put among the packages; None where it is not installed."""
    packages = Path(sysconfig.get_path("purelib")) / "nvidia"
    return next(iter(sorted(packages.glob(f"*/bin/{name}"))), None)
