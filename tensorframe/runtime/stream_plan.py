"""Planning of streams: along which axis a graph that does not fit is cut, and how large tiles may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from math import prod
from typing import NamedTuple

from tensorframe.backends.registry import capabilities
from tensorframe.files.windows import picked_bytes
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.creation import ARANGE, DATA
from tensorframe.quick_dataclasses import dataclass
from tensorframe.runtime.evaluate import plan_of
from tensorframe.runtime.streaming import Stream, Tile, is_file, window_of
from tensorframe.schedule.blocks import Block, extents, whole
from tensorframe.schedule.capture import capture
from tensorframe.schedule.cut import Cut, Obstacle, candidates, find_cut
from tensorframe.schedule.moments import chunks_in
from tensorframe.schedule.peak import growth
from tensorframe.schedule.plan import Plan, human_bytes
from tensorframe.schedule.tile_graph import shown
from tensorframe.schedule.tiles import part_of
from tensorframe.site import describe

# Bytes of a tile's leaves that make up for what a tile costs besides, and keep a disk busy.
ENOUGH = 64 << 20
# Of a limit, what a leaf may take that is there as a whole beside the tiles.
_SMALL = 16
# The part of what is free, up to a tile, that is left to kernels and the interpreter.
_SPARE = 4
# Cuts that are tried: an axis of a leaf each.
_MOST_CUTS = 24
# Bytes that a disk reads in a second, where nobody measured: for estimates.
_DISK = 5e8

Room = Callable[[Device], float]


@dataclass(slots=True)
class StreamPlan:
    """A stream, and what it takes."""

    stream: Stream
    bytes_read: int  # from files, by all passes
    tile_bytes: int  # of the leaves, in one tile
    peak: dict[Device, int]  # of each memory, beside what is there already
    aside: StreamPlan | None = None  # of roots that have nothing to do with this cut
    whole: tuple[Node, ...] = ()  # such roots that are computed as ever

    @property
    def name(self) -> str:
        """What it reads, in short."""
        leaf = self.stream.cut.leaf
        return str(leaf.attrs[0]) if is_file(leaf) else f"{leaf.dtype}{list(leaf.shape)}"

    def __str__(self) -> str:
        cut = self.stream.cut
        passes = "1 pass" if cut.count == 1 else f"{cut.count} passes"
        peak = " and ".join(
            f"{human_bytes(size)} on {device}" for device, size in self.peak.items()
        )
        disk = f", about {self.bytes_read / _DISK:.3g} s of disk" if self.bytes_read else ""
        tiles = self.stream.tiles
        rounds = ", matmuls round as those of tiles" if cut.rounded else ""
        return (
            f"streams {self.name} in {tiles} tile{'s' * (tiles != 1)} of "
            f"{human_bytes(self.tile_bytes)} along axis {cut.axis}, {passes}, peak {peak}{disk}{rounds}"
            f"{f'; {self.aside}' if self.aside else ''}"
        )


class Obstacles(NamedTuple):
    """Why there is no stream: what each cut that was tried met."""

    obstacles: tuple[Obstacle, ...]

    def __str__(self) -> str:
        if not self.obstacles:
            return "there is no axis to cut"
        first = self.obstacles[0]
        line = describe(first.node.site)
        return f"{first.node.op.name}: {first.reason}{f' ({line})' if line else ''}"


def plan_stream(roots: Sequence[Node], room: Room, kept: Sequence[Node]) -> StreamPlan | Obstacles:
    """Return how a graph runs tile by tile within the `room` of each device, or why it does not.

    `roots` are core nodes of a graph that nobody else has; of these, `kept` stay in memory.
    """
    planned = _cut_somewhere(roots, room, kept, rounds=False)
    if isinstance(planned, Obstacles) and any(node.op is MATMUL for node in reachable(roots)):
        return _cut_somewhere(roots, room, kept, rounds=True)
    return planned


def _cut_somewhere(
    roots: Sequence[Node], room: Room, kept: Sequence[Node], *, rounds: bool
) -> StreamPlan | Obstacles:
    """Return the stream along the first cut that fits; `rounds` lets last digits of matmuls be those of tiles."""
    obstacles: list[Obstacle] = []
    small = int(min(room(CPU) / _SMALL, 1 << 62))
    for leaf, axis in islice(candidates(roots, is_file), _MOST_CUTS):
        cut = find_cut(roots, leaf, axis, ordered=adds_in_order, small=small, rounds=rounds)
        if isinstance(cut, Obstacle):
            obstacles.append(cut)
            continue
        cut.roots = tuple([root for root in roots if cut.concerns(root)])
        beside = [root for root in dict.fromkeys(roots) if not cut.concerns(root)]
        stream = _fitted(cut, room, kept)
        if stream is None:
            obstacles.append(Obstacle(leaf, f"not even the smallest tiles along axis {axis} fit"))
            continue
        if not beside:
            return stream
        return _with_others(stream, beside, room, kept)
    return Obstacles(tuple(obstacles))


def _with_others(
    stream: StreamPlan, beside: Sequence[Node], room: Room, kept: Sequence[Node]
) -> StreamPlan | Obstacles:
    """Return a stream with the roots that have nothing to do with its cut: computed as ever, or in their own stream."""
    more = _growth(beside)
    for node in kept:
        more[home_of(node.device)] = more.get(home_of(node.device), 0) + node.nbytes
    if all(size <= room(device) for device, size in more.items()):
        stream.whole = tuple(beside)
        for device, size in more.items():
            stream.peak[device] = max(stream.peak.get(device, 0), size)
        return stream
    other = plan_stream(beside, room, kept)
    if isinstance(other, Obstacles):
        return other
    stream.aside = other
    return stream


def _growth(roots: Sequence[Node]) -> dict[Device, int]:
    """Return what computing some values as ever takes of each memory."""
    pending = [root for root in roots if root.storage is None]
    most: dict[Device, int] = {}
    if pending:
        request = capture(pending, keep_held=False)
        for device, (size, _) in growth(plan_of(request)).items():
            most[home_of(device)] = most.get(home_of(device), 0) + size
        read = sum(leaf.nbytes for leaf in request.leaves if is_file(leaf))
        most[CPU] = most.get(CPU, 0) + read
    return most


def adds_in_order(device: Device) -> bool:
    """Whether a device adds floats in the order of kernel/ir/order.py."""
    known = capabilities(device)
    return known.compiles and known.host_memory


def _fitted(cut: Cut, room: Room, kept: Sequence[Node]) -> StreamPlan | None:
    """Return the stream with the largest tiles that fit."""
    place = sum(node.nbytes for node in cut.tiled if not node.inputs) / cut.places
    rows = _multiple(int(ENOUGH / max(place, 1)), cut.grain)
    rows = min(rows, -(-cut.places // cut.grain) * cut.grain)
    while True:
        stream = Stream(cut, rows, find_wholes(cut, rows))
        planned = planned_stream(stream, kept)
        if planned is not None and _is_within(planned, room):
            return planned
        if rows == cut.grain:
            return None
        rows = _multiple(rows // 2, cut.grain)


def _multiple(rows: int, grain: int) -> int:
    return max(rows // grain, 1) * grain


def _is_within(planned: StreamPlan, room: Room) -> bool:
    """Whether a stream fits: what it takes, and a part of what there is for kernels and the interpreter."""
    for device, size in planned.peak.items():
        there = room(device)
        if size > there - min(there / _SPARE, ENOUGH):
            return False
    return True


def find_wholes(cut: Cut, rows: int) -> frozenset[Node]:
    """Return the values that are not tiled, and that tiles of so many places need all of."""
    wholes: set[Node] = set()
    while True:
        stream = Stream(cut, rows, frozenset(wholes))
        fresh = {
            node
            for number in range(cut.count)
            for tile in _samples(stream, number)
            for node, block in tile.pairs()
            if node not in cut.tiled
            and not stream.is_given(node)
            and (cut.passes[node] or _is_whole(node, block))
        }
        if not fresh:
            return frozenset(wholes)
        wholes |= fresh


def _is_whole(node: Node, block: Block) -> bool:
    """Whether a block of a value is better made with all of it: it takes all that there is of the operands."""
    shapes = [source.shape for source in node.inputs]
    part = part_of(node.op, node.attrs, shapes, node.shape, block)
    if part is None or block == whole(node.shape):
        return True
    moves = node.op.kind in (Kind.VIEW, Kind.MAP, Kind.TRANSFER)
    return not moves and list(part.operands) == [*map(whole, shapes)]


def _samples(stream: Stream, number: int) -> list[Tile]:
    """Return tiles of every form in a pass: the first, one between, and the last ones."""
    last = stream.tiles - 1
    places = [0, min(1, last), last // 2, max(last - 1, 0), last]
    for low, high in stream.cut.seams():
        places += [low // stream.rows, min(high // stream.rows, last)]
    tiles = [stream.tile(number, index) for index in dict.fromkeys(places)]
    return [tile for tile in tiles if tile.wanted]


def planned_stream(stream: Stream, kept: Sequence[Node]) -> StreamPlan | None:
    """Return a stream with what it takes: two tiles of what is read, the plan of a tile, and results that wait.

    None where kernels of the tiles would sum squared distances in other chunks than those of the whole.
    """
    cut = stream.cut
    peak: dict[Device, int] = {}
    tile_bytes = bytes_read = 0
    for number in range(cut.count):
        reads: set[Node] = set()
        for tile in _samples(stream, number):
            plan = _of_tile(stream, number, tile)
            if chunks_in(plan) != sorted(
                [cut.chunks[node].length for node in cut.chunks if _is_made(cut, tile, node)]
            ):
                return None
            reads |= {node for node in tile.blocks if is_file(node)}
            tile_bytes = max(tile_bytes, _bytes_of(tile, lambda node: _is_cut_leaf(cut, node)))
            beside = _beside(cut, tile) + _copied(plan)
            most = {device: nbytes for device, (nbytes, _) in growth(plan).items()}
            for device in {home_of(device) for device in most} | {CPU}:
                size = sum(
                    nbytes for kept_node, nbytes in most.items() if home_of(kept_node) is device
                )
                size += beside if device is CPU else 0
                peak[device] = max(peak.get(device, 0), size)
        bytes_read += sum(node.nbytes for node in reads)
    for device, size in _growth([node for node in stream.wholes if not cut.passes[node]]).items():
        peak[device] = max(peak.get(device, 0), size)
    between = [node for node, number in cut.passes.items() if number and node not in cut.tiled]
    for node in dict.fromkeys([*kept, *stream.wholes, *between]):
        home = home_of(node.device)
        peak[home] = peak.get(home, 0) + node.nbytes
    return StreamPlan(stream, bytes_read, tile_bytes, peak)


def home_of(device: Device) -> Device:
    """Return the device that stands for a device's memory."""
    return CPU if capabilities(device).host_memory else device


