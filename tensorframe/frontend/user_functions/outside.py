"""What a function finds outside of itself: looked up at every call, and replaced where scalars could not go through."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from tensorframe.frontend.user_functions.side_effects import codes, refuse_side_effects
from tensorframe.frontend.user_functions.substitutes import BUILTINS, is_known, substituted
from tensorframe.quick_tuples import NamedTuple
from tensorframe.site import describe

_MISSING = object()
# these never change, so a name that still stands for the same one means the same
_IMMUTABLE = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    np.generic,
    type,
    BuiltinFunctionType,
    np.ufunc,
)


class Written:
    """What stands for a user's function, which other functions may call."""

    # whether there is more to know of it than its function says, so that others record a call of it
    _is_recorded_whole = False

    def __init__(self, function: FunctionType) -> None:
        self._function = function


def written(value: Any) -> Any:
    """Return the Python function behind a value of ours or of Numba's; other values as they are."""
    if isinstance(value, Written):
        return value._function
    return getattr(value, "py_func", value)


class Policy(NamedTuple):
    """What becomes of what a function finds outside: other functions, and all other values."""

    builtins: Any
    value: Callable[[Any], Any]
    function: Callable[[FunctionType], Any] = lambda function: function
    records: bool = False


RECORDED = Policy(BUILTINS, substituted, records=True)


class Rebuilt:
    """A user's function with what it finds outside replaced, and the functions that it calls with it."""

    def __init__(self, function: FunctionType, *, settled: bool, policy: Policy = RECORDED) -> None:
        """`settled` says that names are all that the function can find outside."""
        self._policy = policy
        self._built: dict[FunctionType, Any] = {}
        self._watched: list[tuple[Callable[[], Any], Any]] = []
        self._settled = settled
        self.location = describe((function.__code__, 0))
        self.call: Callable[..., Any] = self._rebuild(function)

    def freeze(self) -> None:
        """Take attributes of values outside for what they are now, as Numba does."""
        self._settled = True

    def is_current(self) -> bool:
        """Whether everything outside is for certain what it was."""
        return self._settled and all(look() is value for look, value in self._watched)

    def _rebuild(self, function: FunctionType) -> Any:
        known = self._built.get(function)
        if known is not None:
            return known
        refuse_side_effects(function)
        code = function.__code__
        namespace: dict[str, Any] = {**function.__globals__, "__builtins__": self._policy.builtins}
        cells = tuple([CellType() for _ in function.__closure__ or ()])
        made = FunctionType(code, namespace, function.__name__, function.__defaults__, cells)
        made.__kwdefaults__ = function.__kwdefaults__
        self._built[function] = finished = self._policy.function(made)
        for name in _global_names(code):
            if name in function.__globals__ or not hasattr(builtins, name):
                self._watch(_global(function, name))
            if name in namespace:
                namespace[name] = self._replaced(namespace[name])
        for cell, original in zip(cells, function.__closure__ or (), strict=True):
            look = _content(original)
            self._watch(look)
            if look() is not _MISSING:
                cell.cell_contents = self._replaced(look())
        return finished

    def _watch(self, look: Callable[[], Any]) -> None:
        value = look()
        self._watched.append((look, value))
        self._settled = self._settled and (value is _MISSING or self._is_settled(value))

    def _is_settled(self, value: Any) -> bool:
        if isinstance(value, tuple):
            return all(map(self._is_settled, value))
        if isinstance(value, ModuleType):
            return is_known(value)
        return isinstance(value, _IMMUTABLE) or isinstance(written(value), FunctionType)

    def _replaced(self, value: Any) -> Any:
        if self._policy.records and isinstance(value, Written) and value._is_recorded_whole:
            return value
        function = written(value)
        if isinstance(function, FunctionType) and not _is_library(function):
            return self._rebuild(function)
        return self._policy.value(value)


def _is_library(function: FunctionType) -> bool:
    home = function.__module__ or ""  # None of what `exec` makes without a name
    return home.partition(".")[0] in ("tensorframe", "numpy")


def _global_names(code: CodeType) -> Iterator[str]:
    return iter(dict.fromkeys([name for part in codes(code) for name in part.co_names]))


def _global(function: FunctionType, name: str) -> Callable[[], Any]:
    return lambda: function.__globals__.get(name, _MISSING)


def _content(cell: CellType) -> Callable[[], Any]:
    def look() -> Any:
        try:
            return cell.cell_contents
        except ValueError:  # not assigned yet
            return _MISSING

    return look
