"""Special functions in NumPy: the formulas of `ops/special_math.py` on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import implementation, spells
from tensorframe.graph.op import find
from tensorframe.ops.special_math import FORMULAS, Algebra

Array = Any


class _Arrays:
    """What formulas compute with."""

    where = staticmethod(np.where)
    both = staticmethod(np.logical_and)
    equal = staticmethod(np.equal)

    def call(self, name: str, *operands: Array) -> Array:
        """Return another elementwise function."""
        return implementation[find(name)](*operands)

    def horner(self, t: Array, coefficients: tuple[float, ...]) -> Array:
        """Return a polynomial, whose coefficient of the highest power comes first."""
        value = t * coefficients[0] + coefficients[1]
        for coefficient in coefficients[2:]:
            value *= t
            value += coefficient
        return value


_ALGEBRA: Algebra = _Arrays()


def _register(name: str) -> None:
    def computed(x: Array) -> Array:
        wide = np.atleast_1d(np.asarray(x, np.float64))
        return FORMULAS[name](wide, _ALGEBRA).astype(x.dtype, copy=False).reshape(np.shape(x))

    spells(name)(computed)


for _name in FORMULAS:
    _register(_name)
