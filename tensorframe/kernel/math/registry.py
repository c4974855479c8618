"""Which formula stands for an op in a dialect that has no function of its own for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import tensorframe.kernel.math
from tensorframe.kernel.ir import Expr

Formula = Callable[..., Expr]

FORMULAS: dict[str, Formula] = {}


def formula(name: str) -> Callable[[Formula], Formula]:
    """Register the decorated function as the meaning of the op `name` on floating operands."""

    def register(function: Formula) -> Formula:
        FORMULAS[name] = function
        return function

    return register


@cache
def formulas() -> Mapping[str, Formula]:
    """Return the formulas of all modules of this folder, which are imported when the first kernel is planned."""
    package = tensorframe.kernel.math
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)
    return FORMULAS
