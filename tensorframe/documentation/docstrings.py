"""Docstrings that get their sections when somebody reads them, so that importing the package makes none.

Whoever shows a docstring expands its tabs first, as PEP 257 says: `help()`, `inspect.getdoc`, `?` in IPython and
notebooks. That is when the text gets parameters, result, errors and related names; everybody else has what is written
in the source.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any, SupportsIndex


class Docstring(str):
    """What is written in the source of the public function or class of that path; `expandtabs` adds its sections."""

    __slots__ = ("path",)
    path: str

    def expandtabs(self, tabsize: SupportsIndex = 8) -> str:
        """Return the text with sections in numpydoc's style."""
        from tensorframe.documentation.numpydoc import with_sections

        return with_sections(self.path, str(self)).expandtabs(tabsize)


def complete(path: str, names: Iterable[tuple[str, Any]]) -> None:
    """Give the functions and classes of a public namespace docstrings that have sections, and so those of its modules.

    What has several names is known by the first one.
    """
    for name, value in names:
        own, home = f"{path}.{name}", getattr(value, "__module__", None) or ""
        if isinstance(value, ModuleType):
            if value.__name__.startswith("tensorframe.") and value.__name__.endswith(f".{name}"):
                complete(own, _loaded(value))
        elif home.partition(".")[0] == "tensorframe":
            for described, its_path in _described(value, own):
                if type(described.__doc__) is str:
                    text = Docstring(described.__doc__)
                    text.path = its_path
                    described.__doc__ = text


def complete_module(path: str) -> None:
    """Do so for a public module that programs may import by its name."""
    complete(path, _loaded(sys.modules[path]))


def exported(module: ModuleType) -> list[tuple[str, Any]]:
    """Return what a module exports, by name."""
    return [(name, getattr(module, name)) for name in sorted(_names(module))]


def _loaded(module: ModuleType) -> list[tuple[str, Any]]:
    """Return what a module exports and has: some names are loaded when they are first used."""
    return [(name, vars(module)[name]) for name in _names(module) if name in vars(module)]


def _names(module: ModuleType) -> list[str]:
    """Return the names that a module says it exports, or else of what is defined in it."""
    return getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if name[0] != "_" and getattr(value, "__module__", "") == module.__name__
    ]


def _described(value: Any, path: str) -> Iterator[tuple[Any, str]]:
    """Yield a function, or a class with its public methods, each with its path."""
    if isinstance(value, FunctionType):
        yield value, path
    elif isinstance(value, type):
        yield value, path
        for name, member in list(vars(value).items()):
            function = getattr(member, "__func__", member)
            if name[0] != "_" and isinstance(function, FunctionType):
                yield function, f"{path}.{name}"
