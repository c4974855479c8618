"""Views, and what joins, cuts or pads tensors."""

from __future__ import annotations

from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.graph.shape import Shape
from tensorframe.ops.expand import expand
from tensorframe.ops.formulas import INTERP
from tensorframe.ops.indexing import SET_SLICE
from tensorframe.ops.movement import (
    ALIAS,
    CONCAT,
    DEPENDS,
    EXPAND,
    PAD,
    PERMUTE,
    RESHAPE,
    SLICE,
    STOP_GRADIENT,
    WINDOWS,
)
from tensorframe.transform.batch_rules.table import for_kind, for_ops
from tensorframe.transform.batching import Call, Value


@for_kind(Kind.TRANSFER)
@for_ops(ALIAS, STOP_GRADIENT)
def _same(call: Call) -> Node:
    return call.apply(call.op, call.batch.of(call.inputs[0]), attrs=call.attrs)


@for_kind(Kind.VIEW)
@for_ops(INTERP)
def _expansion(call: Call) -> Value:
    """What has no rule of its own is what its row is written out as."""
    meaning = expand(call.node)
    call.batch.extend([meaning])
    return call.batch.value(meaning)


@for_ops(DEPENDS)
def _depending(call: Call) -> Node:
    return call.apply(DEPENDS, *map(call.batch.whole, call.inputs))


@for_ops(RESHAPE)
def _reshaped(call: Call) -> Node:
    shape = (call.batch.size, *call.node.shape)
    return call.apply(RESHAPE, call.batch.of(call.inputs[0]), attrs=(shape,))


@for_ops(EXPAND)
def _expanded(call: Call) -> Node:
    shape = (call.batch.size, *call.node.shape)
    return call.apply(EXPAND, call.aligned(call.inputs[0], len(call.node.shape)), attrs=(shape,))


@for_ops(PERMUTE)
def _permuted(call: Call) -> Node:
    (axes,) = call.attrs
    order = (0, *[axis + 1 for axis in axes])
    return call.apply(PERMUTE, call.batch.of(call.inputs[0]), attrs=(order,))


@for_ops(WINDOWS)
def _windowed(call: Call) -> Node:
    axis, *rest = call.attrs
    return call.apply(WINDOWS, call.batch.of(call.inputs[0]), attrs=(axis + 1, *rest))


@for_ops(SLICE)
def _sliced(call: Call) -> Node:
    return call.apply(SLICE, call.batch.of(call.inputs[0]), attrs=_window(call, *call.attrs))


@for_ops(SET_SLICE)
def _set(call: Call) -> Node:
    return call.apply(
        SET_SLICE, *map(call.batch.whole, call.inputs), attrs=_window(call, *call.attrs)
    )


def _window(call: Call, starts: Shape, sizes: Shape, steps: Shape) -> tuple[Shape, Shape, Shape]:
    return (0, *starts), (call.batch.size, *sizes), (1, *steps)


@for_ops(PAD)
def _padded(call: Call) -> Node:
    before, after, value = call.attrs
    return call.apply(PAD, call.batch.of(call.inputs[0]), attrs=((0, *before), (0, *after), value))


@for_ops(CONCAT)
def _joined(call: Call) -> Node:
    (axis,) = call.attrs
    return call.apply(CONCAT, *map(call.batch.whole, call.inputs), attrs=(axis + 1,))
