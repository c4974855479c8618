"""Parameters: what a function is given besides tensors, read as integers, numbers or flags, with errors that name it.

Python's own messages ("'str' object cannot be interpreted as an integer") say neither which function was called nor
which parameter is meant. Every public function reads its parameters by these.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.errors import ArgumentError, DTypeError, OutOfRangeError, TracingError
from tensorframe.graph.shape import MAX_SIZE, one_or_several
from tensorframe.graph.tracing import TracedNumber

# what parameters of a few values have; anything else may not even say whether it equals one of them
_CHOICES = (str, int, type(None))


def integer(op: str, name: str, value: Any) -> int:
    """Return `value` as an integer; DTypeError if it is none."""
    try:
        return operator.index(value)
    except TracingError:
        raise
    except Exception as error:  # whatever an object's __index__ raises
        raise DTypeError(f"{op}: {name} must be an integer, got {_shown(value)}") from error


def integers(op: str, name: str, value: Any) -> tuple[int, ...]:
    """Return one integer or a sequence of them as a tuple; DTypeError if it is neither."""
    return tuple([integer(op, name, entry) for entry in one_or_several(value)])


def number(op: str, name: str, value: Any) -> float:
    """Return `value` as a real number; DTypeError if it is none."""
    try:
        if not isinstance(value, str | bytes):
            return float(value)
    except TracingError:
        raise
    except Exception as error:
        raise DTypeError(f"{op}: {name} must be a real number, got {_shown(value)}") from error
    raise DTypeError(f"{op}: {name} must be a real number, got {_shown(value)}")


def is_number(value: Any) -> bool:
    """Whether `value` is a number of Python's, of NumPy's, or one that `jit` records."""
    return isinstance(value, int | float | complex | np.number | np.bool_ | TracedNumber)


def flag(op: str, name: str, value: Any) -> bool:
    """Return the truth value of `value`; DTypeError if it has none."""
    if value is True or value is False:
        return value
    try:
        return bool(value)
    except TracingError:
        raise
    except Exception as error:
        raise DTypeError(f"{op}: {name} must be True or False, got {_shown(value)}") from error


def choice(op: str, name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """Return `value`; ArgumentError if it is none of the values that are allowed."""
    if (type(value) is str or isinstance(value, _CHOICES)) and value in allowed:
        return value
    listed = ", ".join(map(repr, allowed))
    raise ArgumentError(
        f"{op}: there is no {name} {_shown(value)}", suggestions=(f"one of {listed}",)
    )


def items(op: str, name: str, value: Any, what: str = "a sequence") -> tuple[Any, ...]:
    """Return the items of a sequence; DTypeError if it has none."""
    try:
        return tuple(value)
    except TracingError:
        raise
    except TypeError as error:
        raise DTypeError(f"{op}: {name} must be {what}, got {_shown(value)}") from error


def pair(op: str, name: str, value: Any) -> tuple[Any, Any]:
    """Return the two items of a pair; DTypeError if it is no sequence, ArgumentError if there are not two."""
    entries = items(op, name, value, "a pair")
    if len(entries) != 2:
        raise ArgumentError(f"{op}: {name} must be a pair, got {len(entries)} items")
    return entries[0], entries[1]


def count(op: str, name: str, value: Any) -> int:
    """Return a number of things; ArgumentError if it is negative, OutOfRangeError if no tensor holds as many."""
    number = integer(op, name, value)
    if number < 0:
        raise ArgumentError(f"{op}: {name} must not be negative, got {number}")
    if number > MAX_SIZE:
        raise OutOfRangeError(f"{op}: {name}={number} is more than a tensor has elements at most")
    return number


def _shown(value: Any) -> str:
    """Return how a message names a value: short, whatever its own repr does."""
    try:
        text = repr(value)
    except Exception:
        text = ""
    if not text or len(text) > 60 or "\n" in text:
        shape = getattr(value, "shape", None)
        kind = type(value).__name__
        return f"a {kind} of shape {shape}" if isinstance(shape, tuple) else f"a {kind}"
    return text
