"""Tile graphs: the nodes that make blocks of results from blocks of leaves, recorded again for each tile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from tensorframe.graph.node import Node, by_serial
from tensorframe.ops.movement import SLICE
from tensorframe.schedule.tiles import Block, Interval, Part, extents, hull, part_of, whole, within

IsGiven = Callable[[Node], bool]
# What gives a block of a node that is not made in the tile: a leaf, or a value that is there as a whole.
Given = Callable[[Node, Block], Node]
# What makes a block of a scan, whose total comes from the tile before, of its operand's block.
Scan = Callable[[Node, Node], Node]


def demanded(
    wanted: Iterable[tuple[Node, Block]],
    is_given: IsGiven,
    scans: Mapping[Node, Interval] | None = None,
) -> dict[Node, Block]:
    """Return the block of every node that the wanted ones need, consumers first: the smallest that all of them see.

    What `is_given` is not looked behind. Of `scans` the totals are handed on from block to block, which have at least
    the places along the axis that are given here, so that none is left out.
    """
    scans = scans or {}
    blocks: dict[Node, Block] = {}
    for node, block in wanted:
        blocks[node] = hull(blocks[node], block) if node in blocks else block
    order = _consumers_first(blocks, is_given)
    for node in order:
        if node not in blocks or is_given(node):
            continue
        if node in scans:
            (axis,) = node.attrs
            own = (*blocks[node][:axis], scans[node], *blocks[node][axis + 1 :])
            blocks[node] = hull(blocks[node], own)
        part = _part(node, blocks[node], scans)
        for source, needed in zip(node.inputs, part.operands, strict=True):
            if needed is not None:
                blocks[source] = hull(blocks[source], needed) if source in blocks else needed
    return {node: blocks[node] for node in order if node in blocks}


def _consumers_first(roots: Iterable[Node], is_given: IsGiven) -> list[Node]:
    nodes = list(roots)
    seen = set(nodes)
    for node in nodes:  # grows while it is walked
        if not is_given(node):
            fresh = [source for source in dict.fromkeys(node.inputs) if source not in seen]
            nodes += fresh
            seen.update(fresh)
    return sorted(nodes, key=by_serial, reverse=True)


def _part(node: Node, block: Block, scans: Collection[Node]) -> Part:
    """Return how a block of a node is made; of what is blocking, all is made, of which the block is shown."""
    if node in scans:
        return Part(node.op, node.attrs, (block,), extents(block))
    shapes = [source.shape for source in node.inputs]
    part = part_of(node.op, node.attrs, shapes, node.shape, block)
    if part is not None:
        return part
    everything = tuple(map(whole, shapes))
    return Part(node.op, node.attrs, everything, node.shape, block)


def build_tile(
    blocks: dict[Node, Block],
    is_given: IsGiven,
    given: Given,
    scans: Collection[Node] = (),
    scan: Scan | None = None,
) -> dict[Node, Node]:
    """Return, for each node of `blocks` (see `demanded`), the node that makes its block."""
    made: dict[Node, Node] = {}
    for node in reversed(blocks):
        block = blocks[node]
        if is_given(node):
            made[node] = given(node, block)
            continue
        part = _part(node, block, scans)
        operands = [
            shown(made[source], within(needed, blocks[source]))
            for source, needed in zip(node.inputs, part.operands, strict=True)
            if needed is not None
        ]
        if scan is not None and node in scans:
            made[node] = scan(node, operands[0])
        else:
            made[node] = apply_part(part, operands, node)
    return made


def apply_part(part: Part, operands: Sequence[Node], like: Node) -> Node:
    """Return the node that makes a block of `like` from the blocks that its part says, those that are needed."""
    if part.op is None:
        return operands[0]
    node = Node(
        part.op, tuple(operands), part.attrs, part.shape, like.dtype, like.device, like.site
    )
    return node if part.crop is None else shown(node, part.crop)


def shown(node: Node, block: Block) -> Node:
    """Return a block of a node, which is the node itself where that is all."""
    if block == whole(node.shape):
        return node
    attrs = (tuple([start for start, _ in block]), extents(block), (1,) * len(block))
    return Node(SLICE, (node,), attrs, extents(block), node.dtype, node.device, node.site)
