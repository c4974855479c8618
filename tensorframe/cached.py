"""`cached_property` without a lock: in Python 3.11 all objects of a class share one, which forks may leave held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class cached_property(Generic[Value]):  # noqa: N801 - as in functools
    """A property that is computed at its first use; several threads at once may each compute it."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, owner: None, kind: type[Any]) -> cached_property[Value]: ...
    @overload
    def __get__(self, owner: object, kind: type[Any]) -> Value: ...

    def __get__(self, owner: object | None, kind: type[Any]) -> cached_property[Value] | Value:
        """Return the value, which from then on is found in the object itself."""
        if owner is None:
            return self
        value: Value = owner.__dict__.setdefault(self._name, self._compute(owner))
        return value
