"""Streaming: a graph that does not fit into memory runs tile by tile along a cut, with the bits of a run in memory.

Tiles are graphs of their own with blocks of leaves for leaves, so all but the last share one plan. One thread reads the
next tile while this one is computed, another writes the last one (`files/ahead.py`). What is carried over tiles is
joined here; what needs it and tiles runs in another pass over the leaves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice

import numpy as np

from tensorframe.backends.host_pool import pool
from tensorframe.backends.numpy.threads import leaving
from tensorframe.files.ahead import FEWEST, ReadAhead, Wanted, WriteBehind
from tensorframe.files.sink import Sink
from tensorframe.graph.node import Node
from tensorframe.ops.creation import ARANGE
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.runtime.evaluate import evaluate
from tensorframe.runtime.streaming.partial_aggregates import (
    Array,
    Sampling,
    Total,
    host_values,
    leaf_of,
    total_of,
)
from tensorframe.runtime.streaming.tiles import (
    Form,
    Tile,
    TileGraph,
    counted,
    is_file,
    tile_of,
    window_of,
)
from tensorframe.schedule.blocks import Block, whole
from tensorframe.schedule.carry import scan_tile, total_at, total_dtype
from tensorframe.schedule.cut import Cut
from tensorframe.schedule.tile_graph import Given, build_tile, shown

# What a tile takes of files.
Files = Sequence[tuple[Node, Block]]


@dataclass(slots=True)
class Stream:
    """A graph that runs along a cut, in tiles of so many `rows` of it."""

    cut: Cut
    rows: int
    wholes: frozenset[Node]  # values that tiles need all of, which are computed between passes
    buffers: int = FEWEST  # that tiles are read into
    done: int = 0  # tiles
    totals: dict[Node, Total] = field(default_factory=dict)
    running: dict[Node, Node] = field(
        default_factory=dict
    )  # scan -> its total before the next tile
    # pass -> the forms of its tiles in the order in which these come, until it runs
    forms: dict[int, list[Form]] = field(default_factory=dict)

    @property
    def tiles(self) -> int:
        """How many tiles a pass has."""
        return -(-self.cut.places // self.rows)

    def is_given(self, node: Node) -> bool:
        """Whether a value is not made in tiles: it is a leaf, or there as a whole."""
        return node.storage is not None or not node.inputs or node in self.wholes

    def run(self, targets: Mapping[Node, Sink]) -> None:
        """Run all passes, and write every root to its target: block by block, or as a whole in the end."""
        for number in range(self.cut.count):
            self._compute_wholes(number)
            self._run_pass(number, targets)
        write_whole([root for root in self.cut.roots if root not in self.cut.tiled], targets)

    def _compute_wholes(self, number: int) -> None:
        due = [node for node in self.wholes if self.cut.passes[node] <= number]
        evaluate([node for node in due if node.storage is None], 0)

    def tile(self, number: int, index: int) -> Tile:
        """Return a tile of a pass."""
        low = index * self.rows
        high = min(low + self.rows, self.cut.places)
        return tile_of(self.cut, number, low, high, self.is_given)

    def _tiles(self, number: int) -> Iterator[Tile]:
        for index in range(self.tiles):
            tile = self.tile(number, index)
            if tile.wanted:
                yield tile

    def _wanted(self, number: int, read: deque[tuple[Tile, Files]]) -> Iterator[Wanted]:
        """Yield what the tiles of a pass take of files, and add each tile to those that are `read` before.

        With what it takes: another thread may compute a leaf meanwhile, which is a file no more then.
        """
        for tile in self._tiles(number):
            files = [(node, block) for node, block in tile.pairs() if is_file(node)]
            read.append((tile, files))
            yield [(node, window_of(block)) for node, block in files]

    def begin(self, number: int) -> None:
        """Carry nothing yet in a pass."""
        carried = self.cut.carried
        self.totals = {
            node: total_of(node, carried[node], self.cut.chunks.get(node))
            for node in self.cut.anchors()
            if node in carried and self.cut.pass_of(node) == number
        }
        self.running = {}

    def _run_pass(self, number: int, targets: Mapping[Node, Sink]) -> None:
        self.begin(number)
        forms = self.forms.pop(number, [])
        read: deque[tuple[Tile, Files]] = deque()  # or being read
        # of totals that are handed on, tiles have to know where the next one begins
        following = islice(self._tiles(number) if self.cut.scans else (), 1, None)
        with ExitStack() as stack:
            wanted = self._wanted(number, read)
            ahead = stack.enter_context(ReadAhead(wanted, self.buffers))
            behind = stack.enter_context(WriteBehind())
            if forms:  # while the first tile is read
                forms.pop(0).foresee(waits=True)
            for index, arrays in enumerate(ahead):
                (tile, files), upcoming = read.popleft(), next(following, None)
                # kernels on all cores would have the reader, and with it the disk, wait
                with leaving(1 if ahead.is_awaited else 0):
                    made = self._compute_tile(tile, upcoming, files, arrays)
                behind.write(
                    [
                        (targets[root], window_of(tile.wanted[root]), array)
                        for root, array in made.items()
                    ]
                )
                del made  # whose memory is free once it is written
                self.done += 1
                if forms and index:  # the first tiles are computed late: their buffers come first
                    forms.pop(0).foresee(waits=False)
        for node, total in self.totals.items():
            self._finish(node, total)

    def _finish(self, node: Node, total: Total) -> None:
        """Settle a carried value, after what follows from it and what it needs itself."""
        for other, result in total.followers():
            _settle(other, result)
        evaluate([need for need in total.needs() if need.storage is None], 0)
        _settle(node, total.result())

    def _compute_tile(
        self, tile: Tile, upcoming: Tile | None, files: Files, arrays: Sequence[Array]
    ) -> dict[Node, Array]:
        """Compute a tile, take in what it leaves of carried values, and return its blocks of the roots."""
        read = dict(zip(files, arrays, strict=True))

        def given(node: Node, block: Block) -> Node:
            if (node, block) in read:
                return leaf_of(read[node, block], node.device, node)
            if node.op is ARANGE and node.storage is None:
                return leaf_of(counted(node, block), node.device, node)
            return shown(node, block)

        looks = self.looks(tile, given)
        evaluate([sample for _, samples in looks for sample in samples], 0)
        for total, samples in looks:
            total.look(samples)
        graph = self.graph(tile, upcoming, given)
        evaluate(graph.nodes(), 0)
        for anchor, parts in graph.left.items():
            self.totals[anchor].take(parts, tile.wanted[anchor])
        self.running |= {node: _copied(total) for node, total in graph.running.items()}
        return {anchor: _apart(host_values(node), arrays) for anchor, node in graph.results.items()}

    def looks(self, tile: Tile, given: Given) -> list[tuple[Sampling, list[Node]]]:
        """Return what carried values look at before a tile is taken in."""
        wanting = [
            (total, self.cut.anchored(anchor)[0], tile.wanted[anchor])
            for anchor, total in self.totals.items()
            if anchor in tile.wanted and isinstance(total, Sampling)
        ]
        if not wanting:
            return []
        made = build_tile(tile.blocks, self.is_given, given, self.cut.scans, self._scan_alone)
        samples = []
        for total, node, block in wanting:
            samples.append((total, total.sample(made.shown(node, block))))
        return samples

    def _scan_alone(self, node: Node, operand: Node) -> Node:
        return scan_tile(node, operand, self._total_before(node))[0]

    def graph(
        self, tile: Tile, upcoming: Tile | None, given: Given, *, dry: bool = False
    ) -> TileGraph:
        """Return the graph of a tile, with leaves that are given; `upcoming` is the tile after it.

        A `dry` one is for a plan that is only made.
        """
        scans: dict[Node, Node] = {}

        def scan(node: Node, operand: Node) -> Node:
            made, scans[node] = scan_tile(node, operand, self._total_before(node))
            return made

        made = build_tile(tile.blocks, self.is_given, given, self.cut.scans, scan)
        results: dict[Node, Node] = {}
        left: dict[Node, tuple[Node, ...]] = {}
        for anchor, block in tile.wanted.items():
            node, _ = self.cut.anchored(anchor)
            inside = made.shown(node, block)
            if anchor in self.cut.carried:
                total = self.totals[anchor]
                left[anchor] = total.dry_left(inside) if dry else total.left(inside)
            else:
                results[anchor] = inside
        return TileGraph(results, left, self._totals_after(scans, tile, upcoming))

    def _total_before(self, node: Node) -> Node:
        """Return the running total of a scan before the tile."""
        if node in self.running:
            return self.running[node]
        (axis,) = node.attrs
        combination = node.op.combination
        assert combination is not None
        shape = (*node.shape[:axis], 1, *node.shape[axis + 1 :])
        dtype = total_dtype(node.dtype)
        return leaf_of(np.full(shape, combination.first(dtype), dtype), node.device, node)

    def _totals_after(
        self, scans: dict[Node, Node], tile: Tile, upcoming: Tile | None
    ) -> dict[Node, Node]:
        """Return the running totals that the next tile begins with."""
        after = {}
        for node, totals in scans.items():
            if upcoming is not None and node in upcoming.blocks:
                (axis,) = node.attrs
                (here,), (there,) = tile.blocks[node], upcoming.blocks[node]
                place = there[axis][0] - here[axis][0]
                after[node] = total_at(totals, axis, place)
        return after


def write_whole(roots: Sequence[Node], targets: Mapping[Node, Sink]) -> None:
    """Compute roots as ever, and write them."""
    evaluate([root for root in roots if root.storage is None], 0)
    for root in roots:
        targets[root].write(window_of(whole(root.shape)), host_values(root))


def _apart(array: Array, buffers: Sequence[Array]) -> Array:
    """Return an array that stays as it is while the next tile is read, and keeps no more memory than its own."""
    shares = any(np.may_share_memory(array, buffer) for buffer in buffers)
    base = array.base if isinstance(array.base, np.ndarray) else array
    if not shares and array.nbytes >= base.nbytes:
        return array
    apart = pool.empty(array.shape, array.dtype)
    apart[...] = array
    return apart


def _copied(total: Node) -> Node:
    """Return a running total apart from those of the places before it, which it would keep in memory."""
    return leaf_of(host_values(total).copy(), total.device, total)


def _settle(node: Node, result: Node) -> None:
    evaluate([result], 0)
    node.settle(result.storage)
