"""NumPy's warnings about floats switched off around a call: what `np.errstate` does, in a sixth of the time.

Its state is a variable of the context. It is found by looking at what `np.errstate` changes, so nothing of NumPy's is
named that is not public; where it is found no more, `np.errstate` does it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from functools import wraps
from typing import Any, TypeVar

import numpy as np

Result = TypeVar("Result")


def _found() -> tuple[ContextVar[Any], Any] | None:
    """Return the variable that `np.errstate` sets, and the value with which NumPy is silent."""
    before = dict(copy_context())
    with np.errstate(all="ignore"):
        changed = [
            (variable, value)
            for variable, value in copy_context().items()
            if before.get(variable) is not value
        ]
    return changed[0] if len(changed) == 1 else None


def _runner() -> Callable[..., Any]:
    """Return what calls a function silently: in a context of its own, which costs a tenth of setting the variable."""
    functions = _found()
    if functions is None:
        return _called
    variable, silent = functions
    context = Context()
    context.run(variable.set, silent)
    return context.run


def _called(function: Callable[..., Result], *arguments: Any) -> Result:
    with np.errstate(all="ignore"):
        return function(*arguments)


def _functions() -> tuple[Callable[[Any], Any], Any, Callable[[Any], Any]]:
    functions = _found()
    if functions is None:
        return (
            lambda kind: np.seterr(all=kind),
            "ignore",
            lambda state: np.seterr(**state),
        )
    variable, silent = functions
    return variable.set, silent, variable.reset


# `token = begin(SILENT)` before, `end(token)` in a `finally` behind: no function around them, which takes as long.
begin, SILENT, end = _functions()

# `silently(ufunc, *arrays)`, of NumPy's functions in C alone, which see no other variable of the caller's context.
# RuntimeError where it is being done already, by another thread: who calls it has another way.
silently: Callable[..., Any] = _runner()


def silenced(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return `function` with NumPy silent while it runs; it takes its arguments by position."""

    @wraps(function)
    def run(*arguments: Any) -> Result:
        token = begin(SILENT)
        try:
            return function(*arguments)
        finally:
            end(token)

    return run
