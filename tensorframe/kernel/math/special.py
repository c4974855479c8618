"""Special functions: the formulas of `ops/special_math.py` as expressions."""

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
from tensorframe.kernel.math.registry import formula, formula_of
from tensorframe.ops.special_algebra import Algebra
from tensorframe.ops.special_math import FORMULAS

_PLAIN: dict[str, Callable[..., Expr]] = {
    "floor": floor_of,
    "maximum": maximum,
    "minimum": minimum,
    "round": rint,
    "sqrt": sqrt,
}


class _Expressions:
    """What formulas compute with."""

    both = staticmethod(both)
    equal = staticmethod(equal)
    horner = staticmethod(horner)

    def where(self, condition: Expr, x: Any, y: Any) -> Expr:
        """Return x where the condition holds, else y."""
        return where(
            condition,
            *[value if isinstance(value, Expr) else literal(value, float64) for value in (x, y)],
        )

    def seldom(self, condition: Expr, costly: Callable[[Expr], Expr], x: Expr, cheap: Expr) -> Expr:
        """Return a costly function of x where the condition holds, else what is cheap."""
        return where_rare(condition, costly(x), cheap)

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


_ALGEBRA: Algebra = _Expressions()


def _register(name: str) -> None:
    def computed(x: Expr) -> Expr:
        return cast(FORMULAS[name](cast(x, float64), _ALGEBRA), x.dtype)

    formula(name)(computed)


for _name in FORMULAS:
    _register(_name)
