"""Special functions in NumPy: the formulas of `ops/special_math.py` on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import implementation, spells
from tensorframe.graph.op import find
from tensorframe.ops.double_double import split_product
from tensorframe.ops.special_algebra import Algebra, Formula
from tensorframe.ops.special_incomplete import FORMULAS as INCOMPLETE
from tensorframe.ops.special_math import FORMULAS
from tensorframe.ops.special_zeta import FORMULAS as ZETA

Array = Any


class _Arrays:
    """What formulas compute with, for results of float64 or of fewer digits."""

    def __init__(self, *, is_wide: bool) -> None:
        self._is_wide = is_wide

    where = staticmethod(np.where)
    both = staticmethod(np.logical_and)
    equal = staticmethod(np.equal)
    power = staticmethod(np.power)
    product = staticmethod(split_product)

    def seldom(
        self, condition: Array, costly: Callable[..., Array], cheap: Array, *operands: Array
    ) -> Array:
        """Return a costly function of operands where the condition holds, else what is cheap."""
        if condition.any():
            cheap = cheap.copy()
            few = [np.broadcast_to(operand, cheap.shape)[condition] for operand in operands]
            cheap[condition] = costly(*few)
        return cheap

    def digits(
        self, condition: Array, costly: Callable[..., Array], cheap: Array, *operands: Array
    ) -> Array:
        """Return what `seldom` does for results of float64, else what is cheap."""
        return self.seldom(condition, costly, cheap, *operands) if self._is_wide else cheap

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


_WIDE, _NARROW = _Arrays(is_wide=True), _Arrays(is_wide=False)


def _register(name: str, formula: Formula) -> None:
    def computed(*operands: Array) -> Array:
        wide = [np.atleast_1d(np.asarray(operand, np.float64)) for operand in operands]
        shape = np.broadcast_shapes(*map(np.shape, operands))
        dtype = operands[0].dtype
        algebra: Algebra = _WIDE if dtype == np.float64 else _NARROW
        value = formula(*wide, algebra)
        return value.astype(dtype, copy=False).reshape(shape)

    spells(name)(computed)


for _name, _formula in (FORMULAS | INCOMPLETE | ZETA).items():
    _register(_name, _formula)
