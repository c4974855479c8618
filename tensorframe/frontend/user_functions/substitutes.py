"""Substitutes: what functions of `math`, `cmath` and Python's own mean for scalars that have no value yet.

`math.exp(x)` would ask `x` for its value. So a user's function is recorded with such functions replaced, under whatever
name it knows them; with known numbers they do what they did.
"""

from __future__ import annotations

import builtins
import cmath
import math
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.errors import DTypeError
from tensorframe.frontend.dtypes.data_types import astype
from tensorframe.frontend.elementwise.functions import FUNCTIONS
from tensorframe.frontend.indexing.searching import where
from tensorframe.frontend.user_functions.scalar import Scalar, as_scalars, needed

Function = Callable[..., Any]


class Substitute:
    """A function, and another one that is called in its place where a scalar is among the arguments."""

    def __init__(self, original: Any, recorded: Function) -> None:
        self._original = original
        self._recorded = recorded

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the one that takes these arguments."""
        values = (*args, *kwargs.values())
        if any(isinstance(value, Scalar) for value in values):
            return as_scalars(self._recorded(*args, **kwargs))
        return self._original(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class Module:
    """A module, with its functions replaced."""

    def __init__(self, original: ModuleType) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return substituted(getattr(self._original, name))


def substituted(value: Any) -> Any:
    """Return what stands for a value that a function finds outside of itself; most stand for themselves."""
    if isinstance(value, ModuleType):
        return Module(value) if is_known(value) else value
    if isinstance(value, type):
        return _type(value)
    if callable(value):
        recorded = _recorded(value)
        return value if recorded is None else Substitute(value, recorded)
    return value


def is_known(module: ModuleType) -> bool:
    """Whether the functions of a module are replaced, and never change."""
    return module.__name__.partition(".")[0] in (
        "math",
        "cmath",
        "numpy",
        "tensorframe",
        "builtins",
    )


def _type(kind: type) -> Any:
    if kind in _CONVERSIONS:
        return Substitute(kind, _CONVERSIONS[kind])
    if issubclass(kind, np.number | np.bool_):
        return Substitute(kind, lambda x: astype(x, kind))
    return kind


def _recorded(function: Any) -> Function | None:
    """Return what is called where scalars are among the arguments, or None where the function itself may be."""
    home = getattr(function, "__module__", None) or ""
    if home in ("math", "cmath"):
        return _FUNCTIONS.get((home, function.__name__)) or needed
    if home == "builtins":
        return _FUNCTIONS.get((home, function.__name__))
    if isinstance(function, FunctionType) and home.partition(".")[0] == "tensorframe":
        return function  # its results become scalars
    return None


def _real(name: str, *, floating: bool = True) -> Function:
    """Return the row of a function of `math`, which takes real numbers."""
    row = FUNCTIONS[name]

    def call(*operands: Any) -> Any:
        return row(*[_number(name, operand, floating) for operand in operands])

    return call


def _number(name: str, x: Any, floating: bool) -> Any:
    if not isinstance(x, Scalar):
        return x
    if x.dtype in dtypes.COMPLEX:
        raise DTypeError(
            f"math.{name}: takes real numbers, got {x.dtype}", suggestions=(f"cmath.{name}(z)",)
        )
    return astype(x, dtypes.float_of(x.dtype)) if floating else x


def _complex(name: str) -> Function:
    """Return the row of a function of `cmath`, whose results are complex whatever it is given."""
    row = FUNCTIONS[name]
    return lambda z: row(astype(z, dtypes.complex_of(z.dtype)))


def _log(of: Callable[[str], Function]) -> Function:
    logarithm = of("log")

    def log(x: Any, base: Any = None) -> Any:
        if base is None:
            return logarithm(x)
        parts = [
            logarithm(number) if isinstance(number, Scalar) else cmath.log(number)
            for number in (x, base)
        ]
        return parts[0] / parts[1]

    return log


def _real_log(x: Any, base: Any = None) -> Any:
    of_x = _REAL_LOG(x) if isinstance(x, Scalar) else math.log(x)
    if base is None:
        return of_x
    return of_x / (_REAL_LOG(base) if isinstance(base, Scalar) else math.log(base))


def _hypot(*coordinates: Any) -> Any:
    length = FUNCTIONS["abs"](coordinates[0])
    for coordinate in coordinates[1:]:
        length = _real("hypot")(length, coordinate)
    return length


def _smaller(first: Any, second: Any) -> Any:
    return where(second < first, second, first)


def _larger(first: Any, second: Any) -> Any:
    return where(second > first, second, first)


def _extreme(choose: Function, original: Function) -> Function:
    """Return `min` or `max` of several numbers: of equal ones, and of NaN, the first, as Python has it."""

    def call(*numbers: Any, **options: Any) -> Any:
        if options:
            return original(*numbers, **options)
        chosen = numbers[0]
        for number in numbers[1:]:
            known = not isinstance(chosen, Scalar) and not isinstance(number, Scalar)
            chosen = original(chosen, number) if known else as_scalars(choose(chosen, number))
        return chosen

    return call


def _float(x: Scalar) -> Any:
    if x.dtype in dtypes.COMPLEX:
        raise DTypeError("float: a complex number has none", suggestions=("z.real or abs(z)",))
    return astype(x, dtypes.float_of(x.dtype))


def _int(x: Scalar) -> Any:
    if x.dtype in dtypes.COMPLEX:
        raise DTypeError("int: a complex number has none", suggestions=("int(z.real)",))
    return x if x.dtype in dtypes.INTEGER else astype(x, dtypes.default_int())


def _to_complex(real: Any, imag: Any = None) -> Any:
    return astype(real, dtypes.complex_of(real.dtype)) if imag is None else needed(real)


def _round(x: Scalar, digits: int | None = None) -> Any:
    return FUNCTIONS["round"](x) if digits is None else needed(x)


def _phase(z: Scalar) -> Any:
    return FUNCTIONS["atan2"](FUNCTIONS["imag"](z), FUNCTIONS["real"](z))


_REAL_LOG = _real("log")
_ROWS_OF_MATH = (
    "exp exp2 expm1 log2 log10 log1p sqrt cbrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
    "copysign erf erfc fmod pow nextafter"
)
_ROUNDING = "floor ceil trunc isfinite isinf isnan"
_ROWS_OF_CMATH = "exp log10 sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh isfinite isinf isnan"
_CONVERSIONS: Mapping[type, Function] = {
    float: _float,
    int: _int,
    bool: lambda x: FUNCTIONS["not_equal"](x, 0),
    complex: _to_complex,
}
_FUNCTIONS: Mapping[tuple[str, str], Function] = {
    **{("math", name): _real(name) for name in _ROWS_OF_MATH.split()},
    # these give integers in Python; here they keep the dtype, as NumPy's do
    **{("math", name): _real(name, floating=False) for name in _ROUNDING.split()},
    ("math", "fabs"): _real("abs"),
    ("math", "degrees"): _real("rad2deg"),
    ("math", "radians"): _real("deg2rad"),
    ("math", "log"): _real_log,
    ("math", "hypot"): _hypot,
    **{("cmath", name): _complex(name) for name in _ROWS_OF_CMATH.split()},
    ("cmath", "log"): _log(_complex),
    ("cmath", "phase"): _phase,
    ("cmath", "polar"): lambda z: (FUNCTIONS["abs"](z), _phase(z)),
    ("builtins", "min"): _extreme(_smaller, min),
    ("builtins", "max"): _extreme(_larger, max),
    ("builtins", "round"): _round,
}


def _import(*args: Any, **kwargs: Any) -> Any:
    return substituted(builtins.__import__(*args, **kwargs))


# what a recorded function finds under names that are nobody's
BUILTINS = {
    **vars(builtins),
    **{
        name: substituted(getattr(builtins, name))
        for name in ("min", "max", "round", "float", "int", "bool", "complex")
    },
    "__import__": _import,
}
