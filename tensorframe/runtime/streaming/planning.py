"""Planning of streams: along which axis a graph that does not fit is cut, and how large tiles may be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice

from tensorframe.backends.registry import capabilities
from tensorframe.files.ahead import FEWEST
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.creation import DATA
from tensorframe.quick_dataclasses import dataclass
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.evaluate import plan_of
from tensorframe.runtime.streaming.peak_memory import Taken, home_of, larger, taken_by_pass
from tensorframe.runtime.streaming.tiled_execution import Stream
from tensorframe.runtime.streaming.tiles import Tile, is_file
from tensorframe.schedule.blocks import Block, whole
from tensorframe.schedule.capture import capture
from tensorframe.schedule.cut import Cut, Obstacle, candidates, find_cut
from tensorframe.schedule.peak import growth
from tensorframe.schedule.plan import human_bytes
from tensorframe.schedule.tiles import part_of
from tensorframe.site import describe

# Bytes of a tile's leaves at least, and buffers that such tiles are read into: they stay in the processor's cache, few
# pages of memory are new to the process, and soon after the last tile is read it is computed. Who is late for a moment,
# the disk or a thread, holds nothing up.
ENOUGH, BUFFERS = 8 << 20, 3
# Bytes for each value that is cut, of which every tile records a node, and the most that this makes of a tile.
_EACH, _LARGEST = 1 << 19, 64 << 20
# Of a limit, what a leaf may take that is there as a whole beside the tiles.
_SMALL = 16
# The part of what is free, and the most bytes of it, that are left to kernels and the interpreter.
_SPARE, _MOST_SPARE = 4, 64 << 20
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
        if isinstance(stream, Obstacle):
            obstacles.append(stream)
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
        stream.peak = larger(stream.peak, more)
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


def _fitted(cut: Cut, room: Room, kept: Sequence[Node]) -> StreamPlan | Obstacle:
    """Return the stream with the largest tiles that fit, or why there is none."""
    place = sum(node.nbytes for node in cut.tiled if not node.inputs) / cut.places
    enough = max(ENOUGH, min(_EACH * len(cut.tiled), _LARGEST))
    rows = _multiple(int(enough / max(place, 1)), cut.grain)
    rows = min(rows, -(-cut.places // cut.grain) * cut.grain)
    buffers = BUFFERS
    while True:
        stream = Stream(cut, rows, find_wholes(cut, rows), buffers)
        planned = planned_stream(stream, kept)
        if isinstance(planned, StreamPlan):
            if _is_within(planned, room):
                return planned
            if buffers > FEWEST:
                buffers = FEWEST
                continue
        if rows == cut.grain:
            if isinstance(planned, Obstacle):
                return planned
            return Obstacle(cut.leaf, f"not even the smallest tiles along axis {cut.axis} fit")
        rows = _multiple(rows // 2, cut.grain)


def _multiple(rows: int, grain: int) -> int:
    return max(rows // grain, 1) * grain


def _is_within(planned: StreamPlan, room: Room) -> bool:
    """Whether a stream fits: what it takes, and a part of what there is for kernels and the interpreter."""
    for device, size in planned.peak.items():
        there = room(device)
        if size > there - min(there / _SPARE, _MOST_SPARE):
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
    """Return tiles of every form in a pass: the first, one between, the last ones, those at seams and after them."""
    last = stream.tiles - 1
    places = [0, 1, last // 2, last - 1, last]
    for low, high in stream.cut.seams():
        places += [low // stream.rows, high // stream.rows, high // stream.rows + 1]
    within = [min(max(place, 0), last) for place in places]
    tiles = [stream.tile(number, index) for index in dict.fromkeys(within)]
    return [tile for tile in tiles if tile.wanted]


def planned_stream(stream: Stream, kept: Sequence[Node]) -> StreamPlan | Obstacle:
    """Return a stream with what it takes: what its tiles do, values that are there as a whole, and results in memory.

    What keeps its tiles from having the bits of the whole is returned instead.
    """
    cut = stream.cut
    taken = Taken({}, 0, 0)
    for number in range(cut.count):
        of_pass = taken_by_pass(stream, number, _samples(stream, number))
        if isinstance(of_pass, Obstacle):
            return of_pass
        taken = taken.beside(of_pass)
    early = _growth([node for node in stream.wholes if not cut.passes[node]])
    peak, stays = larger(taken.peak, early), _stays(stream)
    _add(peak, dict.fromkeys([*kept, *stays]))
    # made when there are no tiles any more, beside what they are written to
    last = _growth(_made_of(stays, [root for root in cut.roots if root not in cut.tiled]))
    _add(last, [*kept, *stays])
    return StreamPlan(stream, taken.bytes_read, taken.tile_bytes, larger(peak, last))


def _stays(stream: Stream) -> dict[Node, None]:
    """Return what stays in memory beside tiles: what they need all of, what they leave, and what that is needed for."""
    cut = stream.cut
    needed = set(reachable([*cut.tiled, *cut.carried, *stream.wholes]))
    left = [node for node, number in cut.passes.items() if number and node not in cut.tiled]
    return dict.fromkeys([*stream.wholes, *[node for node in left if node in needed]])


def _add(peak: dict[Device, int], nodes: Iterable[Node]) -> None:
    """Add what some values take to what each memory has."""
    for node in nodes:
        home = home_of(node.device)
        peak[home] = peak.get(home, 0) + node.nbytes


def _made_of(stays: Collection[Node], roots: Sequence[Node]) -> list[Node]:
    """Return the roots that are still to be computed when all tiles are done, made of stand-ins for what stays."""
    made = {
        node: Node(DATA, (), (), node.shape, node.dtype, node.device, node.site) for node in stays
    }
    for node in reachable(roots):
        if node.storage is not None or not node.inputs:
            made.setdefault(node, node)
        elif node not in made:
            inputs = tuple([made[source] for source in node.inputs])
            made[node] = Node(
                node.op, inputs, node.attrs, node.shape, node.dtype, node.device, node.site
            )
    return [made[root] for root in roots if root not in stays]