def _beside(cut: Cut, tile: Tile) -> int:
    """Return what a tile takes of the host's memory beside its plan.

    Files are read into two buffers, one after the other; results are written while the plan makes those of the next.
    """
    scratch = max(
        [_to_read(leaf, block) for leaf, block in tile.pairs() if is_file(leaf)], default=0
    )
    read = _bytes_of(tile, is_file)
    counted = _bytes_of(tile, lambda node: node.op is ARANGE and node.storage is None)
    made = sum(
        _nbytes(anchor, block) for anchor, block in tile.wanted.items() if anchor not in cut.carried
    )
    return 2 * read + scratch + counted + made


def _copied(plan: Plan) -> int:
    """Return the bytes of results that look at what was read: they are copied, since the next tile is read there."""
    looking = set(range(plan.leaves))
    for step in plan.steps:
        if step.is_view and step.inputs[0] in looking:
            looking.update(step.outputs)
    return sum(plan.slots[slot].nbytes for slot in plan.outputs if slot in looking)


def _to_read(leaf: Node, block: Block) -> int:
    """Return the bytes that reading a block of a file takes, beside the block."""
    reader = leaf.attrs[0]
    columns = tuple(reader.axes) != tuple(range(len(leaf.shape)))
    window = window_of(block)
    picked = picked_bytes(leaf.shape, leaf.dtype.itemsize, window, columns=columns)
    unpacked: int = reader.scratch
    return max(unpacked, picked)


def _bytes_of(tile: Tile, wanted: Callable[[Node], bool]) -> int:
    return sum(_nbytes(node, block) for node, block in tile.pairs() if wanted(node))


def _is_cut_leaf(cut: Cut, node: Node) -> bool:
    return not node.inputs and node in cut.tiled


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
