"""Methods of elementwise functions: `add.reduce`, `accumulate`, `outer`, `at` and `reduceat`, as NumPy's have them.

Functions stay plain Python functions, whose calls cost what they cost; these are their attributes. What they do is what
NumPy's ufunc does with a tensor: recorded where there is an op for it, else computed by NumPy at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

METHODS = ("reduce", "accumulate", "outer", "at", "reduceat")


def attach(function: Callable[..., Any], ufunc: str) -> None:
    """Give the function of two operands the methods of NumPy's `ufunc`, and what it says of itself."""
    for how in METHODS:
        setattr(function, how, partial(_call, ufunc, how))
    function.nin, function.nout, function.nargs = 2, 1, 3  # type: ignore[attr-defined]
    theirs = getattr(np, ufunc, None)  # some functions of two operands are not in NumPy
    function.identity = getattr(theirs, "identity", None)  # type: ignore[attr-defined]


def _call(ufunc: str, how: str, *operands: Any, **options: Any) -> Any:
    """Return what the method of a ufunc gives, for tensors and what they are made of."""
    from tensorframe.errors import DTypeError, ShapeError
    from tensorframe.frontend.operands import operand
    from tensorframe.frontend.tensor import Tensor

    if not operands:
        raise DTypeError(f"{ufunc}.{how}: takes a tensor")
    first, *others = operands
    if how == "at" and not isinstance(first, Tensor | np.ndarray):
        raise DTypeError(f"{ufunc}.at: writes to a tensor or an array, got {type(first).__name__}")
    given = first if how == "at" else operand(first)
    try:
        return getattr(getattr(np, ufunc), how)(given, *others, **options)
    except TypeError as error:
        raise DTypeError(f"{ufunc}.{how}: {error}") from error
    except np.exceptions.AxisError:
        raise
    except ValueError as error:
        raise ShapeError(f"{ufunc}.{how}: {error}") from error
