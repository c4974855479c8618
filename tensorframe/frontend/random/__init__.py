"""The namespace `tfr.random`: random numbers that depend on a key alone.

Each function takes a `key` (the same key, the same values), or draws from a generator that `seed` restarts. Functions
only record: the words are made where the values are needed. Words, and the numbers made of them, have the same bits on
every device.
"""

from __future__ import annotations

from tensorframe.frontend.random.distributions import bernoulli, exponential, normal, uniform
from tensorframe.frontend.random.generator import Generator, default_rng
from tensorframe.frontend.random.keys import Key, key, seed, split
from tensorframe.frontend.random.sampling import choice, integers, permutation

__all__ = [
    "Generator",
    "Key",
    "bernoulli",
    "choice",
    "default_rng",
    "exponential",
    "integers",
    "key",
    "normal",
    "permutation",
    "seed",
    "split",
    "uniform",
]
