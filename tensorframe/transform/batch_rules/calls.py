"""Calls whose rules programs wrote, and users' kernels."""

from __future__ import annotations

from tensorframe.graph.node import Node
from tensorframe.ops.custom import CUSTOM_CALL, CUSTOM_PART
from tensorframe.ops.movement import PART
from tensorframe.transform.batch_rules.table import for_ops, for_raw_kernels, rule_of
from tensorframe.transform.batched_calls import BatchedCall
from tensorframe.transform.batching import Call, Value


@for_ops(CUSTOM_CALL)
def _called(call: Call) -> Node:
    """Results are those of all examples, so that they have cotangents of all."""
    (called,) = call.attrs
    if (
        called.is_segment
    ):  # the examples are one call: what is computed again for one is not for all
        return call.batch.whole(call.inputs[0])
    results = call.inputs[: called.results]
    others = call.inputs[called.results :]
    operands = [*map(call.batch.whole, results), *map(call.batch.of, others)]
    differs = (*[True] * len(results), *[operand in call.batch for operand in others])
    batched = BatchedCall(called, call.batch.size, differs, rule_of)
    return call.apply(CUSTOM_CALL, *operands, attrs=(batched,))


@for_ops(CUSTOM_PART)
def _part_of_call(call: Call) -> Node:
    result, whole = call.inputs
    if whole.attrs[0].is_segment:
        return call.batch.whole(result)
    return call.apply(CUSTOM_PART, call.batch.whole(result), call.batch.of(whole), attrs=call.attrs)


@for_raw_kernels
def _raw(call: Call) -> Value:
    """A user's kernel is what its reference records, and is launched for one example after the other without one."""
    return call.one_by_one() if call.op.raw.reference is None else _meant(call, call.node, 0)


def _meant(call: Call, whole: Node, place: int) -> Node:
    """Return one of the results of what a user's kernel means, for all examples."""

    def recorded(known: Node, inputs: tuple[Node, ...]) -> Node:
        return Node(
            known.op, inputs, known.attrs, known.shape, known.dtype, known.device, call.node.site
        )

    raw = whole.op.raw
    result = raw.reference(raw, whole.device).replay(whole.inputs, recorded)[place]
    call.batch.extend([result])
    return call.batch.whole(result)


@for_ops(PART)
def _part(call: Call) -> Node:
    source = call.inputs[0]
    if source.op.raw is not None and source.op.raw.reference is not None:
        return _meant(call, source, call.attrs[0])
    whole = call.batch.value(source)
    if isinstance(whole, list):
        return call.stacked([call.apply(PART, example, attrs=call.attrs) for example in whole])
    index, shape, dtype = call.attrs
    return call.apply(PART, whole, attrs=(index, (call.batch.size, *shape), dtype))
