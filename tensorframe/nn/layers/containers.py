"""Containers: modules in a row, and lists and dicts of them that are modules themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tensorframe.errors import ArgumentError, DTypeError, IndexingError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.nn.module import Module

__all__ = ["ModuleDict", "ModuleList", "Sequential"]


class _Numbered(Module):
    """Modules by position: attributes whose names are numbers, so files name their tensors as PyTorch does."""

    def _members(self) -> list[Any]:
        return [value for name, value in vars(self).items() if name.isdecimal()]

    def _renumber(self, members: Iterable[Any]) -> None:
        for name in [name for name in vars(self) if name.isdecimal()]:
            del self.__dict__[name]
        for index, member in enumerate(members):
            self.__dict__[str(index)] = member

    def append(self, module: Any) -> None:
        """Add a module at the end."""
        self.__dict__[str(len(self))] = _checked(type(self).__name__, module)

    def __len__(self) -> int:
        return len(self._members())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(self._members())

    def __getitem__(self, index: Any) -> Any:
        members = self._members()
        if isinstance(index, slice):
            part = object.__new__(type(self))
            part._renumber(members[index])
            return part
        try:
            return members[index]
        except IndexError:
            raise IndexingError(
                f"{type(self).__name__}: there is no module {index}: it has {len(members)}"
            ) from None

    def __setitem__(self, index: int, module: Any) -> None:
        members = self._members()
        members[index] = _checked(type(self).__name__, module)
        self._renumber(members)


def _checked(title: str, module: Any) -> Any:
    if not callable(module):
        raise DTypeError(
            f"{title}: takes modules and functions, got {type(module).__name__}",
            suggestions=(f"{title}(*modules)",),
        )
    return module


class Sequential(_Numbered):
    """Modules, and functions, one after the other: each gets what the one before gives.

    They are given one by one, or as a dict by name. A position gives one of them, a slice some as a Sequential.

    >>> model = tfr.nn.Sequential(tfr.nn.Linear(2, 8), tfr.tanh, tfr.nn.Linear(8, 1))
    >>> model(tfr.ones((5, 2))).shape
    (5, 1)
    >>> list(model.state_dict())
    ['0.weight', '0.bias', '2.weight', '2.bias']
    """

    def __init__(self, *modules: Any) -> None:
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                setattr(self, name, _checked("Sequential", module))
        else:
            self._renumber([_checked("Sequential", module) for module in modules])

    def _members(self) -> list[Any]:
        return [value for name, value in vars(self).items() if _is_member(name)]

    def forward(self, input: ArrayLike) -> Any:
        """Return what the last one gives."""
        for module in self._members():
            input = module(input)
        return input


def _is_member(name: str) -> bool:
    return not name.startswith("_") and name != "training"


class ModuleList(_Numbered):
    """A list of modules that is a module itself; a plain list in an attribute does the same.

    >>> layers = tfr.nn.ModuleList([tfr.nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(layers.state_dict())
    (3, 6)
    """

    def __init__(self, modules: Iterable[Any] = ()) -> None:
        self._renumber([_checked("ModuleList", module) for module in modules])

    def extend(self, modules: Iterable[Any]) -> None:
        """Add modules at the end."""
        for module in modules:
            self.append(module)


class ModuleDict(Module):
    """Modules by name that are a module together; a plain dict in an attribute does the same.

    >>> heads = tfr.nn.ModuleDict({"age": tfr.nn.Linear(2, 1)})
    >>> list(heads.state_dict())
    ['age.weight', 'age.bias']
    """

    def __init__(self, modules: Mapping[str, Any] | None = None) -> None:
        self.update(modules or {})

    def update(self, modules: Mapping[str, Any]) -> None:
        """Add modules, or take others for names that are there."""
        for name, module in modules.items():
            self[name] = module

    def _members(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if _is_member(name)}

    def __setitem__(self, name: str, module: Any) -> None:
        if not name or name.startswith("_") or name == "training" or hasattr(type(self), name):
            raise ArgumentError(f"ModuleDict: {name!r} cannot be the name of a module")
        self.__dict__[name] = _checked("ModuleDict", module)

    def __getitem__(self, name: str) -> Any:
        members = self._members()
        if name not in members:
            raise ArgumentError(
                f"ModuleDict: there is no module {name!r}",
                suggestions=(f"one of {', '.join(map(repr, members))}",),
            )
        return members[name]

    def __contains__(self, name: object) -> bool:
        return name in self._members()

    def __len__(self) -> int:
        return len(self._members())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._members())

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._members().keys()

    def values(self) -> Iterable[Any]:
        """Return the modules."""
        return self._members().values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the names and the modules."""
        return self._members().items()
