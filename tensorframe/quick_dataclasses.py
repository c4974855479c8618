"""Dataclasses that write their methods when these are first called.

Python's own write and compile four to seven methods for each class while it is imported, which takes 0.4 ms: an eighth
of the time to the first result of a process. Most of them are never called. These are the same otherwise, for options
that are used here; tools that read types see Python's own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

from tensorframe.quick_tuples import NamedTuple

__all__ = ["dataclass", "field"]

_FIELDS = "__dataclass_fields__"


class _Parameters(NamedTuple):
    """What a dataclass that inherits from one of these asks."""

    frozen: bool


def _quick(
    given: type | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,
) -> Any:
    """Return a dataclass, or what makes one of a class; see `dataclasses.dataclass`."""

    def make(cls: type) -> type:
        fields = _fields_of(cls)
        namespace: dict[str, Any] = {
            _FIELDS: fields,
            "__dataclass_params__": _Parameters(frozen),
            "__match_args__": tuple([name for name, entry in fields.items() if entry.init]),
        }
        own = cls.__dict__
        if "__init__" not in own:
            namespace["__init__"] = _later("__init__", lambda made: _written_init(made, frozen))
        if repr and "__repr__" not in own:
            namespace["__repr__"] = _representation
        if eq and "__eq__" not in own:
            namespace["__eq__"] = _later("__eq__", _written_eq)
        if eq and "__hash__" not in own:
            namespace["__hash__"] = _later("__hash__", _written_hash) if frozen else None
        if frozen:
            namespace |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        return _remade(cls, namespace, slots=slots, frozen=frozen)

    return make if given is None else make(given)


def _fields_of(cls: type) -> dict[str, Field[Any]]:
    """Return the fields of a class, those that it inherits first."""
    fields: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        fields.update(getattr(base, _FIELDS, {}))
    for name, kind in cls.__annotations__.items():
        given = cls.__dict__.get(name, MISSING)
        entry = given if isinstance(given, Field) else field(default=given)
        assert not str(kind).startswith("ClassVar"), f"{cls.__qualname__}.{name}"
        entry.name, entry.type, entry.kw_only = name, kind, False
        entry._field_type = dataclasses._FIELD  # type: ignore[attr-defined,union-attr]
        fields[name] = entry
    return fields


def _remade(cls: type, namespace: dict[str, Any], *, slots: bool, frozen: bool) -> type:
    """Return a class with these methods, and with defaults or slots in the place of its fields."""
    own = list(cls.__annotations__)
    members = {**cls.__dict__, **namespace}
    for name in ("__dict__", "__weakref__"):
        members.pop(name, None)
    for name in own:
        default = namespace[_FIELDS][name].default
        members.pop(name, None)
        if default is not MISSING and not slots:
            members[name] = default
    if slots:
        taken = {name for base in cls.__mro__[1:] for name in getattr(base, "__slots__", ())}
        members["__slots__"] = tuple([name for name in own if name not in taken])
        if frozen:
            members.setdefault("__getstate__", _state)
            members.setdefault("__setstate__", _set_state)
    made = type(cls)(cls.__name__, cls.__bases__, members)
    made.__qualname__ = cls.__qualname__
    for name in ("__init__", "__eq__", "__hash__"):
        if namespace.get(name) is not None:
            namespace[name].owner = made
            namespace[name].__module__ = made.__module__
    return made


# --- methods that are the same for all ---


@recursive_repr()
def _representation(self: Any) -> str:
    shown = [
        f"{name}={getattr(self, name)!r}"
        for name, entry in getattr(self, _FIELDS).items()
        if entry.repr
    ]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(_self: Any, name: str, _value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in getattr(self, _FIELDS)]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(getattr(self, _FIELDS), state, strict=True):
        object.__setattr__(self, name, value)


# --- methods that are written when they are first called ---


def _later(name: str, write: Callable[[type], Callable[..., Any]]) -> Callable[..., Any]:
    """Return a method that has itself written for the class that it is found in, and calls that."""

    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        owner = method.owner  # type: ignore[attr-defined] # set when there is one
        written = write(owner)
        written.__module__ = owner.__module__
        setattr(owner, name, written)
        return written(self, *arguments, **named)

    method.__name__ = name
    return method


def _compiled(name: str, parameters: list[str], body: list[str], values: dict[str, Any]) -> Any:
    lines = "\n ".join(body or ["pass"])
    exec(f"def {name}({', '.join(parameters)}):\n {lines}", values)  # noqa: S102 - written here
    return values[name]


def _written_init(cls: type, frozen: bool) -> Any:
    values: dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    parameters, body = ["self"], []
    for name, entry in getattr(cls, _FIELDS).items():
        value = name
        if entry.default_factory is not MISSING:
            values[f"_new_{name}"] = entry.default_factory
            value = f"_new_{name}()"
            if entry.init:
                parameters.append(f"{name}=_missing")
                value = f"{value} if {name} is _missing else {name}"
        elif entry.default is not MISSING:
            values[f"_default_{name}"] = entry.default
            parameters += [f"{name}=_default_{name}"] if entry.init else []
            value = name if entry.init else f"_default_{name}"
        elif entry.init:
            parameters.append(name)
        else:
            continue
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    return _compiled("__init__", parameters, body, values)


def _values(owner: str, names: list[str]) -> str:
    return f"({''.join([f'{owner}.{name}, ' for name in names])})"


def _written_eq(cls: type) -> Any:
    names = [name for name, entry in getattr(cls, _FIELDS).items() if entry.compare]
    own, others = _values("self", names), _values("other", names)
    body = [
        f"if other.__class__ is self.__class__: return {own} == {others}",
        "return NotImplemented",
    ]
    return _compiled("__eq__", ["self", "other"], body, {})


def _written_hash(cls: type) -> Any:
    names = [
        name
        for name, entry in getattr(cls, _FIELDS).items()
        if (entry.compare if entry.hash is None else entry.hash)
    ]
    return _compiled("__hash__", ["self"], [f"return hash({_values('self', names)})"], {})


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _quick
