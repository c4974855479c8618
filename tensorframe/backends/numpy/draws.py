"""Draws of NumPy's generators: numbers of a distribution under a key and a counter."""

from __future__ import annotations

from collections.abc import Sequence
from threading import local
from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import spells
from tensorframe.errors import ArgumentError
from tensorframe.graph.shape import Shape

Array = Any

# parameters that count something; NumPy takes them as integers
_COUNTED = {
    "binomial": (0,),
    "hypergeometric": (0, 1, 2),
    "multinomial": (0,),
    "multivariate_hypergeometric": (0, 1),
}


class _Generators(local):
    """The generator of one thread, which is told its key and counter: to make one takes as long as many draws."""

    def __init__(self) -> None:
        self.bits = np.random.Philox(key=0)
        self.state: Any = self.bits.state
        self.generator = np.random.Generator(self.bits)


_generators = _Generators()


@spells("draw")
def draw(low: Array, high: Array, first: Array, second: Array, *arguments: Any) -> Array:
    """Draw with the key and the counter of these halves."""
    *parameters, name, size, shape, dtype = arguments
    key, counter = (
        int(lower) | int(upper) << 32 for lower, upper in ((low, high), (first, second))
    )
    return drawn(key, counter, name, parameters, size).astype(dtype, copy=False).reshape(shape)


def drawn(key: int, counter: int, name: str, parameters: Sequence[Array], size: Shape) -> Array:
    """Return what NumPy's generator draws. Each counter has a range of NumPy's own to itself: it is their highest word.

    ArgumentError if NumPy does not take the parameters.
    """
    own = _generators
    words = own.state["state"]
    words["key"][0], words["counter"][3] = key, counter
    own.bits.state = own.state
    whole = _COUNTED.get(name, ())
    given = [
        value.astype(np.int64) if place in whole else value
        for place, value in enumerate(parameters)
    ]
    try:
        return np.asarray(getattr(own.generator, name)(*given, size=size))
    except ValueError as error:
        raise ArgumentError(f"{name}: {error}") from error
