"""What a stream takes of each memory while it runs: tiles that are read, computed and written, and what is carried.

Three tiles are under way at once: one is read while one is computed and one written. What a tile takes is the most of
three moments: while carried values look at samples of it, while its plan runs, and while carried values take in what
it leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, prod

from tensorframe.backends.registry import backend_of, capabilities
from tensorframe.files.ahead import ALIGNED
from tensorframe.files.windows import picked_bytes
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.node import Node
from tensorframe.ops.creation import ARANGE, DATA
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.evaluate import plan_of
from tensorframe.runtime.streaming.tiled_execution import Stream
from tensorframe.runtime.streaming.tiles import Form, Tile, TileGraph, is_file, window_of
from tensorframe.schedule.blocks import Block, extents
from tensorframe.schedule.capture import Capture, capture
from tensorframe.schedule.cut import Cut, Obstacle
from tensorframe.schedule.moments import chunks_in
from tensorframe.schedule.peak import growth, memory_of_views
from tensorframe.schedule.plan import Plan
from tensorframe.schedule.tile_graph import shown


class Taken(NamedTuple):
    """What passes take: the most bytes of each memory, of the leaves that are cut in one tile, and what is read."""

    peak: dict[Device, int]
    tile_bytes: int
    bytes_read: int

    def beside(self, other: Taken) -> Taken:
        """Return what two passes take, one after the other."""
        return Taken(
            larger(self.peak, other.peak),
            max(self.tile_bytes, other.tile_bytes),
            self.bytes_read + other.bytes_read,
        )


def larger(first: dict[Device, int], other: dict[Device, int]) -> dict[Device, int]:
    """Return the larger bytes of each memory."""
    return {
        device: max(first.get(device, 0), other.get(device, 0)) for device in {**first, **other}
    }


def home_of(device: Device) -> Device:
    """Return the device that stands for a device's memory: tasks in blocks may run in this process."""
    if capabilities(device).host_memory:
        return CPU
    budget = backend_of(device).budget(device)
    return CPU if budget is not None and budget is backend_of(CPU).budget(CPU) else device


