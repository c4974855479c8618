"""Embeddings on disk, in a file named after the content of everything they were made from."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import tensorframe as tfr
from tensorframe import Tensor
from tensorframe.errors import FileFormatError


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
    with contextlib.suppress(FileNotFoundError, FileFormatError):
        return tfr.load(path)["embeddings"]
    embeddings = compute()
    _write(path, embeddings)
    return embeddings


def _write(path: Path, embeddings: Tensor) -> None:
    """The file appears whole or not at all, whatever else writes it and whenever this is interrupted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        draft = Path(folder) / path.name
        tfr.save(draft, {"embeddings": embeddings})
        draft.replace(path)
