"""Which formula stands for an op that is no machine op, or not for all dtypes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import tensorframe.kernel.math
from tensorframe.kernel.ir import Expr

Formula = Callable[..., Expr]

FORMULAS: dict[str, Formula] = {}

# the names of those that take half precision as it is
HALF_FORMULAS: set[str] = set()


# the names of those that can do without float64
ADAPTING_FORMULAS: set[str] = set()


def formula(name: str, *, half: bool = False, adapts: bool = False) -> Callable[[Formula], Formula]:
    """Register the decorated function as the meaning of the op `name` on all real dtypes that it accepts.

    Half precision is converted to float32 before and back afterwards, unless `half` says that the formula does that.
    One that `adapts` takes `double`: whether there is float64 to compute with, for operands that are not.
    """

    def register(function: Formula) -> Formula:
        FORMULAS[name] = function
        if half:
            HALF_FORMULAS.add(name)
        if adapts:
            ADAPTING_FORMULAS.add(name)
        return function

    return register


@cache
def formulas() -> Mapping[str, Formula]:
    """Return the formulas of all modules of this folder, which are imported when the first kernel is planned."""
    package = tensorframe.kernel.math
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)
    return FORMULAS


def adapts(name: str) -> bool:
    """Return whether the formula of an op can do without float64."""
    return name in formulas() and name in ADAPTING_FORMULAS


def takes_half(name: str) -> bool:
    """Return whether the formula of an op takes half precision as it is."""
    return name in formulas() and name in HALF_FORMULAS
