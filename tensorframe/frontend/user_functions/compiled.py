"""Functions that read values: compiled by Numba for the cpu, where it is installed."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tensorframe.backends.entries import is_installed
from tensorframe.dtypes import DType
from tensorframe.errors import TracingError
from tensorframe.frontend.user_functions.outside import Policy, Rebuilt
from tensorframe.frontend.user_functions.scalar import ValueNeededError
from tensorframe.frontend.user_functions.side_effects import first_raise
from tensorframe.site import describe

if TYPE_CHECKING:
    from tensorframe.backends.llvm.user import Result


def compile_elementwise(
    title: str,
    function: FunctionType,
    signature: inspect.Signature,
    operands: Mapping[str, DType],
    constants: Mapping[str, Any],
    asked: ValueNeededError,
) -> tuple[Rebuilt, list[Result], bool]:
    """Return the function with what it finds outside, its results for such operands, and whether they are a tuple.

    TracingError, at the line where a value was `asked` for, if Numba is missing or does not compile it.
    """
    raising = first_raise(function.__code__)
    if raising is not None:
        raise _error(title, asked, "and it raises an exception, which no element can", raising)
    if not is_installed("numba"):
        missing = "and Numba, which would compile it, is not installed"
        raise _error(title, asked, missing, None, "pip install tensorframe-lazy[numba]")
    from tensorframe.backends.llvm.user import CannotCompileError, compile_function, jitted

    source = Rebuilt(function, settled=True, policy=Policy(builtins, lambda value: value, jitted))
    source.freeze()
    names = {f"constant_{name}": value for name, value in constants.items()}
    call = _call(signature, operands, constants)
    try:
        results, is_tuple = compile_function(source.call, call, operands, names)
    except CannotCompileError as error:
        raise _error(title, asked, f"and Numba does not compile it: {error}", None) from None
    return source, results, is_tuple


def _call(
    signature: inspect.Signature, operands: Mapping[str, DType], constants: Mapping[str, Any]
) -> str:
    """Return the text of a call with operands in braces."""
    given = {name: f"{{{name}}}" for name in operands}
    given |= {name: f"constant_{name}" for name in constants}
    ordered = {name: given[name] for name in signature.parameters if name in given}
    bound = inspect.BoundArguments(signature, ordered)
    words = [*bound.args, *[f"{name}={text}" for name, text in bound.kwargs.items()]]
    return f"function({', '.join(words)})"


def _error(
    title: str, asked: ValueNeededError, reason: str, place: Any, hint: str | None = None
) -> TracingError:
    hints = asked.suggestions if hint is None else (*asked.suggestions, hint)
    location = asked.location if place is None else describe(place)
    return TracingError(f"{title}: {asked.message}, {reason}", suggestions=hints, location=location)
