"""Random words: a block of Philox 4x32-10 (`ops/random.py`) for each position, in integers that every device has."""

from __future__ import annotations

from tensorframe.dtypes import uint32
from tensorframe.kernel.ir import Expr, literal
from tensorframe.kernel.ir.formula import cast, equal, multiply_high, where
from tensorframe.kernel.math.registry import formula
from tensorframe.ops.random import KEY_STEPS, MULTIPLIERS, ROUNDS, positions_of_block


@formula("random_word")
def random_word(
    position: Expr,
    counter_low: Expr,
    counter_high: Expr,
    key_low: Expr,
    key_high: Expr,
    every: int,
    words: int,
    word: int,
) -> Expr:
    """Return one of the four words of the block that a position belongs to.

    Words of one block are picked from the same ten rounds, which kernels compute once.
    """
    block = position >> (positions_of_block(every, words).bit_length() - 1)
    low = counter_low + block
    high = counter_high + cast(low < block, uint32)
    zero = literal(0, uint32)
    lanes = _rounds([low, high, zero, zero], key_low, key_high)
    # the first word of this position in the block is 0, or any multiple of `words` below 4
    start = (position >> (every.bit_length() - 1)) * words
    if words == 4:
        return lanes[word]
    upper = equal(start & 2, 2)
    if words == 2:
        return where(upper, lanes[word + 2], lanes[word])
    odd = equal(start & 1, 1)
    return where(upper, where(odd, lanes[3], lanes[2]), where(odd, lanes[1], lanes[0]))


def _rounds(x: list[Expr], key_low: Expr, key_high: Expr) -> list[Expr]:
    """Return the four words that a counter of four words becomes under a key."""
    for number in range(ROUNDS):
        key0, key1 = (
            key + (number * step & 0xFFFFFFFF)
            for key, step in zip((key_low, key_high), KEY_STEPS, strict=True)
        )
        first, second = MULTIPLIERS
        x = [
            multiply_high(x[2], second) ^ x[1] ^ key0,
            x[2] * second,
            multiply_high(x[0], first) ^ x[3] ^ key1,
            x[0] * first,
        ]
    return x
