"""Random words in NumPy: whole blocks of Philox 4x32-10 (`ops/random.py`), which neighbouring positions share."""

from __future__ import annotations

from collections.abc import Sequence
from threading import local
from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import spells
from tensorframe.machine import HOST
from tensorframe.ops.random import KEY_STEPS, MULTIPLIERS, ROUNDS, positions_of_block

Array = Any

_LOW = 0xFFFFFFFF
_WORD = np.uint64(32)
_MASK = np.uint64(_LOW)
# Blocks of one chunk, which fits the second level of cache with everything that is computed on the way; smaller ones
# would have several threads wait for the interpreter.
_CHUNK = HOST.second // 16
# blocks of a table that a thread keeps for the other words of the same positions, which are asked for next
_KEPT = 1 << 16
_STEPS = np.arange(_CHUNK, dtype=np.uint64)


class _Workspace(local):
    """Memory of one thread, since new memory would cost as much as the words: what rounds need, and the last table."""

    def __init__(self) -> None:
        self.rounds = np.empty((6, _CHUNK), np.uint64)
        self.table = np.empty((0, 4), np.uint32)
        # key, first counter and number of blocks of the table
        self.drawn: tuple[int, int, int] | None = None


_workspace = _Workspace()


def random_words(key: int, counter: int, count: int) -> Array:
    """Return `count` words, four for each counter from `counter` on."""
    table = np.empty((-(-count // 4), 4), np.uint32)
    _fill(table, key, counter)
    return table.reshape(-1)[:count]


def _fill(table: Array, key: int, counter: int) -> None:
    """Write the four words of each counter from `counter` on to the rows of a table."""
    for start in range(0, len(table), _CHUNK):
        part = table[start : start + _CHUNK]
        memory = _workspace.rounds[:, : len(part)]
        _count(memory, counter + start)
        lanes = _philox(np.uint64(key & _LOW), np.uint64(key >> 32 & _LOW), memory)
        for lane, values in enumerate(lanes):
            part[:, lane] = values


def _count(words: Array, counter: int) -> None:
    """Write the words of the 128-bit counters from `counter` on, the lowest first, to four arrays."""
    first = np.uint64(counter & 0xFFFFFFFFFFFFFFFF)
    upper = np.uint64(counter >> 64 & 0xFFFFFFFFFFFFFFFF)
    low, high = words[1], words[3]
    np.add(_STEPS[: low.size], first, out=low)
    np.add(low < first, upper, out=high)
    for lower, half in ((words[0], low), (words[2], high)):
        np.bitwise_and(half, _MASK, out=lower)
        half >>= _WORD


def _philox(key_low: Any, key_high: Any, memory: Array) -> list[Array]:
    """Return the four words that counters become: arrays of uint64 below 2**32.

    `memory` are the four words of the counters, and two arrays more; the result is in it too.
    """
    x0, x1, x2, x3, product0, product1 = memory
    for number in range(ROUNDS):
        np.multiply(x0, np.uint64(MULTIPLIERS[0]), out=product0)
        np.multiply(x2, np.uint64(MULTIPLIERS[1]), out=product1)
        np.right_shift(product1, _WORD, out=x0)
        x0 ^= x1
        x0 ^= key_low + np.uint64(number * KEY_STEPS[0] & _LOW) & _MASK
        np.right_shift(product0, _WORD, out=x2)
        x2 ^= x3
        x2 ^= key_high + np.uint64(number * KEY_STEPS[1] & _LOW) & _MASK
        x1, product1 = np.bitwise_and(product1, _MASK, out=product1), x1
        x3, product0 = np.bitwise_and(product0, _MASK, out=product0), x3
    return [x0, x1, x2, x3]


@spells("random_word", writes=True)
def random_word(
    position: Array,
    counter_low: Array,
    counter_high: Array,
    key_low: Array,
    key_high: Array,
    every: int,
    words: int,
    word: int,
    out: Array | None = None,
) -> Array:
    """Return a word for each position; consecutive ones are recognised, and take each block as a whole."""
    origin = (counter_low, counter_high, key_low, key_high)
    flat = np.ravel(position)
    if any(np.size(half) != 1 for half in origin) or not _are_consecutive(flat):
        words_there = _scattered(position, origin, every, words, word)
    else:
        counter, key = (
            int(np.ravel(low)[0]) | int(np.ravel(high)[0]) << 32
            for low, high in (origin[:2], origin[2:])
        )
        shared = positions_of_block(every, words)
        first, stop = int(flat[0]), int(flat[-1]) + 1
        block = first // shared
        start = block * shared
        table = _shared_table(key, counter + block, -(-(stop - start) // shared))
        column = table.reshape(-1)[word::words]
        if every > 1:
            column = np.repeat(column, every)
        words_there = column[first - start : stop - start].reshape(np.shape(position))
    if out is None:
        return words_there.copy()  # the table is overwritten
    out[...] = words_there
    return out


def _are_consecutive(positions: Array) -> bool:
    """Whether each position is one more than that before it, and none wraps."""
    if not positions.size or int(positions[-1]) - int(positions[0]) != positions.size - 1:
        return False
    return bool((positions[1:] - positions[:-1] == 1).all())


def _shared_table(key: int, counter: int, blocks: int) -> Array:
    """Return the words of `blocks` counters, made once if they are asked for again and again.

    They are there until this thread asks for others.
    """
    here = _workspace
    if blocks > _KEPT:
        return random_words(key, counter, 4 * blocks).reshape(-1, 4)
    if here.drawn != (key, counter, blocks):
        here.drawn = None
        if len(here.table) < blocks:
            here.table = np.empty((blocks, 4), np.uint32)
        _fill(here.table[:blocks], key, counter)
        here.drawn = (key, counter, blocks)
    return here.table[:blocks]


def _scattered(
    position: Array, origin: Sequence[Array], every: int, words: int, word: int
) -> Array:
    """Return the words of any positions, from a block for each run of them that shares one."""
    place, counter_low, counter_high, key_low, key_high = np.broadcast_arrays(
        *[np.asarray(half, np.uint64) for half in (position, *origin)]
    )
    counter = (counter_high << _WORD) + counter_low
    counter = (counter + place // np.uint64(positions_of_block(every, words))).ravel()
    key = ((key_high << _WORD) + key_low).ravel()
    begins = np.ones(place.size, bool)
    begins[1:] = (counter[1:] != counter[:-1]) | (key[1:] != key[:-1])
    counters, keys = counter[begins], key[begins]
    memory = np.zeros((6, counters.size), np.uint64)
    memory[0], memory[1] = counters & _MASK, counters >> _WORD
    blocks = np.stack(_philox(keys & _MASK, keys >> _WORD, memory))
    lane = place // np.uint64(every) * np.uint64(words) + np.uint64(word) & np.uint64(3)
    chosen: Array = blocks[lane.ravel().astype(np.intp), np.cumsum(begins) - 1]
    return chosen.astype(np.uint32).reshape(place.shape)
