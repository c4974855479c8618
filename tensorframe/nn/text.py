"""Modules as text: a tree of their parts, and how many parameters each has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorframe.nn.structure import Structured, entries, trainable, unique
from tensorframe.quick_tuples import NamedTuple


class Row(NamedTuple):
    """A line of a module's tree: how deep it is, whether it is the last one there, what it shows."""

    depth: int
    is_last: bool
    name: str
    title: str
    parameters: str


def rows(module: Structured) -> list[Row]:
    """Return a module and its parts, owners first."""
    return list(_rows((), True, "", module))


def _rows(above: tuple[Any, ...], is_last: bool, name: str, value: Any) -> Iterator[Row]:
    yield Row(len(above), is_last, name, _head(value), _count(value))
    if any(value is owner for owner in above):
        return  # one that refers to its owner
    parts = _parts(value)
    for index, (own, part) in enumerate(parts):
        yield from _rows((*above, value), index == len(parts) - 1, own, part)


def tree(module: Structured) -> str:
    """Return a module as a tree: a line for each part, with the number of its parameters at the right."""
    lines = []
    open_above: list[bool] = []  # whether a branch goes on, by depth
    for row in rows(module):
        del open_above[max(row.depth - 1, 0) :]
        trunk = "".join(["│  " if goes_on else "   " for goes_on in open_above])
        branch = "" if row.depth == 0 else "└─ " if row.is_last else "├─ "
        lines.append(
            (f"{trunk}{branch}{f'{row.name}: ' if row.name else ''}{row.title}", row.parameters)
        )
        if row.depth:
            open_above.append(not row.is_last)
    width = max(len(left) for left, _ in lines)
    digits = max(len(count.partition(" ")[0]) for _, count in lines)
    return "\n".join(
        [f"{left:{width}}  {_aligned(count, digits)}".rstrip() for left, count in lines]
    )


def _aligned(count: str, digits: int) -> str:
    number, space, note = count.partition(" ")
    return f"{number:>{digits}}{space}{note}"


def title(module: Any) -> str:
    """Return the name of a module's class with what it was made with: `Linear(2, 3)`."""
    extra = module.extra_repr() if hasattr(module, "extra_repr") else ""
    return f"{type(module).__name__}({extra})"


def parameter_count(module: Structured) -> int:
    """Return how many numbers the parameters of a module have."""
    return sum([entry.tensor.size for entry in unique(entries(module)) if entry.role.is_parameter])


def _parts(value: Any) -> list[tuple[str, Any]]:
    """Return what has a line of its own: modules, lists and dicts of them, and functions between modules."""
    if isinstance(value, Structured):
        pairs = [(name, part) for name, part in vars(value).items() if not name.startswith("_")]
    elif isinstance(value, dict):
        pairs = [(str(key), part) for key, part in value.items()]
    elif isinstance(value, list | tuple):
        pairs = [(str(index), part) for index, part in enumerate(value)]
    else:
        return []
    return [(name, part) for name, part in pairs if _has_modules(part) or _is_step(name, part)]


def _is_step(name: str, part: Any) -> bool:
    """Whether it is a function in a row of modules."""
    return name.isdecimal() and callable(part)


def _has_modules(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return any(map(_has_modules, value))
    return isinstance(value, Structured)


def _head(value: Any) -> str:
    if isinstance(value, Structured):
        return title(value)
    return (
        getattr(value, "__name__", type(value).__name__)
        if callable(value)
        else type(value).__name__
    )


def _count(value: Any) -> str:
    count = parameter_count(value) if isinstance(value, Structured) else 0
    if not count:
        return ""
    return f"{count:,}" if trainable(value) else f"{count:,} (frozen)"
