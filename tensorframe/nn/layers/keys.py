"""Keys of layers: one key makes the initial values of all parameters of a layer."""

from __future__ import annotations

from collections.abc import Iterator

from tensorframe.frontend.random.keys import Key, Source, split


def keys_for(key: Source, count: int) -> Iterator[Source]:
    """Return a key for each of `count` tensors: of a key its children, else the stream itself."""
    return iter(split(key, count) if isinstance(key, Key) else [key] * count)
