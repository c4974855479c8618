"""Generators with NumPy's method names, on the same random words as the functions."""

from __future__ import annotations

from typing import Any

from tensorframe.errors import DTypeError
from tensorframe.frontend.random import distributions, sampling
from tensorframe.frontend.random.keys import Key, Stream, key, random_key
from tensorframe.frontend.tensor import Tensor

__all__ = ["Generator", "default_rng"]


class Generator:
    """Draws from a stream of its own; each call goes on where the last one stopped.

    Methods, their order of arguments and defaults are those of `numpy.random.Generator`, but floating results have
    the default real dtype, and the numbers are others.

    >>> rng = tfr.random.default_rng(0)
    >>> rng.normal(size=(2, 3)).shape
    (2, 3)
    """

    __slots__ = ("_stream",)

    def __init__(self, key: Key) -> None:
        self._stream = Stream(key)

    def random(self, size: Any = None, dtype: Any = None) -> Tensor:
        """Uniform numbers from 0 to below 1."""
        return distributions.uniform(size, dtype=dtype, key=self._stream)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Tensor:
        """Uniform numbers from `low` to below `high`."""
        return distributions.uniform(size, low, high, key=self._stream)

    def standard_normal(self, size: Any = None, dtype: Any = None) -> Tensor:
        """Normal numbers of mean 0 and standard deviation 1."""
        return distributions.normal(size, dtype=dtype, key=self._stream)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Tensor:
        """Normal numbers of mean `loc` and standard deviation `scale`."""
        return distributions.normal(size, loc, scale, key=self._stream)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Tensor:
        """Exponential numbers of mean `scale`."""
        return distributions.exponential(size, scale, key=self._stream)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Any = None,
        dtype: Any = None,
        endpoint: bool = False,
    ) -> Tensor:
        """Integers from `low` to below `high`, or from 0 to below `low`."""
        sizes = () if size is None else size
        return sampling.integers(low, high, sizes, dtype=dtype, endpoint=endpoint, key=self._stream)

    def permutation(self, x: Any, axis: int = 0) -> Tensor:
        """The integers below `x`, or the slices of a tensor, in random order."""
        return sampling.permutation(x, axis=axis, key=self._stream)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the slices of a tensor in random order: its handle moves to the new values, nobody else's changes."""
        if not isinstance(x, Tensor):
            hint = "x = rng.permutation(x)"
            raise DTypeError(
                f"shuffle: takes a Tensor, got {type(x).__name__}", suggestions=(hint,)
            )
        x._rebind(self.permutation(x, axis).node)

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0
    ) -> Tensor:
        """Random integers below `a`, or random slices of a tensor, with weights `p`."""
        sizes = () if size is None else size
        return sampling.choice(a, sizes, replace, p, axis=axis, key=self._stream)

    def spawn(self, n_children: int) -> list[Generator]:
        """New generators, independent of this one and of each other."""
        return [Generator(stream) for stream in self._stream.spawn(n_children)]


def default_rng(seed: int | Key | Generator | None = None) -> Generator:
    """Return a generator for a seed or key; without one, each process gets another.

    >>> tfr.random.default_rng(3).integers(0, 10, 4).shape
    (4,)
    """
    if isinstance(seed, Generator):
        return seed
    if seed is None:
        return Generator(random_key())
    return Generator(seed if isinstance(seed, Key) else key(seed))
