"""Embeddings on disk, in a file named after the content of everything they were made from."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import tensorframe as tfr
from tensorframe import Tensor
from tensorframe.errors import FileFormatError, MissingFileError


def cache_folder() -> Path:
    """Where this user's caches go (XDG Base Directory Specification)."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "tensorframe" / "semantic_search"


def digest(*parts: str | Path) -> str:
    """One name for all `parts`, files by their bytes: a change in any of them is another name."""
    whole = hashlib.sha256()
    for part in parts:
        content = part.read_bytes() if isinstance(part, Path) else part.encode()
        whole.update(hashlib.sha256(content).digest())
    return whole.hexdigest()


def remembered(name: str, compute: Callable[[], Tensor]) -> Tensor:
    """The embeddings kept under `name`, or else those of `compute`, which are then kept."""
    path = cache_folder() / f"{name}.safetensors"
    with contextlib.suppress(MissingFileError, FileFormatError):
        known: dict[str, Tensor] = tfr.load(path)
        return known["embeddings"]
    embeddings = compute()
    path.parent.mkdir(parents=True, exist_ok=True)
    tfr.save(path, {"embeddings": embeddings})  # whole or not at all, if this is interrupted
    return embeddings
