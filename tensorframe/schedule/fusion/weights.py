"""Fusion profitability: what an element of a node costs, and loops in which that exceeds a kernel of its own.

Fusing saves a store and a load of each element, and must not take more: arithmetic that several passes repeat,
that runs on one element at a time instead of on vectors, or in one thread instead of in all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING

from tensorframe.cached import cached_property
from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.op import Kind
from tensorframe.graph.space import Space
from tensorframe.machine import HOST
from tensorframe.ops.reduction import ARGMAX, ARGMIN
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.schedule.capture import is_leaf

if TYPE_CHECKING:
    from tensorframe.backends.base import Capabilities
    from tensorframe.schedule.fusion.group import Group

# Operations for an element from which it matters where they run, and those that a store and a load take.
_HEAVY, _STORED = 8.0, 16.0
# Operations that take as long as to start one kernel more.
_KERNEL = 1 << 17
# Elements from which one thread takes long: kernels have chunks then.
_LONG = 2 * HOST.row
# Elements of a row that the threads of a group of a GPU have memory for, at most.
_HELD = 1 << 14
_POSITIONS = frozenset({ARGMAX, ARGMIN})  # reductions in two passes, which take whole rows
_ELEMENTWISE = frozenset({Kind.MAP, Kind.VIEW, Kind.SOURCE})


@dataclass(slots=True)
class _Table:
    """Operations for an element of each node, from what is stored or reduced: shared out among its consumers.

    `flat` are nodes that loops of their own would compute on vectors, whatever their shape: nothing that they are made
    from has another shape. `own` leaves those out that are costly themselves: they need a place of their own.
    """

    total: dict[Node, float] = field(default_factory=dict)
    own: dict[Node, float] = field(default_factory=dict)
    flat: set[Node] = field(default_factory=set)
    uses: Counter[Node] = field(default_factory=Counter)

    @classmethod
    def of(cls, order: Sequence[Node]) -> _Table:
        """Return the weights of nodes, which come inputs first."""
        table = cls()
        table.uses.update([source for node in order for source in _once(node.inputs)])
        for node in order:
            table._add(node)
        return table

    def _add(self, node: Node) -> None:
        if is_leaf(node) or node.op.kind not in _ELEMENTWISE:
            self.total[node] = self.own[node] = 0.0
            return
        sources, total, is_flat, size = _once(node.inputs), node.op.cost, True, node.size
        for source in sources:
            weight = self.total.get(source)
            if weight:
                total += weight / self.uses[source]
            if is_flat and source.size != 1:
                is_flat = source.size == size and (source in self.flat or is_leaf(source))
        self.total[node] = self.own[node] = total
        if is_flat:
            self.flat.add(node)
            return
        rest = [
            source for source in sources if source not in self.flat or self.own[source] < _HEAVY
        ]
        shares = [self.own.get(source, 0.0) / self.uses[source] for source in rest]
        self.own[node] = node.op.cost + sum(shares)


def _once(inputs: tuple[Node, ...]) -> Iterable[Node]:
    """Return each input once: of one or two different ones, which most nodes have, these themselves."""
    if len(inputs) < 2 or (len(inputs) == 2 and inputs[0] is not inputs[1]):
        return inputs
    return dict.fromkeys(inputs)


class Weights:
    """What the nodes of a graph weigh, which come inputs first; found out when it first matters: see `_Table`."""

    def __init__(self, order: Sequence[Node] = ()) -> None:
        self._order = order

    @cached_property
    def _table(self) -> _Table:
        return _Table.of(self._order)

    def own(self, node: Node) -> float:
        """Return the operations for an element of a node, without costly ones of another shape that it is made from."""
        return self._table.own.get(node, 0.0)

    def is_flat(self, node: Node) -> bool:
        """Whether loops of its own would compute a node on vectors, whatever their shape."""
        return node in self._table.flat

    def is_little(self, node: Node) -> bool:
        """Whether all elements of a node take less than a kernel of their own would."""
        return node.op.kind is not Kind.SCAN and self.own(node) * node.size < _KERNEL

    def is_light(self, node: Node, most: float) -> bool:
        """Whether making a node several times takes few operations, beside nodes that are stored for others anyway."""
        total, uses = self._table.total, self._table.uses
        heavy = [source for source in dict.fromkeys(node.inputs) if total.get(source, 0.0) > most]
        return total[node] <= most or all(uses[source] > 1 for source in heavy)


def misfit(node: Node, group: Group, space: Space, capabilities: Capabilities) -> str | None:
    """Return why computing `node` in the loops of a group, at its place in `space`, costs more than apart, or None."""
    if not space.reduced or group.weights.is_little(node) or not space.axes_of(node):
        return None
    loop = _innermost(node, space)
    inside, row_by_row = loop in space.reduced, capabilities.row_by_row
    if node.op.kind is Kind.SCAN:
        weight = sum([member.op.cost for member in group.nodes if member.size == node.size])
        if weight * node.size < _KERNEL:
            return None
        return _badly_run(weight, loop, space, vectors=row_by_row, serial=True)
    weight = group.weights.own(node)
    passes = 1 if (inside and row_by_row) or weight < _HEAVY else _passes(node, group)
    if weight * (passes - 1) >= _STORED:
        return f"each of {passes} passes would compute it again"
    serial = any(member.op.kind is Kind.SCAN or member.op in _POSITIONS for member in group.nodes)
    # groups share out rows that none of them has memory for
    row = prod([space.sizes[axis] for axis in space.reduced])
    if not (capabilities.long_rows and row > _HELD):
        serial = serial or waits_for_reductions(group, space)
    vectors = row_by_row and group.weights.is_flat(node)
    return _badly_run(weight, loop, space, vectors=vectors, serial=serial)


def _badly_run(
    weight: float, loop: int, space: Space, *, vectors: bool, serial: bool
) -> str | None:
    """Return why so many operations for an element take longer in these loops, of which `loop` is the innermost."""
    if weight < _HEAVY:
        return None
    inside = loop in space.reduced
    row = prod([space.sizes[axis] for axis in space.reduced])
    rows = prod([space.sizes[axis] for axis in space.kept])
    length = row if inside else space.sizes[loop]
    if vectors and length < HOST.vector:
        return f"loops of {length} elements are too short for vectors"
    units = rows if inside else rows // length * -(-length // HOST.columns)
    if serial and units < HOST.units and row * rows > _LONG:
        return f"only {units} threads could compute it in these loops"
    return None


def _innermost(node: Node, space: Space) -> int:
    """Return the loop along which neighbours in a node are, if it is stored in C order."""
    terms = next(access.terms for access in reversed(space.maps[node]) if access.terms)
    return min(terms, key=lambda term: abs(term[1]))[0]


def waits_for_reductions(group: Group, space: Space) -> bool:
    """Whether elements along the reduced loops are made of what these give: then one thread takes a whole row."""
    after = {member for member in group.nodes if member.op.kind is Kind.REDUCE}
    for member in sorted(group.nodes, key=by_serial):
        if member in after or after.isdisjoint(group.operands(member)):
            continue
        if not space.axes_of(member).isdisjoint(space.reduced):
            return True
        after.add(member)
    return False


def _passes(node: Node, group: Group) -> int:
    """Return how many passes of a group need the elements of `node`: those of its reductions, and the last one."""
    needed: dict[Node, set[int]] = {}

    def collected(source: Node) -> set[int]:
        sums: set[int] = set()
        for consumer, _ in group.edges.get(source, ()):
            before = needed.get(consumer, {0})
            if consumer.op.kind is Kind.REDUCE:
                first = 1 + max(before)
                sums |= {first, first + 1} if consumer.op in _POSITIONS else {first}
            else:
                sums |= before
        return sums

    # counted from the last pass; a result that is reduced itself is there after all of them
    for member in sorted(group.nodes, key=lambda member: -member.serial):
        needed[member] = (collected(member) or {0}) | ({0} if member in group.outputs else set())
        if member is group.sink and member.op.kind is Kind.REDUCE:
            needed[member] = {-1}
    return len(collected(node))
