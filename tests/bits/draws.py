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

# functions that take their parameters, then a size
PARAMETERS: dict[str, tuple[Any, ...]] = {
    "beta": (2.0, 3.5),
    "binomial": (40, 0.3),
    "chisquare": (3.5,),
    "dirichlet": ([1.0, 2.5, 0.5],),
    "f": (3.0, 7.5),
    "gamma": (0.7, 2.0),
    "geometric": (0.2,),
    "gumbel": (0.5, 2.0),
    "hypergeometric": (20, 30, 15),
    "laplace": (0.5, 2.0),
    "logistic": (0.5, 2.0),
    "lognormal": (0.1, 0.5),
    "logseries": (0.6,),
    "multinomial": (20, [0.2, 0.3, 0.5]),
    "multivariate_hypergeometric": ([4, 6, 8], 7),
    "multivariate_normal": ([0.0, 9.0], [[1.0, 0.5], [0.5, 2.0]]),
    "negative_binomial": (5, 0.4),
    "noncentral_chisquare": (3.0, 1.5),
    "noncentral_f": (3.0, 7.0, 1.5),
    "pareto": (2.5,),
    "poisson": (7.5,),
    "power": (2.5,),
    "rand": (),
    "randint": (-5, 1000),
    "randn": (),
    "random": (),
    "random_sample": (),
    "rayleigh": (2.0,),
    "standard_cauchy": (),
    "standard_exponential": (),
    "standard_gamma": (2.5,),
    "standard_normal": (),
    "standard_t": (4.5,),
    "triangular": (-1.0, 0.5, 3.0),
    "vonmises": (0.5, 2.0),
    "wald": (1.5, 2.0),
    "weibull": (1.7,),
    "zipf": (2.5,),
}


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
    yield "permuted", _permuted
    yield "shuffle", _shuffled
    for name, parameters in PARAMETERS.items():
        yield name, partial(getattr(random, name), *parameters)


def _weighted_once(count: int, **where: Any) -> tfr.Tensor:
    return random.choice(300, min(count, 299), False, WEIGHTS, **where)


def _permuted(count: int, *, device: Any = None, **where: Any) -> tfr.Tensor:
    return random.permuted(tfr.arange(count, device=device), **where)


def _shuffled(count: int, *, device: Any = None, **where: Any) -> tfr.Tensor:
    numbers = tfr.arange(count, device=device)
    random.shuffle(numbers, **where)
    return numbers


# name -> function of how many, with the keywords key= and device=
DRAWS: dict[str, Draw] = dict(_draws())


def bits(tensor: tfr.Tensor) -> bytes:
    """The bytes of a result, which tell zeros of both signs and NaN of every kind apart."""
    return tensor.numpy().tobytes()
