"""Tiles of a stream: which blocks of values each takes, and the forms of graphs and plans that tiles share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np

from tensorframe.backends.numpy.creation import generate
from tensorframe.errors import TensorFrameError
from tensorframe.graph.node import Node
from tensorframe.ops.creation import ARANGE, FILE
from tensorframe.quick_dataclasses import dataclass
from tensorframe.quick_tuples import NamedTuple
from tensorframe.rewrite.views import Window
from tensorframe.runtime.execution.executor import runner_of
from tensorframe.runtime.execution.precompilation import foresee_tile
from tensorframe.runtime.streaming.partial_aggregates import Array
from tensorframe.schedule.blocks import Block, whole
from tensorframe.schedule.capture import Capture
from tensorframe.schedule.cut import Cut
from tensorframe.schedule.plan import Plan
from tensorframe.schedule.tile_graph import Blocks, demanded


@dataclass(slots=True)
class Tile:
    """The places of the cut from `low` to `high` in one pass: blocks of all values, and of what is wanted."""

    low: int
    high: int
    wanted: dict[Node, Block]  # anchor -> the block of the tiled value that it takes
    blocks: Blocks  # of every value that is made or read

    def pairs(self) -> Iterator[tuple[Node, Block]]:
        """Yield every value with each of its blocks."""
        for node, blocks in self.blocks.items():
            for block in blocks:
                yield node, block


class Form(NamedTuple):
    """A plan that tiles of one form share, and a request that it was made for."""

    plan: Plan
    request: Capture

    def foresee(self, *, waits: bool) -> None:
        """Have its kernels made before a tile of the form is there; a caller who `waits` for one anyway compiles, too.

        What is wrong is raised by the tile.
        """
        with suppress(TensorFrameError):
            runner = runner_of(self.plan, self.request)
            foresee_tile([program for _, program, *_ in runner.actions], self.plan, waits=waits)


class TileGraph(NamedTuple):
    """What a tile computes: blocks of roots, what carried values take in, and totals that scans go on from."""

    results: dict[Node, Node]
    left: dict[Node, tuple[Node, ...]]
    running: dict[Node, Node]

    def nodes(self) -> list[Node]:
        """Return all of them."""
        parts = [part for parts in self.left.values() for part in parts]
        return [*self.results.values(), *parts, *self.running.values()]


def is_file(node: Node) -> bool:
    """Whether a node is an array in a file that has not been read."""
    return node.op is FILE and node.storage is None


def tile_of(cut: Cut, number: int, low: int, high: int, is_given: Callable[[Node], bool]) -> Tile:
    """Return what the places of the cut from `low` to `high` take in a pass."""
    wanted: dict[Node, Block] = {}
    for anchor in cut.anchors():
        if cut.pass_of(anchor) != number:
            continue
        node, way = cut.anchored(anchor)
        first, last = cut.owned(node, low, high)
        if first < last:
            shape = whole(node.shape)
            wanted[anchor] = (*shape[: way.axis], (first, last), *shape[way.axis + 1 :])
    needed = [(cut.anchored(anchor)[0], block) for anchor, block in wanted.items()]
    scans = {node: cut.owned(node, low, high) for node in cut.scans}
    return Tile(low, high, wanted, demanded(needed, is_given, scans))


def window_of(block: Block) -> Window:
    """Return a block as a window."""
    return Window.of_axes([(start, stop - start, 1) for start, stop in block])


def counted(node: Node, block: Block) -> Array:
    """Return a block of the values of an `arange`."""
    ((low, high),) = block
    start, step, first, stride = node.attrs
    attrs = (start + step * low, step, first, stride)
    if node.dtype.kind not in "iu":  # another start and step would round differently
        attrs = (start, step, first + stride * low, stride)
    part = Node(ARANGE, (), attrs, (high - low,), node.dtype, node.device, node.site)
    return np.asarray(generate(part))
