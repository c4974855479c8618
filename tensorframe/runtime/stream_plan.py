"""Planning of streams: along which axis a graph that does not fit is cut, and how large tiles may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from tensorframe.backends.registry import capabilities
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.node import Node
from tensorframe.ops.creation import ARANGE, DATA
from tensorframe.quick_dataclasses import dataclass
from tensorframe.runtime.evaluate import plan_of
from tensorframe.runtime.streaming import Stream, Tile, is_file
from tensorframe.schedule.capture import capture
from tensorframe.schedule.cut import Cut, Obstacle, candidates, find_cut
from tensorframe.schedule.moments import chunks_in
from tensorframe.schedule.plan import Plan, human_bytes
from tensorframe.schedule.tile_graph import shown
from tensorframe.schedule.tiles import Block, extents, part_of, whole

# Bytes of a tile's leaves that make up for what a tile costs besides, and keep a disk busy.
ENOUGH = 64 << 20
# Of a limit, what a leaf may take that is there as a whole beside the tiles.
_SMALL = 16
# Bytes that a disk reads in a second, where nobody measured: for estimates.
_DISK = 5e8

Room = Callable[[Device], float]


@dataclass(slots=True)
class StreamPlan:
    """A stream, and what it takes."""

    stream: Stream
    bytes_read: int  # from files, by all passes
    tile_bytes: int  # of the leaves, in one tile
    peak: dict[Device, int]

    def __str__(self) -> str:
        cut = self.stream.cut
        name = (
            str(cut.leaf.attrs[0])
            if is_file(cut.leaf)
            else f"{cut.leaf.dtype}{list(cut.leaf.shape)}"
        )
        passes = "1 pass" if cut.count == 1 else f"{cut.count} passes"
        peak = " and ".join(
            f"{human_bytes(size)} on {device}" for device, size in self.peak.items()
        )
        disk = f", about {self.bytes_read / _DISK:.3g} s of disk" if self.bytes_read else ""
        return (
            f"streams {name} in {self.stream.tiles} tiles of {human_bytes(self.tile_bytes)} "
            f"along axis {cut.axis}, {passes}, peak {peak}{disk}"
        )


def plan_stream(
    roots: Sequence[Node], room: Room, kept: Sequence[Node]
) -> StreamPlan | list[Obstacle]:
    """Return how a graph runs tile by tile within the `room` of each device, or why it does not.

    `roots` are core nodes of a graph that nobody else has; of these, `kept` stay in memory.
    """
    reasons: list[Obstacle] = []
    small = int(min(room(CPU) / _SMALL, 1 << 62))
    for leaf, axis in candidates(roots, is_file):
        cut = find_cut(roots, leaf, axis, ordered=adds_in_order, small=small)
        if isinstance(cut, Obstacle):
            reasons.append(cut)
            continue
        found = _fitted(cut, room, kept)
        if found is not None:
            return found
        reasons.append(Obstacle(leaf, "not even the smallest tiles fit"))
    return reasons


def adds_in_order(device: Device) -> bool:
    """Whether a device adds floats in the order of kernel/ir/order.py."""
    known = capabilities(device)
    return known.compiles and known.host_memory


def _fitted(cut: Cut, room: Room, kept: Sequence[Node]) -> StreamPlan | None:
    """Return the stream with the largest tiles that fit."""
    place = sum(node.nbytes for node in cut.tiled if not node.inputs) / cut.places
    rows = max(int(ENOUGH / max(place, 1)) // cut.grain, 1) * cut.grain
    rows = min(rows, -(-cut.places // cut.grain) * cut.grain)
    while True:
        stream = Stream(cut, rows, find_wholes(cut, rows))
        planned = planned_stream(stream, kept)
        if planned is not None and all(
            size <= room(device) for device, size in planned.peak.items()
        ):
            return planned
        if rows == cut.grain:
            return None
        rows = max(rows // 2 // cut.grain, 1) * cut.grain


def find_wholes(cut: Cut, rows: int) -> frozenset[Node]:
    """Return the values that are not tiled, and that tiles of so many places need all of."""
    found: set[Node] = set()
    while True:
        stream = Stream(cut, rows, frozenset(found))
        fresh = {
            node
            for number in range(cut.count)
            for tile in _samples(stream, number)
            for node, block in tile.blocks.items()
            if node not in cut.tiled
            and not stream.is_given(node)
            and (cut.passes[node] or _is_whole(node, block))
        }
        if not fresh:
            return frozenset(found)
        found |= fresh


def _is_whole(node: Node, block: Block) -> bool:
    shapes = [source.shape for source in node.inputs]
    return block == whole(node.shape) or (
        part_of(node.op, node.attrs, shapes, node.shape, block) is None
    )


def _samples(stream: Stream, number: int) -> list[Tile]:
    """Return tiles of every form in a pass: the first, one between, and the last ones."""
    last = stream.tiles - 1
    places = dict.fromkeys([0, min(1, last), last // 2, max(last - 1, 0), last])
    tiles = [stream.tile(number, index) for index in places]
    return [tile for tile in tiles if tile.wanted]


def planned_stream(stream: Stream, kept: Sequence[Node]) -> StreamPlan | None:
    """Return a stream with what it takes: two tiles of what is read, the plan of a tile, and results that wait.

    None where kernels of the tiles would sum squared distances in other chunks than those of the whole.
    """
    cut = stream.cut
    peak: dict[Device, int] = {}
    tile_bytes = bytes_read = 0
    for number in range(cut.count):
        for tile in _samples(stream, number):
            read = sum(_nbytes(node, tile.blocks[node]) for node in tile.blocks if is_file(node))
            leaves = sum(
                _nbytes(node, block)
                for node, block in tile.blocks.items()
                if not node.inputs and node in cut.tiled
            )
            tile_bytes = max(tile_bytes, leaves)
            made = sum(
                _nbytes(anchor, block)
                for anchor, block in tile.wanted.items()
                if anchor not in cut.carried
            )
            plan = _of_tile(stream, number, tile)
            if chunks_in(plan) != sorted(
                [cut.chunks[node].length for node in cut.chunks if _is_made(cut, tile, node)]
            ):
                return None
            for device, size in plan.peak.items():
                waits = 2 * read + made if device is CPU else 0
                peak[device] = max(peak.get(device, 0), size + waits)
        whole_file = [node for node in cut.tiled if is_file(node)]
        bytes_read += sum(node.nbytes for node in whole_file)
    held = [*kept, *stream.wholes, *cut.carried]
    for node in dict.fromkeys(held):
        peak[node.device] = peak.get(node.device, 0) + node.nbytes
    return StreamPlan(stream, bytes_read, tile_bytes, peak)


def _is_made(cut: Cut, tile: Tile, node: Node) -> bool:
    """Whether a tile makes a block of a value as the whole is made."""
    return node in tile.blocks and node in cut.tiled


def _nbytes(node: Node, block: Block) -> int:
    return prod(extents(block)) * node.dtype.itemsize


def _of_tile(stream: Stream, number: int, tile: Tile) -> Plan:
    """Return the plan of a tile, which every tile of its form has."""
    stream.begin(number)

    def given(node: Node, block: Block) -> Node:
        if node.storage is not None:
            return shown(node, block)
        if is_file(node) or node.op is ARANGE or node in stream.wholes:
            inside = Node(DATA, (), (), extents(block), node.dtype, node.device, node.site)
            if node in stream.wholes:
                inside = Node(DATA, (), (), node.shape, node.dtype, node.device, node.site)
                return shown(inside, block)
            return inside
        return shown(node, block)

    graph = stream.graph(tile, None, given, dry=True)
    return plan_of(capture(graph.nodes(), keep_held=False))
