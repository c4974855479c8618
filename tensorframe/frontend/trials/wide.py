"""Wide runs: a graph computed in twice the precision, which tells whose rounding it is that results differ by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.backends.numpy.creation import generate
from tensorframe.backends.numpy.functions import implementation
from tensorframe.dtypes import DType
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind, Op
from tensorframe.ops.elementwise import CAST, EXPM1, POW, TANH, WHERE
from tensorframe.ops.expand import expand
from tensorframe.runtime.evaluate import host_array

Array = np.ndarray[Any, Any]

_WIDER: dict[DType, DType] = {
    **dict.fromkeys(dtypes.NARROW, dtypes.float64),
    dtypes.float32: dtypes.float64,
    dtypes.complex64: dtypes.complex128,
}
_LONG: dict[DType, DType] = {
    dtypes.float64: np.dtype(np.longdouble),
    dtypes.complex128: np.dtype(np.clongdouble),
}
if np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant:
    _WIDER |= _LONG

# NumPy computes these in whatever precision it is given
_ANY_PRECISION = frozenset({CAST, EXPM1, POW, TANH, WHERE})
_MOVING = frozenset({Kind.VIEW, Kind.GATHER, Kind.SCATTER, Kind.REDUCE, Kind.SCAN, Kind.TRANSFER})


def wide_values(roots: Sequence[Node]) -> list[Array | None]:
    """Return the values of nodes computed op by op in wider dtypes; None for those that have none, or cannot be.

    float64 is computed in NumPy's long double, where that is wider and every op has it.
    """
    order = reachable(roots)
    pending = [node for node in order if node.storage is None]
    if not pending or not all(map(_can_be_wider, pending)):
        return [None] * len(roots)
    values: dict[Node, Any] = {}
    try:
        with np.errstate(all="ignore"):
            for node in order:
                values[node] = _value(node, values)
    except Exception:
        return [None] * len(roots)  # some function of NumPy's does not take the wider dtype
    return [np.asarray(values[root]) if root.dtype in _WIDER else None for root in roots]


def _value(node: Node, values: dict[Node, Any]) -> Any:
    if node.storage is not None or not node.inputs:
        array = host_array(node) if node.storage is not None else generate(node)
        if type(array) is tuple:
            raise TypeError("the parts of a library call are not widened")
        return np.asarray(array).astype(_wider(node.dtype))
    operands = [values[source] for source in node.inputs]
    if node.op.kind is Kind.TRANSFER:
        return operands[0]
    attrs = [
        _wider(attribute) if isinstance(attribute, np.dtype) else attribute
        for attribute in node.attrs
    ]
    return implementation[node.op](*operands, *attrs)


def _wider(dtype: DType) -> DType:
    return _WIDER.get(dtype, dtype)


def _can_be_wider(node: Node) -> bool:
    """Whether NumPy computes the node's op in the wider dtype, rather than in float64 with long numbers around."""
    if not any(each.dtype in _LONG for each in (node, *node.inputs)) or not node.inputs:
        return True
    if any(dtype not in _WIDER for dtype in _LONG):
        return False
    return all(
        op in _ANY_PRECISION
        or op.kind in _MOVING
        or (op.kind is Kind.MAP and isinstance(implementation[op], np.ufunc))
        for op in _core_ops(node)
    )


def _core_ops(node: Node) -> Iterator[Op]:
    """Yield the ops that a node means, written out as far as they have formulas."""
    if node.op.expand is None:
        yield node.op
        return
    given = set(node.inputs)
    waiting = [expand(node)]
    while waiting:
        inner = waiting.pop()
        if inner in given or not inner.inputs:
            continue
        if inner.op.expand is not None:
            yield from _core_ops(inner)
        else:
            yield inner.op
        waiting += inner.inputs
