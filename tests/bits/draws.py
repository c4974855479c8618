"""Every distribution of random numbers, as functions of a shape: with parameters, in every dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import tensorframe as tfr
from tensorframe import random

Draw = Callable[..., tfr.Tensor]

FLOATS = ["float16", "bfloat16", "float32", "float64"]
WEIGHTS = np.random.default_rng(0).exponential(size=300) ** 3


def _draws() -> Iterator[tuple[str, Draw]]:
    for draw in (random.uniform, random.normal, random.exponential):
        for dtype in FLOATS:
            yield f"{draw.__name__} {dtype}", partial(draw, dtype=dtype)
    yield "uniform scaled", partial(random.uniform, low=-3.7, high=11.1)
    yield "normal scaled", partial(random.normal, mean=1.1, std=0.3)
    yield "exponential scaled", partial(random.exponential, scale=0.7)
    yield "bernoulli", partial(random.bernoulli, p=0.37)
    yield "integers", lambda count, **where: random.integers(-5, 1000, count, **where)
    yield "integers wide", lambda count, **where: random.integers(0, 3 * 2**40, count, **where)
    yield (
        "integers int8",
        lambda count, **where: random.integers(-9, 99, count, dtype="int8", **where),
    )
    yield "permutation", random.permutation
    yield "choice", partial(random.choice, 1000)
    yield "choice once", lambda count, **where: random.choice(count * 2, count, False, **where)
    yield "choice weighted", partial(random.choice, 300, p=WEIGHTS)
    yield "choice weighted once", _weighted_once


def _weighted_once(count: int, **where: Any) -> tfr.Tensor:
    return random.choice(300, min(count, 299), False, WEIGHTS, **where)


# name -> function of how many, with the keywords key= and device=
DRAWS: dict[str, Draw] = dict(_draws())


def bits(tensor: tfr.Tensor) -> bytes:
    """The bytes of a result, which tell zeros of both signs and NaN of every kind apart."""
    return tensor.numpy().tobytes()
