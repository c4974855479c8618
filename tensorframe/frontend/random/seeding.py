"""Seeds in all forms that NumPy takes, and the state of the generator that functions without a key draw from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorframe.errors import ArgumentError
from tensorframe.frontend.parameters import integers
from tensorframe.frontend.random.keys import SHARED, Key, Stream, checked_seed, key, random_key

if TYPE_CHECKING:
    from numpy.random import BitGenerator, SeedSequence

    Seed = int | Key | Sequence[int] | SeedSequence | BitGenerator | None

# what a state begins with, as NumPy's begin with the name of their generator
_ALGORITHM = "Philox4x32"

__all__ = ["get_state", "seed", "set_state"]


def key_of(seed: Seed) -> Key:
    """Return the key of a seed: of an integer, of several, of NumPy's seeds and generators of bits; None is any key."""
    if seed is None:
        return random_key()
    if isinstance(seed, Key):
        return seed
    given: Any = getattr(seed, "seed_seq", seed)  # of a generator of bits
    if hasattr(given, "generate_state"):
        return Key(int(given.generate_state(1, np.uint64)[0]))
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str | bytes):
        words = [checked_seed(word) for word in integers("seed", "seed", given)]
        return key_of(np.random.SeedSequence(words))
    return key(given)


def seed(seed: Seed = None, /) -> None:
    """Restart the generator that functions without a `key` draw from; without a seed each process differs.

    Seeds are integers from 0 to 2**64 - 1, sequences of integers, or what NumPy makes of these.

    >>> tfr.random.seed(7)
    >>> first = tfr.random.uniform(2).tolist()
    >>> tfr.random.seed(7)
    >>> tfr.random.uniform(2).tolist() == first
    True
    """
    SHARED.restart(key_of(seed))


def get_state(legacy: bool = True) -> tuple[Any, ...]:
    """Return the state of the generator that functions without a `key` draw from: `set_state` goes back to it.

    `legacy` is NumPy's and changes nothing.

    >>> state = tfr.random.get_state()
    >>> first = tfr.random.uniform(2).tolist()
    >>> tfr.random.set_state(state)
    >>> tfr.random.uniform(2).tolist() == first
    True
    """
    del legacy
    return state_of(SHARED)


def set_state(state: tuple[Any, ...]) -> None:
    """Go back to a state that `get_state` returned; ArgumentError if it is not one."""
    move_to(SHARED, state)


def state_of(stream: Stream) -> tuple[Any, ...]:
    """Return the state of a stream as `get_state` shows it."""
    return (_ALGORITHM, *stream.state())


def move_to(stream: Stream, state: tuple[Any, ...]) -> None:
    """Have a stream go on from a state; ArgumentError if it is not one."""
    # a list is what JSON makes of it
    if not isinstance(state, tuple | list) or len(state) != 4 or state[0] != _ALGORITHM:
        raise ArgumentError(
            f"set_state: takes what get_state of tfr.random returned, got {state!r:.80}",
            suggestions=("tfr.random.seed(7), which restarts the generator",),
        )
    value, drawn, split = map(checked_seed, state[1:])
    stream.move(Key(value), drawn, split)
