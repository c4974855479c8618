"""Cuts: whether a graph can run tile by tile along an axis of a leaf, and what each of its values is then.

Forwards from the leaf, every value is one of these:

    tiled      it goes along with the cut: a tile of it is made of tiles of its operands, with a margin where it looks
               at neighbours; scans among them hand their total on from tile to tile
    carried    a reduction over the cut: each tile leaves something, which is joined (`tiles.join_of`)
    whole      it does not depend on the cut, or on carried values alone
    blocking   it needs more of a tiled value than a tile: then there is no such cut, and the reason is returned

What needs a carried value and a tile runs in a *pass* after the one that carries: leaves are read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import ceil, gcd, lcm, prod

from tensorframe.dtypes import COMPLEX, FLOATING
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.creation import ARANGE, CONSTANT
from tensorframe.ops.indexing import SET_SLICE
from tensorframe.ops.movement import CONCAT, EXPAND, RESHAPE, SLICE, WINDOWS
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.quick_tuples import NamedTuple
from tensorframe.schedule.blocks import Interval
from tensorframe.schedule.moments import Chunks, distances_of, one_pass_sums
from tensorframe.schedule.tiles import How, Join, followed, join_of, narrowed, rounds_by_shape

# Joints of values at which tiles are looked at.
_MOST_SEAMS = 16
# The part of a value in memory from which on a slice of it is looked at as a whole.
_PART = 16


class Along(NamedTuple):
    """How a value goes along with the cut: by which axis, and how many of its places are one of the cut's."""

    axis: int
    rate: Fraction


class Obstacle(NamedTuple):
    """Why a graph cannot be cut: what is blocking, and the reason."""

    node: Node
    reason: str


@dataclass(slots=True)
class Cut:
    """What the values of a graph are where it is cut along an axis of a leaf of so many `places`."""

    leaf: Node
    axis: int
    places: int
    roots: tuple[Node, ...]
    tiled: dict[Node, Along] = field(default_factory=dict)
    carried: dict[Node, Join] = field(default_factory=dict)
    scans: set[Node] = field(default_factory=set)
    passes: dict[Node, int] = field(default_factory=dict)  # the first in which a value can be had
    # carried value -> the tiled value that it is made of; of those that follow from another one, that one
    taken: dict[Node, Node] = field(default_factory=dict)
    chunks: dict[Node, Chunks] = field(default_factory=dict)
    rounded: list[Node] = field(
        default_factory=list
    )  # matmuls whose last digits are those of tiles
    grain: int = 1  # tiles are multiples of so many places, but for the last one

    @property
    def count(self) -> int:
        """How many passes there are."""
        return 1 + max(self.pass_of(node) for node in self.anchors())

    def concerns(self, root: Node) -> bool:
        """Whether a root goes along with the cut, or is made of what tiles leave."""
        return root in self.tiled or self.passes[root] > 0

    def anchors(self) -> list[Node]:
        """Return what tiles are made for: the roots that are tiled, and the carried values."""
        carried = [node for node, join in self.carried.items() if join.how is not How.FOLLOWED]
        return [*[root for root in dict.fromkeys(self.roots) if root in self.tiled], *carried]

    def anchored(self, anchor: Node) -> tuple[Node, Along]:
        """Return the tiled value that an anchor takes tiles of, itself or its operand, and how it goes along."""
        node = self.taken.get(anchor, anchor)
        return node, self.tiled[node]

    def pass_of(self, anchor: Node) -> int:
        """Return the number of the pass that makes a tiled root or a carried value."""
        return self.passes[self.taken.get(anchor, anchor)]

    def seams(self) -> list[Interval]:
        """Return places of the cut at which tiled values end, are joined or replaced: tiles there are unlike others.

        Where such values are looked at with a shift, they are not there to the place: tiles beside them count, too.
        """
        places = []
        for node, way in map(self.anchored, self.anchors()):
            last = ceil(node.shape[way.axis] / way.rate) - 1
            if 0 <= last < self.places - 1:  # shorter than what is cut
                places.append((max(last - 1, 0), last))
        for node, way in self.tiled.items():
            for joint in _joints(node, way.axis):
                place = min(int(joint / way.rate), self.places - 1)
                places.append((max(place - 1, 0), place))
        return places[:_MOST_SEAMS]

    def owned(self, node: Node, low: int, high: int) -> Interval:
        """Return which places of a tiled value belong to the places of the cut from `low` to `high`."""
        size = node.shape[self.tiled[node].axis]
        rate = self.tiled[node].rate
        first, last = min(ceil(low * rate), size), min(ceil(high * rate), size)
        return (first, size if high >= self.places else last)


