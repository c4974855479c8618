"""Where random bits come from: keys that are values, and streams that hand out each counter once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from tensorframe.backends.numpy.random import random_words
from tensorframe.errors import ArgumentError, TracingError
from tensorframe.forks import new_lock
from tensorframe.graph.mapping import mapping
from tensorframe.graph.tracing import Trace, TracedNumber, current
from tensorframe.quick_tuples import NamedTuple

Array = np.ndarray[Any, Any]

# a counter has 128 bits: values are drawn with the upper half zero, new keys with this mark in it, so never both
_SPLIT = int.from_bytes(b"new keys", "big") << 64
_KEYS = 2**64


class MappedKey(NamedTuple):
    """The value of a key that differs from example to example: the halves of its 64 bits as tensors, and all keys.

    `stand` makes a key of this kind of other keys, one for each example.
    """

    low: Any
    high: Any
    keys: Sequence[Key]
    stand: Callable[[Sequence[Key]], Key]

    def __format__(self, _specification: str) -> str:
        return "one of many"


@dataclass(frozen=True, slots=True)
class Key:
    """A 64-bit key: it stands for one sequence of random words, and gives the same ones whenever it is used."""

    value: int | TracedNumber | MappedKey

    def __repr__(self) -> str:
        return f"Key({self.value:#018x})"


def key(seed: int, /) -> Key:
    """Return the key of a seed, an integer from 0 to 2**64 - 1.

    Functions that get the same key return the same values; `split` makes keys for independent values. ArgumentError if
    the seed is not such an integer.

    >>> k = tfr.random.key(42)
    >>> tfr.random.uniform(3, key=k).tolist() == tfr.random.uniform(3, key=k).tolist()
    True
    """
    number: int | TracedNumber = seed
    return Key(
        number.then(checked_seed, int) if isinstance(number, TracedNumber) else checked_seed(seed)
    )


def checked_seed(seed: Any) -> int:
    """Return a seed as an integer; ArgumentError if it is none from 0 to 2**64 - 1."""
    if not isinstance(seed, int | np.integer) or not 0 <= int(seed) < _KEYS:
        message = f"a seed is an integer from 0 to 2**64 - 1, got {seed!r}"
        raise ArgumentError(message, suggestions=("seed % 2**64",))
    return int(seed)


def split(key: Key, count: int = 2, /) -> tuple[Key, ...]:
    """Return new keys whose values have nothing to do with each other, or with those of `key`.

    Each is a random block under `key`, from counters that no values are drawn from.
    ArgumentError if `key` is not a key.

    >>> first, second = tfr.random.split(tfr.random.key(0))
    >>> tfr.random.uniform(key=first).item() == tfr.random.uniform(key=second).item()
    False
    """
    if not isinstance(key, Key):
        raise ArgumentError(f"split: takes a key, got {key!r}", suggestions=("tfr.random.key(0)",))
    if isinstance(key.value, MappedKey):
        children = [split(part, count) for part in key.value.keys]
        return tuple(map(key.value.stand, zip(*children, strict=True)))
    if isinstance(key.value, TracedNumber):
        numbers = key.value.then(partial(_children, count=count))
        return tuple(Key(numbers.then(itemgetter(index), int)) for index in range(count))
    return tuple(map(Key, _children(key.value, count)))


def _children(key: int, count: int) -> tuple[int, ...]:
    words = random_words(key, _SPLIT, 4 * count).reshape(count, 4).tolist()
    return tuple(low | high << 32 for low, high, _, _ in words)


class Stream:
    """A key and a counter that only moves on: what is drawn depends on the order of recording, never of computing."""

    def __init__(self, key: Key) -> None:
        self._lock = new_lock()
        self._key = key
        self._drawn = 0
        self._split = 0
        # what is known of draws that programs repeat: see `repeated.py`
        self.repeated: dict[Any, Any] = {}
        self._trace = current.get()
        self._mapping = mapping.get()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a stream as a copy that goes on from the same place."""
        return (_stream_at, self.state())

    def restart(self, key: Key) -> None:
        """Begin again with another key."""
        self._refuse_while_recorded("is seeded")
        self.move(key, 0, 0)

    def state(self) -> tuple[Any, int, int]:
        """Return what `move` takes to go on from here: the key, and how many counters and keys were handed out."""
        self._refuse_while_recorded("tells its state")
        with self._lock:
            return self._key.value, self._drawn, self._split

    def move(self, key: Key, drawn: int, split: int) -> None:
        """Go on where a stream was."""
        self._refuse_while_recorded("is moved")
        with self._lock:
            self._key, self._drawn, self._split = key, drawn, split

    def _is_recorded(self) -> Trace | None:
        """Return the recording of a function that uses this stream, unless the function makes it anew in every call."""
        trace = current.get()
        return trace if trace is not self._trace else None

    def _refuse_while_mapped(self) -> None:
        """Raise TracingError where all examples of a mapped function would share what a loop draws anew."""
        batch = mapping.get()
        if batch is not None and batch is not self._mapping:
            raise _shared_by_examples(batch.function)

    def _refuse_while_recorded(self, what: str) -> None:
        self._refuse_while_mapped()
        trace = self._is_recorded()
        if trace is not None:
            raise TracingError(
                f"{trace.function}: a random generator from outside {what} while jit records the function",
                suggestions=("an argument that is a key: tfr.random.split(key) in the function",),
            )

    def reserve(self, words: int) -> tuple[Any, Any]:
        """Return the key and the first counter of `words` words that nobody else gets.

        A function that `jit` records draws anew in every call.
        """
        self._refuse_while_mapped()
        trace = self._is_recorded()
        if trace is not None:
            drawn = trace.arithmetic.call(self.reserve, words)
            return drawn.then(itemgetter(0), int), drawn.then(itemgetter(1), int)
        return self.hand_out(-(-words // 4))

    def hand_out(self, counters: int) -> tuple[Any, int]:
        """Return the key, and the first of so many counters: of a draw that is not recorded for later."""
        with self._lock:
            counter = self._drawn
            self._drawn = counter + counters
            return self._key.value, counter

    def spawn(self, count: int) -> tuple[Key, ...]:
        """Return new keys that nobody else gets."""
        self._refuse_while_recorded("gives keys")
        with self._lock:
            keys = split(self._key, self._split + count)[self._split :]
            self._split += count
            return keys


def _stream_at(value: int, drawn: int, split: int) -> Stream:
    stream = Stream(Key(value))
    stream.move(Key(value), drawn, split)
    return stream


def _shared_by_examples(function: str) -> TracingError:
    return TracingError(
        f"{function}: a draw without a key would be the same for all examples, which vmap records once",
        suggestions=(
            "keys as an argument: vmap(f)(x, tfr.random.split(key, len(x)))",
            "key=... for one draw that all share",
        ),
    )


def random_key() -> Key:
    """Return a key that the operating system picks; in a function that `jit` records, another one in every call."""
    batch = mapping.get()
    if batch is not None:
        raise _shared_by_examples(batch.function)
    trace = current.get()
    return Key(trace.arithmetic.call(_random_number, kind=int) if trace else _random_number())


def _random_number() -> int:
    return int.from_bytes(os.urandom(8), "big")


SHARED = Stream(random_key())


class Handed(NamedTuple):
    """Counters that a stream has handed out already, for one draw."""

    key: int
    counter: int

    def reserve(self, words: int) -> tuple[int, int]:
        """Return the key and the counter."""
        del words
        return self.key, self.counter


class Many(NamedTuple):
    """Counters of `draws` of the same kind, `stride` apart: what is drawn has an axis more in front."""

    key: int
    counter: int
    stride: int
    draws: int

    def reserve(self, words: int) -> tuple[int, int]:
        """Return the key and the first counter."""
        del words
        return self.key, self.counter

    def counters(self) -> Array:
        """Return the first counter of each draw."""
        return self.counter + np.arange(self.draws, dtype=np.uint64) * np.uint64(self.stride)


class Noted:
    """A stream that is asked once for the words of a draw, and how many counters it gave."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.reserved: list[tuple[int, int]] = []  # the first counter, and how many

    def reserve(self, words: int) -> tuple[Any, Any]:
        """Return the key and the first counter of `words` words of the stream."""
        key, counter = self._stream.reserve(words)
        self.reserved.append((counter, -(-words // 4)))
        return key, counter


Source = Key | Stream | Handed | Many | Noted | None


def reserved(origin: Source | Any, words: int) -> tuple[Any, Any]:
    """Return the key and the first counter of `words` words of a key or a stream."""
    if isinstance(origin, Key):
        return origin.value, 0
    if origin is None:
        return SHARED.reserve(words)
    if isinstance(origin, Stream | Handed | Many | Noted):
        return origin.reserve(words)
    hint = "tfr.random.key(seed)"
    raise ArgumentError(f"key= takes a key, got {origin!r}", suggestions=(hint,))
