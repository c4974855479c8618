"""Special functions: the formulas of `ops/special_math.py` and `ops/special_zeta.py` as expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.dtypes import float64
from tensorframe.kernel.ir import Expr, literal
from tensorframe.kernel.ir.formula import (
    both,
    cast,
    equal,
    fma,
    horner,
    maximum,
    minimum,
    rint,
    sqrt,
    where,
    where_rare,
)
from tensorframe.kernel.ir.formula import floor as floor_of
from tensorframe.kernel.math.powers import finite_power
from tensorframe.kernel.math.registry import formula, formula_of
from tensorframe.ops.special_algebra import Algebra
from tensorframe.ops.special_algebra import Formula as Meaning
from tensorframe.ops.special_math import FORMULAS
from tensorframe.ops.special_zeta import FORMULAS as ZETA

_PLAIN: dict[str, Callable[..., Expr]] = {
    "floor": floor_of,
    "maximum": maximum,
    "minimum": minimum,
    "round": rint,
    "sqrt": sqrt,
}


class _Expressions:
    """What formulas compute with, for results of float64 or of fewer digits."""

    def __init__(self, *, is_wide: bool) -> None:
        self._is_wide = is_wide

    both = staticmethod(both)
    equal = staticmethod(equal)
    horner = staticmethod(horner)
    power = staticmethod(finite_power)

    def where(self, condition: Expr, x: Any, y: Any) -> Expr:
        """Return x where the condition holds, else y."""
        return where(
            condition,
            *[value if isinstance(value, Expr) else literal(value, float64) for value in (x, y)],
        )

    def seldom(
        self, condition: Expr, costly: Callable[..., Expr], cheap: Expr, *operands: Expr
    ) -> Expr:
        """Return a costly function of operands where the condition holds, else what is cheap."""
        return where_rare(condition, costly(*operands), cheap)

    def digits(
        self, condition: Expr, costly: Callable[..., Expr], cheap: Expr, *operands: Expr
    ) -> Expr:
        """Return what `seldom` does for results of float64, else what is cheap."""
        return self.seldom(condition, costly, cheap, *operands) if self._is_wide else cheap

    def product(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return the product, rounded, and what rounding took from it."""
        product = x * y
        if not isinstance(x, Expr):
            x, y = y, x
        return product, fma(x, y, -product)

    def call(self, name: str, *operands: Any) -> Expr:
        """Return another elementwise function."""
        plain = _PLAIN.get(name)
        if plain is None:
            plain = formula_of(name)
        assert plain is not None
        return plain(*operands)


_WIDE, _NARROW = _Expressions(is_wide=True), _Expressions(is_wide=False)


def _register(name: str, meaning: Meaning) -> None:
    def computed(*operands: Expr) -> Expr:
        wide = [cast(operand, float64) for operand in operands]
        dtype = operands[0].dtype
        algebra: Algebra = _WIDE if dtype == float64 else _NARROW
        return cast(meaning(*wide, algebra), dtype)

    formula(name)(computed)


for _name, _meaning in (FORMULAS | ZETA).items():
    _register(_name, _meaning)
