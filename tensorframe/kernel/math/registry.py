"""Which formula stands for an op in a dialect that has no function of its own for it."""

from __future__ import annotations

from collections.abc import Callable

from tensorframe.kernel.ir import Expr

Formula = Callable[..., Expr]

FORMULAS: dict[str, Formula] = {}


def formula(name: str) -> Callable[[Formula], Formula]:
    """Register the decorated function as the meaning of the op `name` on floating operands."""

    def register(function: Formula) -> Formula:
        FORMULAS[name] = function
        return function

    return register
