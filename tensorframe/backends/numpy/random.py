"""Random words: the counter-based generator Philox 4x32-10, over blocks of counters at a time.

Source: J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11.
A block is a 128-bit counter that ten rounds of multiplications and exclusive ors turn into four random words, under
a 64-bit key. Any block can be had without the ones before it, so results do not depend on who computes what when.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.creation import GENERATORS
from tensorframe.graph.node import Node

Array = Any

ROUNDS = 10
# the multipliers of the two halves, and the Weyl constants (golden ratio, sqrt(3) - 1) that the key grows by
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)

_LOW = 0xFFFFFFFF
_WORD = np.uint64(32)
_MASK = np.uint64(_LOW)
# words of one chunk fit the first two levels of cache with everything that is computed on the way
_CHUNK = 8192


def random_words(key: int, counter: int, count: int) -> Array:
    """Return `count` words, four for each counter from `counter` on."""
    blocks = -(-count // 4)
    words = np.empty((blocks, 4), np.uint32)
    for start in range(0, blocks, _CHUNK):
        stop = min(start + _CHUNK, blocks)
        for lane, values in enumerate(_philox(key, counter + start, stop - start)):
            words[start:stop, lane] = values
    return words.reshape(-1)[:count]


def _philox(key: int, counter: int, blocks: int) -> list[Array]:
    """Return the four words of `blocks` counters, each as an array of uint64 below 2**32."""
    x0, x1, x2, x3 = _counters(counter, blocks)
    key0, key1 = key & _LOW, key >> 32 & _LOW
    for _ in range(ROUNDS):
        product0 = x0 * np.uint64(MULTIPLIERS[0])
        product1 = x2 * np.uint64(MULTIPLIERS[1])
        x0 = product1 >> _WORD
        x0 ^= x1
        x0 ^= np.uint64(key0)
        x2 = product0 >> _WORD
        x2 ^= x3
        x2 ^= np.uint64(key1)
        x1 = np.bitwise_and(product1, _MASK, out=product1)
        x3 = np.bitwise_and(product0, _MASK, out=product0)
        key0 = key0 + KEY_STEPS[0] & _LOW
        key1 = key1 + KEY_STEPS[1] & _LOW
    return [x0, x1, x2, x3]


def _counters(counter: int, blocks: int) -> list[Array]:
    """Return the four words of each of the 128-bit counters from `counter` on."""
    first = np.uint64(counter & 0xFFFFFFFFFFFFFFFF)
    low = first + np.arange(blocks, dtype=np.uint64)
    high = (low < first).astype(np.uint64) + np.uint64(counter >> 64 & 0xFFFFFFFFFFFFFFFF)
    return [low & _MASK, low >> _WORD, high & _MASK, high >> _WORD]


def _random_bits(node: Node) -> Array:
    key, counter = map(int, node.attrs)  # a number that is not known yet refuses
    return random_words(key, counter, node.size).reshape(node.shape)


GENERATORS["random_bits"] = _random_bits
