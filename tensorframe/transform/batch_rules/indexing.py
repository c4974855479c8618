"""Index tensors: they get one more, for the number of the example, where examples differ."""

from __future__ import annotations

from tensorframe.dtypes import int64
from tensorframe.graph.holding import default_on
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.graph.shape import broadcast
from tensorframe.ops.creation import ARANGE
from tensorframe.ops.indexing import GATHER, TAKE_ALONG_AXIS
from tensorframe.transform.batch_rules.table import for_kind, for_ops
from tensorframe.transform.batching import Call


@for_ops(GATHER)
def _gathered(call: Call) -> Node:
    source, *indices = call.inputs
    axes, place = call.attrs
    if not any(index in call.batch for index in indices):
        further = tuple([axis + 1 for axis in axes])
        return call.apply(GATHER, call.batch.of(source), *indices, attrs=(further, place + 1))
    places = _places(call, indices)
    if source in call.batch:
        axes = (0, *[axis + 1 for axis in axes])
        places = [_example_number(call, indices), *places]
    values = call.apply(GATHER, call.batch.of(source), *places, attrs=(axes, place))
    return call.moved(values, place, 0)


@for_kind(Kind.SCATTER)
def _scattered(call: Call) -> Node:
    source, values, *indices = call.inputs
    axes, place = call.attrs
    target, given = call.batch.whole(source), call.batch.whole(values)
    further = tuple([axis + 1 for axis in axes])
    if not any(index in call.batch for index in indices):
        return call.apply(call.op, target, given, *indices, attrs=(further, place + 1))
    places = [_example_number(call, indices), *_places(call, indices)]
    return call.apply(
        call.op, target, call.moved(given, 0, place), *places, attrs=((0, *further), place)
    )


@for_ops(TAKE_ALONG_AXIS)
def _taken_along(call: Call) -> Node:
    (axis,) = call.attrs
    rank = len(call.node.shape)
    operands = [
        call.aligned(source, rank)
        if source in call.batch
        else call.reshaped(source, (1, *source.shape))
        for source in call.inputs
    ]
    return call.apply(TAKE_ALONG_AXIS, *operands, attrs=(axis + 1,))


def _places(call: Call, indices: list[Node]) -> list[Node]:
    """Return index tensors that broadcast to those of all examples."""
    rank = max([len(index.shape) for index in indices])
    return [call.aligned(index, rank) for index in indices]


def _example_number(call: Call, indices: list[Node]) -> Node:
    """Return the index tensor of each example's own number."""
    size = call.batch.size
    like = indices[0]
    dtype = default_on(like.device, int64)
    count = Node(ARANGE, (), (0, 1, 0, 1), (size,), dtype, like.device, call.node.site)
    rank = len(broadcast("gather", *[index.shape for index in indices]))
    return call.reshaped(count, (size, *[1] * rank))
