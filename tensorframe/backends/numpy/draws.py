"""Draws of NumPy's generators: numbers of a distribution under a key and a counter."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import spells
from tensorframe.errors import ArgumentError

Array = Any

# parameters that count something; NumPy takes them as integers
_COUNTED = {
    "binomial": (0,),
    "hypergeometric": (0, 1, 2),
    "multinomial": (0,),
    "multivariate_hypergeometric": (0, 1),
}


@spells("draw")
def draw(low: Array, high: Array, first: Array, second: Array, *arguments: Any) -> Array:
    """Draw. Each counter has a range of NumPy's own to itself: it is the highest word of theirs."""
    *parameters, name, size, shape, dtype = arguments
    key, counter = (
        int(lower) | int(upper) << 32 for lower, upper in ((low, high), (first, second))
    )
    generator = np.random.Generator(np.random.Philox(key=key, counter=counter << 192))
    whole = _COUNTED.get(name, ())
    given = [
        value.astype(np.int64) if place in whole else value
        for place, value in enumerate(parameters)
    ]
    try:
        values = getattr(generator, name)(*given, size=size)
    except ValueError as error:
        raise ArgumentError(f"{name}: {error}") from error
    return np.asarray(values, dtype).reshape(shape)