def _joints(node: Node, axis: int) -> list[int]:
    """Return the places along an axis at which what a value is made of changes."""
    inputs = _inputs(node)
    if node.op is CONCAT and node.attrs[0] == axis and inputs:
        return list(accumulate([source.shape[axis] for source in inputs[:-1]]))
    if node.op is SET_SLICE and inputs:
        start, size, step = [given[axis] for given in node.attrs]
        last = start + (size - 1) * step
        return [min(start, last), max(start, last) + 1] if size else []
    return []


def find_cut(
    roots: Sequence[Node],
    leaf: Node,
    axis: int,
    *,
    ordered: Callable[[Device], bool],
    small: int,
    rounds: bool = False,
) -> Cut | Obstacle:
    """Return what each value is where `leaf` is cut along `axis`, or why that cannot be.

    `ordered` says whether a device adds in the order of kernel/ir/order.py. Other leaves are cut with this one where
    they are larger than `small` bytes. Matmuls of floats are cut only where `rounds` lets their last digits differ.
    """
    order = reachable(roots)
    chunks = one_pass_sums(roots)
    seeds = {leaf: Along(axis, Fraction(1))}
    while True:
        cut = _forwards(order, roots, seeds, leaf, ordered, chunks, rounds=rounds)
        if isinstance(cut, Obstacle):
            return cut
        sources = _sources(order, cut, small)
        if isinstance(sources, Obstacle):
            return sources
        if sources.keys() <= seeds.keys():
            break
        seeds |= sources
    if not cut.anchors():
        return Obstacle(leaf, "nothing that is computed goes along with it")
    ways = [(node.shape[way.axis], way.rate) for node, way in map(cut.anchored, cut.anchors())]
    cut.places = max([ceil(size / rate) for size, rate in ways])
    cut.grain = _grain(cut)
    return cut


def _forwards(
    order: Sequence[Node],
    roots: Sequence[Node],
    seeds: dict[Node, Along],
    leaf: Node,
    ordered: Callable[[Device], bool],
    chunks: dict[Node, Chunks],
    *,
    rounds: bool,
) -> Cut | Obstacle:
    axis = seeds[leaf].axis
    cut = Cut(leaf, axis, leaf.shape[axis], tuple(roots), chunks=chunks)
    for node in order:
        cut.passes[node] = max([cut.passes[source] for source in _inputs(node)], default=0)
        if node in seeds:
            cut.tiled[node] = seeds[node]
            continue
        operands = [
            (number, cut.tiled[source])
            for number, source in enumerate(_inputs(node))
            if source in cut.tiled
        ]
        if not operands or _is_small_view(node):
            continue
        reason = _go_along(cut, node, operands, ordered, rounds=rounds)
        if reason:
            return Obstacle(node, reason)
    return cut


def _is_small_view(node: Node) -> bool:
    """Whether a value is a small part of what lies in memory, which is there for every tile."""
    source = node.inputs[0]
    return node.op is SLICE and source.storage is not None and node.nbytes * _PART < source.nbytes


def _inputs(node: Node) -> tuple[Node, ...]:
    return () if node.storage is not None else node.inputs


def _go_along(
    cut: Cut,
    node: Node,
    operands: list[tuple[int, Along]],
    ordered: Callable[[Device], bool],
    *,
    rounds: bool,
) -> str:
    """Settle what a value is some of whose operands are tiled; return why there is no cut, or nothing."""
    op, attrs = node.op, node.attrs
    first = operands[0][1]
    if op.kind is Kind.REDUCE and first.axis in attrs[0]:
        return _carry(cut, node, first.axis, ordered)
    if op.kind is Kind.SCAN and attrs[0] == first.axis:
        if node.dtype in FLOATING and not ordered(node.device):
            return f"{node.device} accumulates in an order that needs all elements at once"
        if node.dtype in COMPLEX and op.name != "cumulative_sum":
            return "products of complex numbers are not handed on from tile to tile"
        cut.tiled[node] = first
        cut.scans.add(node)  # its total is handed on
        return ""
    if op is MATMUL and node.dtype in FLOATING and rounds:
        cut.rounded.append(node)
    elif rounds_by_shape(op) and (op is not MATMUL or node.dtype in FLOATING):
        return "its bits depend on the whole shape"
    shapes = [source.shape for source in node.inputs]
    ways = set()
    for number, along in operands:
        axis = followed(op, attrs, shapes, node.shape, number, along.axis)
        if axis is None:
            return "it needs more of an operand than a tile"
        if op is SLICE and attrs[2][along.axis] < 0:
            return "it goes backwards along the cut"
        ways.add(Along(axis, along.rate * _rate(node, number, along.axis, axis)))
    if len(ways) > 1:
        return "its operands go along with the cut in different ways"
    cut.tiled[node] = ways.pop()
    return ""


