"""Errors that a function raises, read from its source: what its docstring does not name is in the reference anyhow.

Looked at are the function itself and the private functions of its module that it calls, which check its arguments.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from tensorframe import errors


def raised_in(function: Callable[..., Any]) -> dict[str, list[str]]:
    """Return the errors of the package that a function raises, by name, each with the messages it has."""
    own = inspect.unwrap(function)
    nodes = list(_nodes(own))
    messages: dict[str, list[str]] = {}
    for error, message in _raised([*nodes, *_of_helpers(own, nodes)]):
        known = messages.setdefault(error, [])
        if message.strip(". ") and message not in known:
            known.append(message)
    return messages


def _nodes(function: Callable[..., Any]) -> Iterator[ast.AST]:
    """Yield what the source of a function consists of; nothing of one that is generated."""
    code = getattr(function, "__code__", None)
    if code is not None:
        yield from ast.walk(_definitions(code.co_filename).get(code.co_firstlineno, ast.Pass()))


@lru_cache(maxsize=8)
def _definitions(file: str) -> dict[int, ast.AST]:
    """Return the functions of a file by the line that each begins in."""
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):  # made by `exec`, or without a source
        return {}
    return {
        min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]): node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }


def _of_helpers(function: Callable[..., Any], nodes: list[ast.AST]) -> Iterator[ast.AST]:
    """Yield what the private functions of the same module consist of that a function calls by their names."""
    space = getattr(function, "__globals__", {})
    called = {
        node.func.id
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    for name in sorted(called):
        helper = space.get(name)
        if name[0] == "_" and isinstance(helper, types.FunctionType):
            if helper.__module__ == function.__module__:
                yield from _nodes(helper)


def _raised(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            error = ast.unparse(node.exc.func)
            if hasattr(errors, error):
                yield error, _message(node.exc.args)


def _message(arguments: list[ast.expr]) -> str:
    """Return the text of a message with dots where values are, without the name of the function before it."""
    if not arguments:
        return ""
    parts = arguments[0].values if isinstance(arguments[0], ast.JoinedStr) else [arguments[0]]
    texts = [
        part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "..."
        for part in parts
    ]
    text = "".join(texts)
    before, colon, after = text.partition(": ")
    return (after if colon and " " not in before else text).replace("`", "'")
