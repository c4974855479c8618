"""The cache of keys and values: what attention has seen of each sequence, in memory that is written in place."""

from __future__ import annotations

from tensorframe.dtypes import DTypeLike
from tensorframe.errors import ArgumentError, OutOfRangeError, ShapeError
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.creation.filled import zeros
from tensorframe.frontend.manipulation.joining import concat
from tensorframe.frontend.operands import permuted
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn.module import Module

__all__ = ["KVCache"]

# What is read of a cache is a multiple of so many positions: a longer sequence is recorded again that seldom.
STEP = 256
# Tokens of a prompt that run through a model at once: what a block needs besides the weights stays small.
BLOCK = 512


class Stored(Module):
    """The tensors of a cache: what a recorded step is given, however long sequences are by now.

    `both[layer]` has shape (batch, places, 2 * heads, head_dim): keys, and then values, so that a step writes once.
    Where it is a ring, position p is in place p modulo the places.
    """

    _buffers = frozenset({"both"})

    def __init__(self, both: list[Tensor], *, is_ring: bool) -> None:
        self.both = both
        self.is_ring = is_ring

    @property
    def places(self) -> int:
        """How many positions of a sequence there is room for at once."""
        return self.both[0].shape[1]

    @property
    def heads(self) -> int:
        """How many keys a position has."""
        return self.both[0].shape[2] // 2

    def write_both(self, layer: int, both: Tensor, rows: Tensor, positions: Tensor) -> None:
        """Write keys, then values, (batch, count, 2 * heads, head_dim) to sequences (batch, 1) at (batch, count)."""
        held = self.both[layer]
        places = positions % self.places if self.is_ring else positions
        held[rows, places] = both.astype(held.dtype, copy=False)

    def read_both(self, layer: int, reach: int) -> Tensor:
        """Return a view of what the first `reach` places of a layer hold."""
        return self.both[layer][:, :reach]


class KVCache(Module):
    """Keys and values of all layers, for `batch` sequences of up to `capacity` positions.

    `keys[layer]` and `values[layer]` have shape (batch, capacity, heads, head_dim), and begin with zeros. `lengths` are
    the positions that each sequence has, numbers of Python's: `reach(count)` says how much of the cache `count` more of
    them take, rounded up to 256, so that what a step is recorded for stays the same while it grows. A step that is
    jitted with `updates` and `donate` writes in the memory that is there.

    A model whose tokens see no more than the `window` positions before them needs room for these, and for the `block`
    positions that are written at once: the cache is a ring, whose oldest positions are overwritten, however large
    `capacity` is.

    OutOfRangeError where sequences do not fit, which names both lengths.

    >>> cache = tfr.nn.KVCache(layers=2, batch=1, heads=4, head_dim=8, capacity=600)
    >>> cache.lengths, cache.reach(3), cache.nbytes
    ([0], 256, 307200)
    >>> tfr.nn.KVCache(layers=2, batch=1, heads=4, head_dim=8, capacity=10**6, window=100, block=100).nbytes
    131072
    """

    def __init__(
        self,
        layers: int,
        batch: int,
        heads: int,
        head_dim: int,
        capacity: int,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
        *,
        window: int | None = None,
        block: int = BLOCK,
    ) -> None:
        given = {
            "layers": layers,
            "batch": batch,
            "heads": heads,
            "head_dim": head_dim,
            "capacity": capacity,
            "window": 1 if window is None else window,
            "block": block,
        }
        for name, value in given.items():
            if not isinstance(value, int) or value < 1:
                raise ArgumentError(f"KVCache: {name} is a positive integer, got {value!r}")
        self.capacity = capacity
        # what is written for the last position of a block may not be where the first one looks
        needed = capacity if window is None else _rounded(window + block - 1)
        places = min(capacity, needed)
        shape = (batch, places, 2 * heads, head_dim)
        both = [zeros(shape, dtype=dtype, device=device) for _ in range(layers)]
        self.stored = Stored(both, is_ring=places < capacity)
        self._lengths = [0] * batch
        self._block = block if places < capacity else capacity

    @property
    def keys(self) -> list[Tensor]:
        """The keys of each layer."""
        heads = self.stored.heads
        return [both[:, :, :heads] for both in self.stored.both]

    @property
    def values(self) -> list[Tensor]:
        """The values of each layer."""
        heads = self.stored.heads
        return [both[:, :, heads:] for both in self.stored.both]

    @property
    def lengths(self) -> list[int]:
        """How many positions each sequence has."""
        return list(self._lengths)

    @property
    def nbytes(self) -> int:
        """The bytes of keys and values."""
        return sum(both.node.nbytes for both in self.stored.both)

    def reach(self, count: int) -> int:
        """Return how many places a step looks at that adds `count` positions; OutOfRangeError beyond the capacity."""
        longest = max(self._lengths)
        if longest + count > self.capacity:
            raise OutOfRangeError(
                f"KVCache: there is room for {self.capacity} positions; {longest} are taken, and {count} more "
                "do not fit",
                suggestions=(f"a cache with capacity={longest + count}, or fewer tokens",),
            )
        if count > self._block:
            raise OutOfRangeError(
                f"KVCache: this one was made for blocks of {self._block} positions, and a step adds {count}",
                suggestions=(f"a cache with block={count}, or {self._block} tokens at a time",),
            )
        return min(_rounded(longest + count), self.stored.places)

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
        self.stored.write_both(layer, concat([key, value], axis=2), rows, positions)

    def read(self, layer: int, reach: int) -> tuple[Tensor, Tensor]:
        """Return views of the keys and values of a layer: (batch, heads, reach, head_dim)."""
        both, heads = self.stored.read_both(layer, reach), self.stored.heads
        keys, values = (
            permuted(half, (0, 2, 1, 3)) for half in (both[:, :, :heads], both[:, :, heads:])
        )
        return keys, values

    def extra_repr(self) -> str:
        """Return what fits into it."""
        batch, places, both, size = self.stored.both[0].shape
        ring = f", window of {places} positions" if self.stored.is_ring else ""
        return (
            f"layers={len(self.stored.both)}, batch={batch}, heads={both // 2}, head_dim={size}, "
            f"capacity={self.capacity}{ring}"
        )


def _rounded(positions: int) -> int:
    return -(-positions // STEP) * STEP
