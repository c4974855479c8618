"""The texts to search: what NumPy's public functions say about themselves."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# A docstring that several functions share is listed under the first of these modules.
MODULES = (
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.random",
    "numpy.strings",
    "numpy.polynomial.polynomial",
    "numpy.emath",
    "numpy.lib.stride_tricks",
    "numpy.lib.recfunctions",
    "numpy.rec",
)

# Functions written in C open their docstring with their own call: "add(x1, x2, /, out=None, ...)".
CALL = re.compile(r"\A\w+\(.*\)\n\n")


@dataclass(frozen=True)
class Entry:
    """One documented function."""

    name: str
    text: str

    @property
    def summary(self) -> str:
        """The first paragraph of the text, on one line."""
        return " ".join(self.text.split("\n\n", 1)[0].split())


def numpy_functions(modules: Iterable[str] = MODULES) -> list[Entry]:
    """The public functions of `modules`, each docstring once, in an order that does not change."""
    entries: dict[str, Entry] = {}
    for module in modules:
        for function, text in _documented(module):
            entries.setdefault(text, Entry(f"{module}.{function}", text))
    return list(entries.values())


def _documented(path: str) -> Iterator[tuple[str, str]]:
    """Names and docstrings of the functions that the module at `path` exports, aliases last."""
    module = pkgutil.resolve_name(path)
    exported = {name: getattr(module, name) for name in getattr(module, "__all__", dir(module))}
    functions = {
        name: value for name, value in exported.items() if _is_public_function(name, value)
    }

    def rank(name: str) -> tuple[bool, int, str]:
        # Of two names for one text the function's own comes first (np.abs calls itself "absolute"),
        # then the shorter (row_stack is the deprecated spelling of vstack).
        return functions[name].__name__ != name, len(name), name

    for name in sorted(functions, key=rank):
        yield name, CALL.sub("", inspect.getdoc(functions[name]) or "")


def _is_public_function(name: str, value: object) -> bool:
    is_function = callable(value) and hasattr(value, "__name__") and not inspect.isclass(value)
    return is_function and not name.startswith("_") and bool(inspect.getdoc(value))
