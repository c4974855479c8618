"""Errors that a function raises, read from its source: what its docstring does not name is in the reference anyhow.

Looked at are the function itself and the private functions of its module that it calls, which check its arguments.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

from tensorframe import errors


def raised_in(function: Callable[..., Any]) -> dict[str, list[str]]:
    """Return the errors of the package that a function raises, by name, each with the messages it has."""
    messages: dict[str, list[str]] = {}
    for each in [function, *_helpers(function)]:
        for error, message in _raised(_tree(each)):
            known = messages.setdefault(error, [])
            if message.strip(". ") and message not in known:
                known.append(message)
    return messages


def _tree(function: Callable[..., Any]) -> ast.AST:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, TypeError, SyntaxError):  # generated, or an expression's own
        return ast.Module([], [])


def _helpers(function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Yield the private functions of the same module that a function calls by their names."""
    own = inspect.unwrap(function)
    space = getattr(own, "__globals__", {})
    called = {
        node.func.id
        for node in ast.walk(_tree(own))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    for name in sorted(called):
        helper = space.get(name)
        if name[0] == "_" and isinstance(helper, types.FunctionType):
            if helper.__module__ == own.__module__:
                yield helper


def _raised(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
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
