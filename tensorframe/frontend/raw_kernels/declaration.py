"""What users declare of a raw kernel: `"float32[rows, 3]"`, `"T[n]"` for a dtype that operands decide, `"int32"`."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from tensorframe.dtypes import BY_NAME, DType
from tensorframe.errors import ArgumentError
from tensorframe.quick_tuples import NamedTuple

_ENTRY = re.compile(r"\s*(\w+)\s*(?:\[(.*)\]\s*)?")
_OPERATORS: Mapping[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_GRAMMAR = (
    '"float32[rows, 3]" for an array, "T[n]" for one whose dtype the operand decides, "int32" for a number',
)


class Entry(NamedTuple):
    """What is declared of one name: a dtype, or a name for it, and the sizes of axes; a number has no sizes."""

    name: str
    dtype: DType | str
    sizes: tuple[str, ...] | None

    @property
    def variable(self) -> str | None:
        """The name for a dtype that operands decide."""
        return self.dtype if isinstance(self.dtype, str) else None


def entries(kernel: str, what: str, declared: Any) -> tuple[Entry, ...]:
    """Return the declarations of a mapping of names to texts; ArgumentError for anything else."""
    if not isinstance(declared, Mapping):
        raise ArgumentError(
            f"{kernel}: {what} is a mapping of names to declarations, got {type(declared).__name__}",
            suggestions=_GRAMMAR,
        )
    return tuple([_entry(kernel, what, name, text) for name, text in declared.items()])


def _entry(kernel: str, what: str, name: Any, text: Any) -> Entry:
    match = _ENTRY.fullmatch(text) if isinstance(text, str) else None
    if match is None or not isinstance(name, str):
        raise ArgumentError(
            f"{kernel}: {what} {name!r}: cannot read {text!r}", suggestions=_GRAMMAR
        )
    word, inside = match.groups()
    dtype: DType | str = BY_NAME.get(word, word)
    if inside is None:
        return Entry(name, dtype, None)
    sizes = [size.strip() for size in inside.split(",")] if inside.strip() else []
    for size in sizes:
        if names_in(size) is None:
            raise ArgumentError(
                f"{kernel}: {what} {name!r}: cannot read the size {size!r} of {text!r}",
                suggestions=("a name, a number, or an expression of names with + - * // %",),
            )
    return Entry(name, dtype, tuple(sizes))


@lru_cache(1024)
def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def names_in(size: str) -> frozenset[str] | None:
    """Return the names of an expression; None if it is none of whole numbers."""
    expression = _parsed(size)
    try:
        return None if expression is None else frozenset(_names(expression))
    except ValueError:
        return None


def _names(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield from _names(node.left)
        yield from _names(node.right)
    elif not (isinstance(node, ast.Constant) and type(node.value) is int):
        raise ValueError


def size_of(kernel: str, size: str, known: Mapping[str, int]) -> int:
    """Return the value of an expression; ArgumentError if it is no size."""
    expression = _parsed(size)
    assert expression is not None
    try:
        value = _value(expression, known)
    except ZeroDivisionError:
        value = -1
    if not 0 <= value < 2**31:
        raise ArgumentError(
            f"{kernel}: the size {size!r} is {value} where {_shown(known)}",
            suggestions=("sizes from 0 to 2**31 - 1",),
        )
    return value


def _shown(known: Mapping[str, int]) -> str:
    return ", ".join([f"{name} = {value}" for name, value in known.items()])


def _value(node: ast.expr, known: Mapping[str, int]) -> int:
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left, known), _value(node.right, known))
    if isinstance(node, ast.Name):
        return known[node.id]
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int)
    return node.value
