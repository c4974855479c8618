"""Scope: what the variables of the program that looks at a plan call its tensors.

Most names come from the instruction that stores a result (`variables.py`). What library code made has none there: the
weights of a network, which the program calls `model[0].weight`, and what a recorded function returned.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from tensorframe.cells import shell
from tensorframe.errors import TensorFrameError
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import flatten, names
from tensorframe.graph.node import Node
from tensorframe.site import is_internal


def names_in_scope() -> dict[Node, str]:
    """Return what the function that called us, its module, or the notebook calls tensors; the nearest name first."""
    known: dict[Node, str] = {}
    for variables in _scopes():
        for name, value in list(variables.items()):
            if name.isidentifier() and not name.startswith("_"):  # tools write `@py_assert1`
                for node, text in _named_nodes(name, value):
                    known.setdefault(node, text)
    return known


def _scopes() -> Iterator[Mapping[str, Any]]:
    frame = sys._getframe(1)
    while is_internal(frame.f_code) and frame.f_back is not None:
        frame = frame.f_back
    yield frame.f_locals
    if frame.f_globals is not frame.f_locals:
        yield frame.f_globals
    notebook = shell()  # whose own code calls for what a cell shows
    if notebook is not None:
        yield notebook.user_ns


def _named_nodes(name: str, value: Any) -> Iterator[tuple[Node, str]]:
    if type(value) is Tensor:
        yield value.node, name
    elif getattr(type(value), "__tree__", None) is not None:  # a network
        leaves: list[Any] = []
        try:
            structure = flatten(value, leaves)
        except TensorFrameError:
            return  # it cannot be taken apart: then its tensors have no names
        for leaf, text in zip(leaves, names(structure, name), strict=True):
            if type(leaf) is Tensor:
                yield leaf.node, text
