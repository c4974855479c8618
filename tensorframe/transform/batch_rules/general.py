"""Elementwise ops, and ops along axes, which count from the second one."""

from __future__ import annotations

from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.ops.library import CONVOLVE
from tensorframe.ops.linalg import LSTSQ
from tensorframe.ops.random import DRAW, RANDOM_WORD
from tensorframe.ops.sorting import HISTOGRAM, SEARCHSORTED, SELECT
from tensorframe.ops.sparse import (
    ROW_NUMBERS,
    SAMPLED_MATMUL,
)
from tensorframe.transform.batch_rules.table import for_kind, for_ops
from tensorframe.transform.batching import Call, Value


@for_kind(Kind.MAP)
def _map(call: Call) -> Node:
    node = call.node
    inputs = tuple([call.aligned(source, len(node.shape)) for source in call.inputs])
    if call.op is RANDOM_WORD:  # whose words are those of its positions
        inputs = (call.batch.whole(call.inputs[0]), *inputs[1:])
    shape = (call.batch.size, *node.shape)
    return Node(call.op, inputs, call.attrs, shape, node.dtype, node.device, node.site)


@for_kind(Kind.REDUCE)
@for_kind(Kind.SCAN)
@for_kind(Kind.FORMULA)
@for_kind(Kind.LIBRARY)
def _along_axes(call: Call) -> Node:
    """Axes count from the second one; what works on stacks of matrices has none among its attributes."""
    attrs = [
        _further(value) if name in ("axis", "axes") else value
        for name, value in zip(call.op.attributes, call.attrs, strict=True)
    ]
    return call.apply(call.op, *map(call.batch.whole, call.inputs), attrs=tuple(attrs))


def _further(axes: int | tuple[int, ...]) -> int | tuple[int, ...]:
    return axes + 1 if isinstance(axes, int) else tuple([axis + 1 for axis in axes])


@for_ops(SELECT)
def _of_lines(call: Call) -> Node:
    return call.apply(call.op, *map(call.batch.whole, call.inputs), attrs=call.attrs)


@for_ops(LSTSQ, CONVOLVE, HISTOGRAM, DRAW, SAMPLED_MATMUL, ROW_NUMBERS)
def _one_by_one(call: Call) -> Value:
    return call.one_by_one()


@for_ops(SEARCHSORTED)
def _searched(call: Call) -> Value:
    vector, values, *sorter = call.inputs
    if vector in call.batch or any(operand in call.batch for operand in sorter):
        return call.one_by_one()
    return call.apply(call.op, vector, call.batch.of(values), *sorter, attrs=call.attrs)