def taken_by_pass(stream: Stream, number: int, tiles: Sequence[Tile]) -> Taken | Obstacle:
    """Return what a pass takes, known from tiles of each form that it has, or why these have bits of their own."""
    cut, taken = stream.cut, Taken({CPU: 0}, 0, 0)
    reads: dict[Node, None] = {}
    buffers = min(stream.buffers, stream.tiles)
    # buffers of the largest tile stay for all others
    read = max([_to_be_read(tile, buffers) for tile in tiles], default=0)
    planned = _PlannedTiles(stream, number)
    for tile in tiles:
        before = stream.tile(number, max(tile.low // stream.rows - 1, 0))
        after = _after(stream, number, tile) or tile
        scan = _left_behind(cut, before, tile) or _left_behind(cut, tile, after)
        if scan is not None:
            return Obstacle(
                scan, "tiles need its running totals in another order than they make them"
            )
        graph, plan, results = planned[tile.low]
        made = [node for node in cut.chunks if node in tile.blocks and node in cut.tiled]
        if chunks_in(plan) != sorted([cut.chunks[node].length for node in made]):
            reason = "kernels of tiles would add in other chunks than those of the whole"
            return Obstacle(next(iter(made), cut.leaf), reason)
        reads |= dict.fromkeys([node for node in tile.blocks if is_file(node)])
        peak = _of_plan(stream, plan, graph, results)
        peak = larger(peak, _of_samples(stream, tile))
        peak[CPU] = peak.get(CPU, 0) + read + planned.written_meanwhile(tile)
        peak[CPU] += sum(root.nbytes for root in graph.running.values())
        peak[CPU] += sum(
            stream.totals[anchor].kept(left, stream.tiles) for anchor, left in graph.left.items()
        )
        bytes_of_cut = _bytes_of(tile, lambda node: not node.inputs and node in cut.tiled)
        taken = taken.beside(Taken(peak, bytes_of_cut, 0))
    stream.forms[number] = planned.forms()
    return taken._replace(bytes_read=sum(node.nbytes for node in reads))


def _left_behind(cut: Cut, tile: Tile, after: Tile) -> Node | None:
    """Return a scan of which a tile does not have the total that the next one begins with, if there is one.

    Parts of a scan may be joined in another order, or with others between them.
    """
    for node in cut.scans:
        if node in after.blocks:
            (axis,) = node.attrs
            (there,) = after.blocks[node]
            start = tile.blocks[node][0][axis][0] if node in tile.blocks else inf
            begin, _ = there[axis]
            if begin < start and (begin or start < inf):  # at 0 there is no total before
                return node
    return None


class _PlannedTiles(dict[int, tuple[TileGraph, Plan, "_Results"]]):
    """The graphs and plans of a pass's tiles, by the places where these begin; each is made when it is needed."""

    def __init__(self, stream: Stream, number: int) -> None:
        super().__init__()
        self._stream, self._number = stream, number
        self._requests: dict[int, Capture] = {}  # place -> what its plan was made for

    def __missing__(self, low: int) -> tuple[TileGraph, Plan, _Results]:
        stream = self._stream
        tile = stream.tile(self._number, low // stream.rows)
        stream.begin(self._number)
        after = _after(stream, self._number, tile)
        graph = stream.graph(tile, after, _given(stream), dry=True)
        request = capture(graph.nodes(), keep_held=False)
        self._requests[low] = request
        plan = plan_of(request)
        results = _Results(plan, dict(zip(request.wanted, plan.outputs, strict=True)), graph)
        planned = self[low] = graph, plan, results
        return planned

    def forms(self) -> list[Form]:
        """Return the plans of the tiles, each once, in the order in which tiles need them."""
        plans = {id(self[low][1]): Form(self[low][1], self._requests[low]) for low in sorted(self)}
        return list(plans.values())

    def written_meanwhile(self, tile: Tile) -> int:
        """Return the bytes of results that are written while a tile is computed: those of the tile before it.

        Where that one makes nothing it is an earlier one, which is taken to be like the tile itself.
        """
        before = tile.low - self._stream.rows
        if before < 0:
            return 0
        is_made = self._stream.tile(self._number, before // self._stream.rows).wanted
        _, _, results = self[before if is_made else tile.low]
        return results.written


def _after(stream: Stream, number: int, tile: Tile) -> Tile | None:
    """Return the tile after one, which scans go on in; None after the last."""
    following = tile.high // stream.rows
    return (
        stream.tile(number, following)
        if stream.cut.scans and tile.high < stream.cut.places
        else None
    )


class _Results:
    """What the results of a tile take of the host's memory: those of a plan, downloads, and copies.

    `copied` are bytes of results that look at what the next tile is read into, or at much more, of totals that scans go
    on from, and of what is downloaded; `written` are the bytes that stay until the results are written.
    """

    def __init__(self, plan: Plan, slots: Mapping[Node, int], graph: TileGraph) -> None:
        roots = memory_of_views(plan)
        stays: dict[int, int] = {}
        self.copied = 0
        for slot in [slots[node] for node in graph.results.values()]:
            nbytes, root = plan.slots[slot].nbytes, roots.get(slot, slot)
            there = plan.slots[root].nbytes
            is_here = home_of(plan.slots[slot].device) is CPU
            if is_here and root >= plan.leaves and nbytes >= there:
                stays[root] = there
            else:
                self.copied += nbytes
        self.written = self.copied + sum(stays.values())
        self.copied += sum(node.nbytes for node in graph.running.values())


def _of_plan(stream: Stream, plan: Plan, graph: TileGraph, results: _Results) -> dict[Device, int]:
    """Return what the plan of a tile takes, and what taking in what it leaves does while its results are there."""
    peak = _growth(plan)
    there: dict[Device, int] = {CPU: 0}
    roots = memory_of_views(plan)
    for slot in dict.fromkeys([roots.get(slot, slot) for slot in plan.outputs]):
        if slot >= plan.leaves:
            home = home_of(plan.slots[slot].device)
            there[home] = there.get(home, 0) + plan.slots[slot].nbytes
    joining = [stream.totals[anchor].scratch(left) for anchor, left in graph.left.items()]
    there[CPU] += max([*joining, results.copied])
    return larger(peak, there)


def _of_samples(stream: Stream, tile: Tile) -> dict[Device, int]:
    """Return what carried values take to look at samples of a tile before it is taken in."""
    looks = stream.looks(tile, _given(stream))
    nodes = [sample for _, samples in looks for sample in samples if sample.inputs]
    if not nodes:
        return {}
    peak = _growth(plan_of(capture(nodes, keep_held=False)))
    peak[CPU] = peak.get(CPU, 0) + max(total.looking(samples) for total, samples in looks)
    return peak


def _growth(plan: Plan) -> dict[Device, int]:
    """Return by how much each memory grows at most while a plan runs; devices of the host's share one."""
    grown: dict[Device, int] = {}
    for device, (nbytes, _) in growth(plan).items():
        home = home_of(device)
        grown[home] = grown.get(home, 0) + nbytes
    return grown


def _to_be_read(tile: Tile, buffers: int) -> int:
    """Return what a tile's leaves take of the host's memory, which are read into some buffers, one after the other."""
    files = [(leaf, block) for leaf, block in tile.pairs() if is_file(leaf)]
    scratch = max([_to_read(leaf, block) for leaf, block in files], default=0)
    read = sum(-(-_nbytes(leaf, block) // ALIGNED) * ALIGNED for leaf, block in files)
    counted = _bytes_of(tile, lambda node: node.op is ARANGE and node.storage is None)
    return buffers * read + scratch + counted


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


def _nbytes(node: Node, block: Block) -> int:
    return prod(extents(block)) * node.dtype.itemsize


def _given(stream: Stream) -> Callable[[Node, Block], Node]:
    """Return what stands for the leaves of tiles in plans that are only made."""

    def given(node: Node, block: Block) -> Node:
        if node.storage is not None:
            return shown(node, block)
        if node in stream.wholes:
            inside = Node(DATA, (), (), node.shape, node.dtype, node.device, node.site)
            return shown(inside, block)
        if is_file(node) or node.op is ARANGE:
            return Node(DATA, (), (), extents(block), node.dtype, node.device, node.site)
        return shown(node, block)

    return given
