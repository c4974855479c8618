"""Batches: examples taken a few at a time, in their order or shuffled by a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.indexing.searching import take
from tensorframe.frontend.parameters import flag, integer
from tensorframe.frontend.random.keys import Key
from tensorframe.frontend.random.sampling import permutation
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU

__all__ = ["Batches", "batches"]

Array = np.ndarray[Any, Any]


class Batches:
    """What `batches` returns: it has a length, and gives the same batches whenever it is walked over."""

    def __init__(
        self, arrays: Sequence[Tensor | Array], size: int, key: Key | None, drop_last: bool
    ) -> None:
        self._arrays = arrays
        self._size = size
        self._key = key
        self._examples = arrays[0].shape[0]
        self._count = self._examples // size if drop_last else -(-self._examples // size)

    def __len__(self) -> int:
        """The number of batches."""
        return self._count

    def __iter__(self) -> Iterator[Any]:
        order = (
            None
            if self._key is None
            else permutation(self._examples, device=CPU, key=self._key).numpy()
        )
        for start in range(0, self._count * self._size, self._size):
            chosen = slice(start, start + self._size)
            batch = [_taken(array, chosen, order) for array in self._arrays]
            yield batch[0] if len(batch) == 1 else tuple(batch)

    def __repr__(self) -> str:
        shuffled = "" if self._key is None else ", shuffled"
        return f"<{self._count} batches of {self._size} from {self._examples} examples{shuffled}>"


def batches(
    *arrays: Any,
    size: int,
    key: Key | None = None,
    shuffle: bool | None = None,
    drop_last: bool = False,
) -> Batches:
    """Return an iterable of batches: tuples with `size` examples of each array, or these alone of a single one.

    Examples are along the first axis, and as many in each array. With a `key` they are shuffled, all arrays by the same
    permutation: the key alone decides, so a run that is resumed sees what the first one saw; another epoch takes
    another key. `shuffle=False` keeps the order all the same. The last batch has what is left, unless `drop_last`
    leaves it out; for a batch of another size a jitted function is recorded once more.

    Tensors stay on their device. Of NumPy arrays, such as those of a file that is mapped, only the examples of a batch
    are read. `len()` is the number of batches, which progress bars read: `tqdm(nn.batches(...))`.

    Raises ShapeError for arrays that do not have as many examples, ArgumentError for `shuffle=True` without a key or a
    size below 1.

    >>> x, y = tfr.arange(5), tfr.arange(5) * 10
    >>> [(a.tolist(), b.tolist()) for a, b in tfr.nn.batches(x, y, size=2)]
    [([0, 1], [0, 10]), ([2, 3], [20, 30]), ([4], [40])]
    >>> shuffled = tfr.nn.batches(x, size=2, key=tfr.random.key(0), drop_last=True)
    >>> len(shuffled), len({i for batch in shuffled for i in batch.tolist()})
    (2, 4)
    """
    size = integer("batches", "size", size)
    if size < 1:
        raise ArgumentError(f"batches: size is at least 1, got {size}")
    if key is not None and not isinstance(key, Key):
        raise DTypeError(
            f"batches: key is a key, got {type(key).__name__}",
            suggestions=("key=tfr.random.key(0)",),
        )
    if shuffle and key is None:
        raise ArgumentError(
            "batches: to shuffle takes a key, which decides the order",
            suggestions=("key=tfr.random.key(0), another one for each epoch",),
        )
    given = [
        array if isinstance(array, Tensor | np.ndarray) else asarray(array) for array in arrays
    ]
    _check(given)
    return Batches(
        given, size, None if shuffle is False else key, flag("batches", "drop_last", drop_last)
    )


def _check(arrays: Sequence[Tensor | Array]) -> None:
    if not arrays:
        raise ArgumentError("batches: there is nothing to take examples of")
    shapes = [array.shape for array in arrays]
    if not all(shapes) or len({shape[0] for shape in shapes}) > 1:
        listed = " and ".join(map(str, shapes))
        raise ShapeError(
            f"batches: arrays have as many examples along their first axis, got shapes {listed}"
        )


def _taken(array: Tensor | Array, chosen: slice, order: Array | None) -> Tensor:
    if order is None:
        return asarray(array[chosen])
    if isinstance(array, Tensor):
        return take(array, asarray(order[chosen], device=array.device), axis=0)
    return asarray(array[order[chosen]])
