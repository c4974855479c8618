"""NumPy's `emath`: functions whose results are complex where a real operand has no real one.

Each computes at once, since the values decide about the dtype of the result; `tfr.sqrt` and the others stay real.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe import dtypes
from tensorframe.frontend.elementwise import functions
from tensorframe.frontend.operands import converted, floating, promoted
from tensorframe.frontend.reductions.elementary import any as any_true
from tensorframe.frontend.tensor import Tensor

__all__ = ["arccos", "arcsin", "arctanh", "log", "log2", "log10", "logn", "power", "sqrt"]

Test = Callable[[Tensor], Tensor]


def _negative(x: Tensor) -> Tensor:
    return x < 0


def _beyond_one(x: Tensor) -> Tensor:
    return (x < -1) | (x > 1)


def _widened(x: Tensor, outside: Test) -> Tensor:
    """Return a floating tensor, complex if an element of it is where the function has no real value."""
    if x.dtype in dtypes.COMPLEX or not any_true(outside(x)).item():
        return x
    return converted(x, dtypes.complex_of(x.dtype))


def _of_one(name: str, outside: Test, x: Any) -> Tensor:
    (tensor,) = floating(x)
    result: Tensor = functions.FUNCTIONS[name](_widened(tensor, outside))
    return result


def sqrt(x: Any) -> Tensor:
    """Square roots; complex if an element is negative.

    >>> tfr.emath.sqrt([-1.0, 4.0]).tolist()
    [1j, (2+0j)]
    """
    return _of_one("sqrt", _negative, x)


def log(x: Any) -> Tensor:
    """Natural logarithms; complex if an element is negative.

    >>> tfr.emath.log(1.0).item()
    0.0
    """
    return _of_one("log", _negative, x)


def log2(x: Any) -> Tensor:
    """Logarithms to base 2; complex if an element is negative.

    >>> tfr.emath.log2(8.0).item()
    3.0
    """
    return _of_one("log2", _negative, x)


def log10(x: Any) -> Tensor:
    """Logarithms to base 10; complex if an element is negative.

    >>> tfr.emath.log10(100.0).item()
    2.0
    """
    return _of_one("log10", _negative, x)


def logn(n: Any, x: Any) -> Tensor:
    """Logarithms to base `n`; complex if an element of either is negative.

    >>> tfr.emath.logn(2, 8.0).item()
    3.0
    """
    return log(x) / log(n)


def power(x: Any, p: Any) -> Tensor:
    """First operand to the power of the second; complex if a base is negative, floating if an exponent of integers is.

    >>> tfr.emath.power([2, 4], -2).tolist()
    [0.25, 0.0625]
    """
    base, exponent = promoted(x, p)
    if base.dtype not in dtypes.FLOATING and any_true(_negative(exponent)).item():
        base, exponent = floating(base, exponent)
    if base.dtype not in dtypes.COMPLEX and any_true(_negative(base)).item():
        base = converted(base, dtypes.complex_of(dtypes.float_of(base.dtype)))
    result: Tensor = functions.FUNCTIONS["pow"](base, exponent)
    return result


def arccos(x: Any) -> Tensor:
    """Angles with these cosines; complex if an element is not in [-1, 1].

    >>> tfr.emath.arccos(1.0).item()
    0.0
    """
    return _of_one("acos", _beyond_one, x)


def arcsin(x: Any) -> Tensor:
    """Angles with these sines; complex if an element is not in [-1, 1].

    >>> tfr.emath.arcsin(0.0).item()
    0.0
    """
    return _of_one("asin", _beyond_one, x)


def arctanh(x: Any) -> Tensor:
    """Inverse hyperbolic tangents; complex if an element is not in [-1, 1].

    >>> tfr.emath.arctanh(0.0).item()
    0.0
    """
    return _of_one("atanh", _beyond_one, x)
