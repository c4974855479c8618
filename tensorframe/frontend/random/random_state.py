"""NumPy's older class of generators, which many programs still make: `RandomState`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorframe.dtypes import DTypeLike
from tensorframe.frontend.array_like import ShapeLike
from tensorframe.frontend.random.generator import Generator
from tensorframe.frontend.random.seeding import key_of, move_to, state_of
from tensorframe.frontend.tensor import Tensor

if TYPE_CHECKING:
    from tensorframe.frontend.random.seeding import Seed

__all__ = ["RandomState"]


class RandomState(Generator):
    """A `Generator` with the names that NumPy's older class has too, such as `rand`, `randint` and `seed`.

    Of a seed it draws what `default_rng` draws of it: the numbers are others than NumPy's.

    >>> rng = tfr.random.RandomState(42)
    >>> rng.rand(2, 3).shape, rng.randint(0, 10, size=4).shape
    ((2, 3), (4,))
    """

    __slots__ = ()

    def __init__(self, seed: Seed = None) -> None:
        super().__init__(key_of(seed))

    def seed(self, seed: Seed = None) -> None:
        """Begin again, with another seed."""
        self._stream.restart(key_of(seed))

    def get_state(self, legacy: bool = True) -> tuple[Any, ...]:
        """Return the state, which `set_state` goes back to."""
        del legacy
        return state_of(self._stream)

    def set_state(self, state: tuple[Any, ...]) -> None:
        """Go back to a state that `get_state` returned; ArgumentError if it is not one."""
        move_to(self._stream, state)

    def rand(self, *sizes: int) -> Tensor:
        """Uniform numbers from 0 to below 1, in a shape given as integers."""
        return self.random(sizes)

    def randn(self, *sizes: int) -> Tensor:
        """Normal numbers of mean 0 and standard deviation 1, in a shape given as integers."""
        return self.standard_normal(sizes)

    def randint(
        self,
        low: int,
        high: int | None = None,
        size: ShapeLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> Tensor:
        """Integers from `low` to below `high`, or from 0 to below `low`."""
        return self.integers(low, high, size, dtype)

    def random_sample(self, size: ShapeLike | None = None) -> Tensor:
        """Uniform numbers from 0 to below 1."""
        return self.random(size)

    def tomaxint(self, size: ShapeLike | None = None) -> Tensor:
        """Integers from 0 to the largest of int64."""
        return self.integers(0, 2**63 - 1, size, endpoint=True)
