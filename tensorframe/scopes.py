"""Scopes: settings for a `with` block, checked when they are named, with a warning if no block ever takes them up."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar

from tensorframe.errors import ArgumentError, SettingWarning, warn_at
from tensorframe.site import raising_site

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")

# Which scopes are entered here, and what each variable was before: one scope may be entered again inside itself, and by
# several threads and asyncio tasks at once.
_entered: ContextVar[tuple[tuple[Scope[Any], Any], ...]] = ContextVar("entered", default=())


class Scope(Generic[T]):
    """What `use_backend` and its like return: a context manager, and a decorator of functions.

    `named` is the call as the user wrote it, `instead` what does the same for the whole process. `value` is asked for
    whenever a block begins.
    """

    __slots__ = ("_instead", "_named", "_site", "_used", "_value", "_variable")

    def __init__(
        self, variable: ContextVar[Any], value: Callable[[], T], named: str, instead: str
    ) -> None:
        self._used = False
        self._variable = variable
        self._value = value
        self._named = named
        self._instead = instead
        self._site = raising_site()

    def __enter__(self) -> T:
        self._used = True
        value = self._value()
        _entered.set((*_entered.get(), (self, self._variable.get())))
        self._variable.set(value)
        return value

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        entered = _entered.get()
        places = [index for index, (scope, _) in enumerate(entered) if scope is self]
        if (
            not places
        ):  # a generator that is closed elsewhere than it ran: what it set ended with its context
            return
        last = places[-1]
        self._variable.set(entered[last][1])
        _entered.set(entered[:last] + entered[last + 1 :])

    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]:
        """Return a function whose every call is inside the block."""
        from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction

        self._used = True
        if not callable(function):
            raise ArgumentError(
                f"{self._named}: decorates functions, got {type(function).__name__}"
            )
        runs_later = (isgeneratorfunction, iscoroutinefunction, isasyncgenfunction)
        if any(is_such(function) for is_such in runs_later):
            raise ArgumentError(
                f"{self._named}: a generator or coroutine runs after the call that makes it has ended",
                suggestions=(f"with {self._named}: inside {function.__name__}",),
            )

        @wraps(function)
        def inside(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return inside

    def __del__(self) -> None:
        if not self._used and not sys.is_finalizing():
            message = f"{self._named} does nothing without a `with` block"
            hints = (f"with {self._named}: ...", f"{self._instead}, for the whole process")
            warn_at(self._site, message, SettingWarning, hints)

    def __repr__(self) -> str:
        return f"<{self._named}: a setting for a `with` block>"
