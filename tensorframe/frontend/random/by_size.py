"""NumPy's older functions, which draw from the generator that `seed` restarts: `rand`, `randint` and others."""

from __future__ import annotations

import builtins

from tensorframe.dtypes import DTypeLike
from tensorframe.errors import DTypeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.random.distributions import exponential, normal, uniform
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.random.repeated import repeated
from tensorframe.frontend.random.sampling import integers, permutation
from tensorframe.frontend.tensor import Tensor

__all__ = [
    "bytes",
    "rand",
    "randint",
    "randn",
    "random",
    "random_sample",
    "ranf",
    "sample",
    "shuffle",
    "standard_exponential",
    "standard_normal",
]


@repeated
def rand(
    *sizes: int, dtype: DTypeLike | None = None, device: OnDevice = None, key: Source = None
) -> Tensor:
    """Uniform numbers from 0 to below 1, in a shape given as integers.

    An older name of NumPy's: `random((2, 3))` and `rand(2, 3)` give numbers of the same kind.

    >>> tfr.random.rand(2, 3).shape
    (2, 3)
    """
    return uniform(sizes, dtype=dtype, device=device, key=key)


@repeated
def randn(
    *sizes: int, dtype: DTypeLike | None = None, device: OnDevice = None, key: Source = None
) -> Tensor:
    """Normal numbers of mean 0 and standard deviation 1, in a shape given as integers.

    >>> tfr.random.randn(2, 3).shape
    (2, 3)
    """
    return normal(sizes, dtype=dtype, device=device, key=key)


@repeated
def randint(
    low: int,
    high: int | None = None,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Integers from `low` to below `high`, or from 0 to below `low`: see `integers`.

    >>> tfr.random.randint(0, 10, (2, 3)).shape
    (2, 3)
    """
    sizes = () if size is None else size
    return integers(low, high, sizes, dtype=dtype, device=device, key=key)


@repeated
def random(
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Uniform numbers from 0 to below 1.

    Of the default dtype, all values equally likely, in a shape of `size`.

    >>> tfr.random.random((2, 3)).shape
    (2, 3)
    """
    return uniform(size, dtype=dtype, device=device, key=key)


random_sample = random
sample = random
ranf = random


def bytes(length: int, *, key: Source = None) -> builtins.bytes:
    """Return random bytes, which are made at once.

    >>> len(tfr.random.bytes(5))
    5
    """
    return integers(0, 256, length, dtype="uint8", key=key).tobytes()


@repeated
def standard_normal(
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Normal numbers of mean 0 and standard deviation 1.

    Of the default dtype, in a shape of `size`; `normal` takes other means and deviations.

    >>> tfr.random.standard_normal((2, 3)).shape
    (2, 3)
    """
    return normal(size, dtype=dtype, device=device, key=key)


@repeated
def standard_exponential(
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Exponential numbers of mean 1.

    Waiting times of events that occur once a unit of time; their standard deviation is 1 too.

    >>> tfr.random.standard_exponential((2, 3)).shape
    (2, 3)
    """
    return exponential(size, dtype=dtype, device=device, key=key)


def shuffle(x: ArrayLike, axis: int = 0, *, key: Source = None) -> None:
    """Put the slices of a tensor in random order, in place; other tensors, such as views of it, do not change.

    >>> x = tfr.arange(5)
    >>> tfr.random.shuffle(x)
    >>> sorted(x.tolist())
    [0, 1, 2, 3, 4]
    >>> table = tfr.asarray([[1, 2], [3, 4]])
    >>> tfr.random.shuffle(table, axis=1)
    >>> sorted(table[0].tolist())
    [1, 2]
    """
    if not isinstance(x, Tensor):
        raise DTypeError(
            f"shuffle: takes a Tensor, got {type(x).__name__}",
            suggestions=("x = tfr.random.permutation(x)",),
        )
    x._rebind(permutation(x, axis=axis, key=key).node)