def _carry(cut: Cut, node: Node, axis: int, ordered: Callable[[Device], bool]) -> str:
    """Settle how a reduction over the cut is carried; return why it cannot be, or nothing."""
    source = node.inputs[0]
    leader = next((follower for follower, how in cut.chunks.items() if how.followed is node), None)
    if leader is not None:
        cut.carried[node] = Join(How.FOLLOWED)
        cut.passes[node] += 1
        cut.taken[node] = leader
        return ""
    join = join_of(node.op, source.dtype, node.attrs, source.shape, axis)
    if isinstance(join, str):
        return join
    if join.how is How.PIECES and not ordered(node.device):
        return f"{node.device} adds in an order that needs all elements at once"
    if node in cut.chunks:
        distances = distances_of(node)
        assert distances is not None
        source, mean = distances.inputs
        along = [place for place in sorted(node.attrs[0]) if source.shape[place] != 1]
        length = cut.chunks[node].length
        if not length or source.shape != distances.shape or source not in cut.tiled:
            return "it is computed in one pass over chunks that are not cut"
        if cut.passes[mean] > cut.passes[source] + 1:
            return "what its distances are taken from is known too late"
        rest = prod([source.shape[place] for place in along[1:]])
        grain = length // gcd(length, rest)
        join = join._replace(how=How.MOMENTS, grain=grain, length=length)
        cut.passes[node] = cut.passes[source]
    cut.carried[node] = join
    cut.passes[node] += 1
    cut.taken[node] = source
    return ""


def _rate(node: Node, number: int, source: int, target: int) -> Fraction:
    """Return how many places of the result's axis one of the operand's is."""
    if node.op is SLICE:
        return Fraction(1, abs(node.attrs[2][target]))
    if node.op is WINDOWS and node.attrs[0] == target:
        return Fraction(1, node.attrs[2])
    if node.op is RESHAPE:
        return Fraction(node.shape[target], node.inputs[number].shape[source])
    return Fraction(1)


def _sources(order: Sequence[Node], cut: Cut, small: int) -> dict[Node, Along] | Obstacle:
    """Return the large leaves, and the generators, that tiled values look at tile by tile."""
    along = dict(cut.tiled)
    chunks: dict[Node, Along] = {}
    for node in reversed(order):
        way = along.get(node)
        if way is None or not _inputs(node):
            if way is not None and (node.nbytes > small or node.op is ARANGE):
                chunks[node] = way
            continue
        shapes = [source.shape for source in node.inputs]
        for number, source in enumerate(node.inputs):
            if source in cut.tiled or cut.passes[source]:
                continue
            narrow = narrowed(node.op, node.attrs, shapes, node.shape, number, way.axis)
            if len(narrow) != 1:
                continue
            (axis,) = narrow
            there = Along(axis, way.rate / _rate(node, number, axis, way.axis))
            if along.setdefault(source, there) != there and source.nbytes > small:
                return Obstacle(node, "its operands go along with the cut in different ways")
    return chunks


def _grain(cut: Cut) -> int:
    """Return of how many places tiles are multiples: of whole places of all values, and of the pieces of sums."""
    grain = 1
    for node in cut.anchors():
        join = cut.carried.get(node)
        _, way = cut.anchored(node)
        least = (1 if join is None else join.grain) * way.rate.denominator
        grain = lcm(grain, least // gcd(least, way.rate.numerator))
    return grain


def candidates(
    roots: Sequence[Node], is_file: Callable[[Node], bool]
) -> Iterable[tuple[Node, int]]:
    """Yield the leaves and axes along which a graph may be cut, the best first.

    The largest leaf comes first, those in files before others, and its leading axis, or of a file the one along which
    parts lie together.
    Values that are made from nothing can be cut too.
    """
    order = reachable(roots)
    leaves = [
        node
        for node in order
        if node.shape
        and (
            (node.op is not CONSTANT and not _inputs(node))
            or (node.op is EXPAND and not node.inputs[0].shape)
        )
    ]
    leaves.sort(key=lambda node: (not is_file(node), bool(_inputs(node)), -node.nbytes))
    for leaf in leaves:
        for axis in leaf.attrs[0].axes if is_file(leaf) else range(len(leaf.shape)):
            if leaf.shape[axis] > 1:
                yield leaf, axis
