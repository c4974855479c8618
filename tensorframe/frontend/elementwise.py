"""Elementwise functions, generated from the rows."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from tensorframe.frontend.dispatch import apply, binary, unary
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Kind, Op, rows
from tensorframe.ops import elementwise as _rows  # noqa: F401 - defines the rows


def _function(op: Op) -> Callable[..., Tensor]:
    """Return the public function of a row."""
    if op.arity == 1:

        def one(x: Any, /) -> Tensor:
            return unary(op, x)

        function: Callable[..., Tensor] = one
        names = ["x"]
    elif op.arity == 2:

        def two(x1: Any, x2: Any, /) -> Tensor:
            return binary(op, x1, x2)

        function = two
        names = ["x1", "x2"]
    else:

        def three(condition: Any, x1: Any, x2: Any, /) -> Tensor:
            return apply(op, condition, x1, x2)

        function = three
        names = ["condition", "x1", "x2"]
    function.__name__ = function.__qualname__ = op.name
    function.__module__ = "tensorframe"
    function.__doc__ = op.doc
    parameters = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in names]
    function.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return function


FUNCTIONS = {op.name: _function(op) for op in rows(Kind.MAP) if not op.attributes}
globals().update(FUNCTIONS)
__all__ = list(FUNCTIONS)
