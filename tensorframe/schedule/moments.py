"""One-pass variances of a plan: which sums of squared distances kernels take in one pass, and in which chunks.

Their bits depend on the chunks, which follow from the whole region that they are part of: see
`kernel/forms/deviations.py`. So whoever runs a graph in parts looks at the groups that it has as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensorframe.backends.registry import capabilities
from tensorframe.dtypes import FLOAT
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.kernel.build import one_pass_of
from tensorframe.kernel.forms.deviations import chain_of
from tensorframe.machine import HOST
from tensorframe.quick_tuples import NamedTuple
from tensorframe.schedule.capture import capture
from tensorframe.schedule.lower import lower
from tensorframe.schedule.plan import Plan, Step

if TYPE_CHECKING:
    from tensorframe.kernel.forms.reductions import OnePass


class Chunks(NamedTuple):
    """How a sum of squared distances is taken: in chunks of so many elements, along memory or across it.

    `followed` is the sum of the elements, if that follows from what chunks leave.
    """

    length: int
    inside: bool
    followed: Node | None


def distances_of(node: Node) -> Node | None:
    """Return the difference whose squares a node sums; None if it is something else."""
    chain = chain_of(
        node,
        lambda operand: operand.op if operand.storage is None else None,
        lambda operand: operand.inputs,
        lambda operand: operand.dtype,
    )
    return None if chain is None else chain[1]


def one_pass_sums(roots: Sequence[Node]) -> dict[Node, Chunks]:
    """Return the sums of squared distances that the plan of a core graph takes in one pass."""
    if not any(
        node.op.kind is Kind.REDUCE
        and node.inputs
        and node.inputs[0].size > 2 * HOST.row
        and distances_of(node) is not None
        and capabilities(node.device).one_pass_variance
        for node in reachable(roots)
    ):
        return {}
    from tensorframe.schedule.pipeline import group_nodes  # which imports what plans are made of

    request = capture(roots, keep_held=False)
    groups = group_nodes(roots)
    plan = lower(request, roots, groups, request.leaves, {})
    chunks: dict[Node, Chunks] = {}
    for step, group in zip(plan.steps, groups, strict=True):
        once = one_pass_in(step)
        if once is None:
            continue
        first = len(step.region.inputs)
        for value in once.centred:
            sums = [total for total, squares in once.followed.items() if squares == value]
            followed = group.nodes[sums[0] - first] if sums else None
            chunks[group.nodes[value - first]] = Chunks(once.chunk, once.inside, followed)
    return chunks


def chunks_in(plan: Plan) -> list[int]:
    """Return the lengths of the chunks of all sums of squared distances that a plan takes in one pass."""
    sums = [one_pass_in(step) for step in plan.steps]
    return sorted([once.chunk for once in sums if once is not None for _ in once.centred])


def one_pass_in(step: Step) -> OnePass | None:
    """Return what a step takes in one pass."""
    if not capabilities(step.device).one_pass_variance or not _may_have(step.region):
        return None
    return one_pass_of(step.region)


def _may_have(region: Region) -> bool:
    if region.ops[0].op.kind is Kind.CONTRACT:  # what follows a matmul is no loop with it
        return False
    return any(
        op.op.kind is Kind.REDUCE and op.dtype in FLOAT and op.op.name == "sum" for op in region.ops
    ) and any(op.op.name == "subtract" for op in region.ops)
