"""Named tuples whose classes are made in a fifth of the time.

Python's own compile each annotation, and a constructor for each class: a tenth of a millisecond, of which importing
the package would take dozens. Here the code of constructors is one for each number of fields, with its parameters
renamed. These are the same otherwise, for what is used here; tools that read types see Python's own.
"""

from __future__ import annotations

from collections import _tuplegetter  # type: ignore[attr-defined] # what Python's own have
from collections.abc import Iterable
from functools import cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Generic

__all__ = ["NamedTuple"]

_GLOBALS = {"_new": tuple.__new__, "__name__": __name__}


class _Fields(tuple[Any, ...]):
    """What all named tuples have, beside their fields."""

    __slots__ = ()
    _fields: tuple[str, ...]

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Any:
        """Return the tuple of these values."""
        made = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, /, **values: Any) -> Any:
        """Return the tuple with other values in some fields."""
        made = self._make(map(values.pop, self._fields, self))
        if values:
            raise ValueError(f"Got unexpected field names: {list(values)!r}")
        return made

    __replace__ = _replace

    def _asdict(self) -> dict[str, Any]:
        """Return the values by the names of their fields."""
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        shown = ", ".join([f"{name}={value!r}" for name, value in self._asdict().items()])
        return f"{type(self).__name__}({shown})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)  # for copies and pickles


class _Maker(type):
    """Makes a class of the annotations in its body, one that knows nothing of this type."""

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
        annotations = members["__annotations__"]
        fields = tuple(annotations)
        defaults = {field: members[field] for field in fields if field in members}
        assert {*bases} <= {NamedTuple, Generic}, f"{name} inherits from other classes"
        assert fields[len(fields) - len(defaults) :] == tuple(defaults), (
            f"{name}: defaults come last"
        )
        code = _code(len(fields)).replace(
            co_name="__new__",
            co_qualname=f"{name}.__new__",
            co_varnames=("_cls", *fields),
        )
        new = FunctionType(code, _GLOBALS, None, tuple(defaults.values()))
        new.__annotations__ = annotations
        kept = {
            "__slots__": (),
            "__match_args__": fields,
            "__new__": new,
            "_fields": fields,
            "_field_defaults": defaults,
        }
        getters = {field: _getter(place) for place, field in enumerate(fields)}
        return type(name, (_Fields, *bases[1:]), {**members, **kept, **getters})


@cache
def _code(count: int) -> CodeType:
    """Return the code of a constructor with so many parameters."""
    names = [f"_{place}" for place in range(count)]
    values = "".join([f"{name}, " for name in names])
    code: CodeType = eval(f"lambda _cls, {values}: _new(_cls, ({values}))").__code__  # noqa: S307 - written here
    return code


@cache
def _getter(place: int) -> Any:
    return _tuplegetter(place, f"Alias for field number {place}")


if TYPE_CHECKING:
    from typing import NamedTuple
else:
    NamedTuple = type.__new__(_Maker, "NamedTuple", (), {"__doc__": "See `typing.NamedTuple`."})
