"""Products that one call of a compiled function makes whole."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from tensorframe.backends import host_pool
from tensorframe.backends.numpy.products.grid import Index
from tensorframe.backends.numpy.products.product import Compiled, Store

Array = Any


class SingleCall(Compiled):
    """A product in one block, which is written to memory that the function can write to, or copied to any other."""

    in_parts = False

    @property
    def blocks(self) -> list[Index]:
        """All of it."""
        return [tuple([slice(0, size) for size in self.shape])]

    def array(self, out: Array | None = None) -> Array:
        """Return the product, in `out` if it is given: any memory of the result's shape."""
        if out is None:
            out = host_pool.empty(self.shape, self.dtype)
        if not self.can_write(out):
            out[...] = self.array()
            return out
        self.run(out)
        return out

    def each(self, store: Store) -> None:
        """Call `store` with all of the product."""
        store(self.blocks[0], self.array())

    @abstractmethod
    def can_write(self, out: Array) -> bool:
        """Whether the function can write the product to this memory."""

    @abstractmethod
    def run(self, out: Array) -> None:
        """Write the product to memory that the function can write to."""
