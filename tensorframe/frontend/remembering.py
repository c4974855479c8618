"""Remembering: what a call recorded, by the shape and dtype of its tensor and its other arguments.

To read axes and sizes, and to check them, takes longer than a small transform. A loop calls with the same arguments,
and what is recorded depends on these alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from tensorframe.dtypes import FLOATING
from tensorframe.frontend.dispatch import recorded
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.node import Node

_KEPT = 1024
# arguments that are equal only where they mean the same: True and 1.0 equal 1, and may be errors
_PLAIN: frozenset[type] = frozenset({int, str, type(None)})

_Arguments = ParamSpec("_Arguments")


def remembered(function: Callable[_Arguments, Tensor]) -> Callable[_Arguments, Tensor]:
    """Decorate a function that records one op on its first argument, so that it records the same again at once.

    It may depend on nothing but the tensor's shape, dtype and device, and on arguments that are integers, strings and
    None. Calls with others, and those of integers, which take default dtypes, go the long way, and so do calls that
    record anything else.
    """
    known: dict[Any, tuple[Any, ...]] = {}

    @wraps(function)
    def record(*values: Any, **options: Any) -> Tensor:
        if not values or type(values[0]) is not Tensor:
            return function(*values, **options)
        node = values[0].node
        arguments = (*values[1:], *options.values())
        if node.dtype not in FLOATING or not _PLAIN.issuperset(map(type, arguments)):
            return function(*values, **options)
        key = (node.shape, node.dtype, node.device, arguments, tuple(options))
        same = known.get(key)
        if same is not None:
            op, attrs, shape, dtype, device = same
            return recorded(op, (node,), attrs, shape, dtype, device)
        result = function(*values, **options)
        made: Node = result.node
        if made.inputs == (node,):
            if len(known) >= _KEPT:
                known.clear()
            known[key] = (made.op, made.attrs, made.shape, made.dtype, made.device)
        return result

    return record
