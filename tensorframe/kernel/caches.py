"""Caches: what kernels, and fusion before them, assume of the processors that they run on."""

from __future__ import annotations

from typing import NamedTuple


class Caches(NamedTuple):
    """Sizes that several decisions share, which would contradict each other otherwise."""

    row: int = 1 << 16
    """Elements of a row that passes may go over several times: it stays in the cache. Longer ones come in chunks."""
    line: int = 64
    """Bytes that come from memory together."""


CACHES = Caches()
