"""The cache of keys and values: what attention has seen of each sequence, in memory that is written in place."""

from __future__ import annotations

from typing import Any

from tensorframe.errors import ArgumentError, OutOfRangeError, ShapeError
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.creation.filled import zeros
from tensorframe.frontend.operands import permuted
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn.module import Module

__all__ = ["KVCache"]

# What is read of a cache is a multiple of so many positions: a longer sequence is recorded again that seldom.
STEP = 256


class Stored(Module):
    """The tensors of a cache: what a recorded step is given, however long sequences are by now."""

    _buffers = frozenset({"keys", "values"})

    def __init__(self, keys: list[Tensor], values: list[Tensor]) -> None:
        self.keys, self.values = keys, values

    def write(
        self, layer: int, key: Tensor, value: Tensor, rows: Tensor, positions: Tensor
    ) -> None:
        """Write keys and values (batch, count, heads, head_dim) to sequences (batch, 1) at (batch, count)."""
        for store, new in ((self.keys, key), (self.values, value)):
            held = store[layer]
            held[rows, positions] = new.astype(held.dtype, copy=False)

    def read(self, layer: int, reach: int) -> tuple[Tensor, Tensor]:
        """Return views of the keys and values of a layer: (batch, heads, reach, head_dim)."""
        keys, values = (
            permuted(store[layer][:, :reach], (0, 2, 1, 3)) for store in (self.keys, self.values)
        )
        return keys, values


class KVCache(Module):
    """Keys and values of all layers, for `batch` sequences of up to `capacity` positions.

    `keys[layer]` and `values[layer]` have shape (batch, capacity, heads, head_dim), and begin with zeros. `lengths` are
    the positions that each sequence has, numbers of Python's: `reach(count)` says how much of the cache `count` more of
    them take, rounded up to 256, so that what a step is recorded for stays the same while it grows. A step that is
    jitted with `updates` and `donate` writes in the memory that is there.

    OutOfRangeError where sequences do not fit, which names both lengths.

    >>> cache = tfr.nn.KVCache(layers=2, batch=1, heads=4, head_dim=8, capacity=600)
    >>> cache.lengths, cache.reach(3), cache.nbytes
    ([0], 256, 307200)
    """

    def __init__(
        self,
        layers: int,
        batch: int,
        heads: int,
        head_dim: int,
        capacity: int,
        device: OnDevice = None,
        dtype: Any = None,
    ) -> None:
        given = {
            "layers": layers,
            "batch": batch,
            "heads": heads,
            "head_dim": head_dim,
            "capacity": capacity,
        }
        for name, value in given.items():
            if not isinstance(value, int) or value < 1:
                raise ArgumentError(f"KVCache: {name} is a positive integer, got {value!r}")
        shape = (batch, capacity, heads, head_dim)
        self.capacity = capacity
        keys, values = (
            [zeros(shape, dtype=dtype, device=device) for _ in range(layers)] for _ in range(2)
        )
        self.stored = Stored(keys, values)
        self._lengths = [0] * batch

    @property
    def keys(self) -> list[Tensor]:
        """The keys of each layer."""
        return self.stored.keys

    @property
    def values(self) -> list[Tensor]:
        """The values of each layer."""
        return self.stored.values

    @property
    def lengths(self) -> list[int]:
        """How many positions each sequence has."""
        return list(self._lengths)

    @property
    def nbytes(self) -> int:
        """The bytes of all keys and values."""
        return sum(part.node.nbytes for part in (*self.keys, *self.values))

    def reach(self, count: int) -> int:
        """Return how many positions attention looks at when every sequence has `count` more."""
        longest = max(self._lengths)
        if longest + count > self.capacity:
            raise OutOfRangeError(
                f"KVCache: it has room for {self.capacity} positions; {longest} are taken, and {count} more asked for",
                suggestions=(f"capacity={longest + count} or more", "fewer tokens"),
            )
        return min(-(-(longest + count) // STEP) * STEP, self.capacity)

    def advance(self, counts: list[int]) -> None:
        """Say that sequences have so many positions more."""
        if len(counts) != len(self._lengths):
            raise ShapeError(f"KVCache: {len(counts)} counts for {len(self._lengths)} sequences")
        self._lengths = [
            length + count for length, count in zip(self._lengths, counts, strict=True)
        ]

    def write(
        self, layer: int, key: Tensor, value: Tensor, rows: Tensor, positions: Tensor
    ) -> None:
        """Write keys and values (batch, count, heads, head_dim) to sequences (batch, 1) at (batch, count)."""
        self.stored.write(layer, key, value, rows, positions)

    def read(self, layer: int, reach: int) -> tuple[Tensor, Tensor]:
        """Return views of the keys and values of a layer: (batch, heads, reach, head_dim)."""
        return self.stored.read(layer, reach)

    def extra_repr(self) -> str:
        """Return what fits into it."""
        batch, capacity, heads, size = self.keys[0].shape
        return f"layers={len(self.keys)}, batch={batch}, heads={heads}, head_dim={size}, capacity={capacity}"
