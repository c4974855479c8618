"""Which NumPy function runs an op: the row's own name, unless a module of this folder says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorframe.graph.op import Op

Function = Callable[..., Any]

# op name -> function(*arrays, *attrs), filled by the sibling modules
FUNCTIONS: dict[str, Function] = {}


def spells(name: str) -> Callable[[Function], Function]:
    """Register the decorated function as the NumPy engine's spelling of the op `name`."""

    def register(function: Function) -> Function:
        FUNCTIONS[name] = function
        return function

    return register


class _Resolved(dict[Op, Function]):
    """Functions by op, looked up once each."""

    def __missing__(self, op: Op) -> Function:
        function: Function = FUNCTIONS.get(op.name) or getattr(np, op.numpy or op.name)
        self[op] = function
        return function


implementation = _Resolved()
