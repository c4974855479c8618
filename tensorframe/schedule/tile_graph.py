"""Tile graphs: the nodes that make blocks of results from blocks of leaves, recorded again for each tile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import prod

from tensorframe.graph.node import Node, by_serial
from tensorframe.ops.movement import SLICE
from tensorframe.schedule.blocks import Block, Interval, Part, extents, hull, whole, within
from tensorframe.schedule.tiles import part_of

Blocks = dict[Node, list[Block]]
IsGiven = Callable[[Node], bool]
# What gives a block of a node that is not made in the tile: a leaf, or a value that is there as a whole.
Given = Callable[[Node, Block], Node]
# What makes a block of a scan, whose total comes from the tile before, of its operand's block.
Scan = Callable[[Node, Node], Node]


# Blocks of a value that lie apart are made apart, unless what holds both is so little more than they are.
_LITTLE = 1.5
_MOST_BLOCKS = 8


def demanded(
    wanted: Iterable[tuple[Node, Block]],
    is_given: IsGiven,
    scans: Mapping[Node, Interval] | None = None,
) -> Blocks:
    """Return the blocks of every node that the wanted ones need, consumers first.

    What `is_given` is not looked behind. Of `scans` the totals are handed on from block to block, which have at least
    the places along the axis that are given here, so that none is left out.
    """
    scans = scans or {}
    blocks: Blocks = {}
    for node, block in wanted:
        _add(blocks.setdefault(node, []), block)
    order = _consumers_first(blocks, is_given)
    for node in order:
        if node not in blocks or is_given(node):
            continue
        if node in scans:
            blocks[node] = [_with_places(node, blocks[node], scans[node])]
        for own in blocks[node]:
            part = _part(node, own, scans)
            for source, needed in zip(node.inputs, part.operands, strict=True):
                if needed is not None:
                    _add(blocks.setdefault(source, []), needed)
    return {node: blocks[node] for node in order if node in blocks}


def _with_places(node: Node, blocks: Sequence[Block], places: Interval) -> Block:
    """Return one block of a scan that holds some blocks and these places of its axis.

    It has all of the other axes, as totals have that are handed on: each block may look at others of their places.
    """
    (axis,) = node.attrs
    low, high = places
    for block in blocks:
        start, stop = block[axis]
        low, high = min(low, start), max(high, stop)
    everything = whole(node.shape)
    return (*everything[:axis], (low, high), *everything[axis + 1 :])


def _add(blocks: list[Block], block: Block) -> None:
    """Add a block to those of a node: to one that it nearly touches, if there is one."""
    for place, known in enumerate(blocks):
        both = hull(known, block)
        apart = prod(extents(known)) + prod(extents(block))
        if prod(extents(both)) <= _LITTLE * apart or len(blocks) == _MOST_BLOCKS:
            del blocks[place]
            _add(blocks, both)
            return
    blocks.append(block)


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


class Made:
    """The nodes that make the blocks of a tile."""

    def __init__(self) -> None:
        self._nodes: dict[Node, list[tuple[Block, Node]]] = {}

    def add(self, node: Node, block: Block, made: Node) -> None:
        """Note what makes a block."""
        self._nodes.setdefault(node, []).append((block, made))

    def shown(self, node: Node, block: Block) -> Node:
        """Return what makes a block that is in one of those there are."""
        own, made = next((own, made) for own, made in self._nodes[node] if hull(own, block) == own)
        return shown(made, within(block, own))


def build_tile(
    blocks: Blocks,
    is_given: IsGiven,
    given: Given,
    scans: Collection[Node] = (),
    scan: Scan | None = None,
) -> Made:
    """Return the nodes that make `blocks` (see `demanded`)."""
    made = Made()
    for node in reversed(blocks):
        for block in blocks[node]:
            if is_given(node):
                made.add(node, block, given(node, block))
                continue
            part = _part(node, block, scans)
            operands = [
                made.shown(source, needed)
                for source, needed in zip(node.inputs, part.operands, strict=True)
                if needed is not None
            ]
            if scan is not None and node in scans:
                made.add(node, block, scan(node, operands[0]))
            else:
                made.add(node, block, apply_part(part, operands, node))
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
