"""Which formula stands for an op that is no machine op, or not for all dtypes.

Plans only ask whether there is one. A module is imported when a kernel needs the first of its formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from tensorframe.kernel.ir import Expr

Formula = Callable[..., Expr]

# a module of this folder, and the ops whose formulas it registers
MODULES = {
    "classification": "isnan isinf isfinite signbit sign fmax fmin",
    "division": "floor_divide remainder fmod",
    "error_function": "erf erfc",
    "exponential": "exp exp2 expm1",
    "hyperbolic": "sinh cosh tanh asinh acosh atanh",
    "identities": "positive real imag conj floor ceil trunc round",
    "inverse_trigonometric": "asin acos atan atan2",
    "logarithm": "log log2 log10 log1p logaddexp",
    "logic": "logical_xor less less_equal greater greater_equal",
    "neighbours": "nextafter",
    "portable": "surprisal cos_turns",
    "powers": "square reciprocal pow",
    "random": "random_word",
    "roots": "cbrt hypot",
    "special": "digamma erfcinv erfinv gamma gammaln i0 i0e i1 i1e ndtr ndtri polygamma riemann_zeta trigamma zeta",
    "trigonometric": "sin cos tan",
}

HOMES = {name: module for module, names in MODULES.items() for name in names.split()}

# those whose modules were imported
FORMULAS: dict[str, Formula] = {}
_take_half: set[str] = set()
_adapting: set[str] = set()


def formula(name: str, *, half: bool = False, adapts: bool = False) -> Callable[[Formula], Formula]:
    """Register the decorated function as the meaning of the op `name` on all real dtypes that it accepts.

    Half precision is converted to float32 before and back afterwards, unless `half` says that the formula does that.
    One that `adapts` takes `double`: whether there is float64 to compute with, for operands that are not.
    """

    def register(function: Formula) -> Formula:
        FORMULAS[name] = function
        if half:
            _take_half.add(name)
        if adapts:
            _adapting.add(name)
        return function

    return register


def has_formula(name: str) -> bool:
    """Return whether there is a formula for an op; nothing is imported."""
    return name in HOMES


def formula_of(name: str) -> Formula | None:
    """Return the formula of an op, if there is one."""
    if name not in FORMULAS and name in HOMES:
        import_module(f"{__package__}.{HOMES[name]}")
    return FORMULAS.get(name)


def adapts(name: str) -> bool:
    """Return whether the formula of an op can do without float64."""
    return formula_of(name) is not None and name in _adapting


def takes_half(name: str) -> bool:
    """Return whether the formula of an op takes half precision as it is."""
    return formula_of(name) is not None and name in _take_half
