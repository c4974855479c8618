"""Fusion: which nodes run together, with the reason wherever two do not.

A group grows backwards from its last op, the sink. The sink's shape gives the loops, and every node that joins has its
elements somewhere in them (`kernel/space.py`); a reduction adds loops of its own, or runs along loops that its result
broadcasts back to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from math import prod
from operator import attrgetter

from tensorframe.backends.base import Capabilities
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, by_serial, reachable
from tensorframe.graph.op import Kind
from tensorframe.kernel.deviations import chain_of
from tensorframe.kernel.follow import follow
from tensorframe.kernel.space import Map, Space
from tensorframe.kernel.support import computable
from tensorframe.schedule.capture import is_leaf

CapabilitiesOf = Callable[[Device], Capabilities]
Edge = tuple[Node, int]  # a consumer, and the number of one of its operands

# Elements of a row that passes may go over several times: it has to stay in the cache.
_LONGEST_ROW = 1 << 16
# What several groups compute, each for itself, rather than store and load: ops in a row, and their cost per element.
_RECOMPUTED_OPS = 4
_RECOMPUTED_COST = 1.0
# The part of a tensor that is replaced in place rather than in a loop over the whole: one in so many elements.
_SMALL_PART = 2
# Places of the loops at which what computes nothing is repeated.
_MOST_PLACES = 8
# Nodes to look at for a reduction that a value of a row comes from.
_LOOKAHEAD = 16


@dataclass(slots=True, eq=False)
class Group:
    """Nodes that one step computes, grown backwards from the `sink` that everything else in it leads to.

    `space` is None where the sink is no loop, which `alone` gives the reason for: nothing joins it then.
    """

    sink: Node
    nodes: list[Node]
    inputs: dict[Node, None] = field(default_factory=dict)
    # operand -> where the nodes read it
    edges: dict[Node, dict[Edge, None]] = field(default_factory=dict)
    # input -> why it is not part of the group
    refusals: dict[Node, str] = field(default_factory=dict)
    space: Space | None = None
    alone: str = ""
    # operand -> why it cannot be in the loops
    blocked: dict[Edge, str] = field(default_factory=dict)
    # operand -> the copy of it that is at its consumer's place of the loops
    copies: dict[Edge, Node] = field(default_factory=dict)
    # node -> its copies, each with the operands that it stands for
    repeats: dict[Node, dict[Node, list[Edge]]] = field(default_factory=dict)
    # nodes whose values are needed besides
    outputs: set[Node] = field(default_factory=set)
    # what may be admitted next: the space with it, and which of its operands are blocked there
    candidate: tuple[Node, Space, dict[Edge, str]] | None = None

    def copy(self) -> Group:
        """Return a group that changes apart from this one."""
        return Group(
            self.sink,
            list(self.nodes),
            dict(self.inputs),
            {source: dict(edges) for source, edges in self.edges.items()},
            dict(self.refusals),
            None if self.space is None else self.space.copy(),
            self.alone,
            dict(self.blocked),
            dict(self.copies),
            dict(self.repeats),
            set(self.outputs),
        )

    def become(self, other: Group) -> None:
        """Take over everything from a group that began as a copy of this one."""
        for one in fields(other):
            setattr(self, one.name, getattr(other, one.name))

    def operands(self, node: Node) -> list[Node]:
        """Return the operands of a node of the group, or their copies at its place."""
        return [self.copies.get((node, at), source) for at, source in enumerate(node.inputs)]

    def admit(self, node: Node) -> None:
        """Make `node`, whose place in the loops is known, a part of the group, and copies of it at other places."""
        self.inputs.pop(node, None)
        repeats = self.repeats.get(node, {})
        for same, edges in repeats.items():
            self.copies.update(dict.fromkeys(edges, same))
        for one in (node, *repeats):
            self._include(one)
        if self.candidate is not None and self.candidate[0] is node:
            _, self.space, blocked = self.candidate
            self.blocked.update(blocked)
        elif self.space is not None:
            self.blocked.update(_followed(self.space, (node, *repeats)))
        self.candidate = None

    def _include(self, node: Node) -> None:
        if node is not self.sink:
            self.nodes.append(node)
        for at, source in enumerate(node.inputs):
            if source not in self.inputs:
                self.inputs[source] = None
            self.edges.setdefault(source, {})[node, at] = None


def _followed(space: Space, nodes: Iterable[Node]) -> dict[Edge, str]:
    """Find the maps of the operands of nodes that have theirs; return why operands have none, or only to be read."""
    blocked = {}
    for node in nodes:
        shapes = [source.shape for source in node.inputs]
        for at, reason in enumerate(follow(space, node, node.op, node.attrs, shapes)):
            if reason is not None:
                blocked[node, at] = reason
    return blocked


def grow_regions(
    roots: Sequence[Node], capabilities_of: CapabilitiesOf, *, enabled: bool = True
) -> list[Group]:
    """Return groups that cover the graph, in an order in which they can run."""
    order = [node for node in reachable(roots) if not is_leaf(node)]
    growing = _Growing(frozenset(roots), capabilities_of, enabled)
    for node in reversed(order):
        growing.place(node)
    for group in growing.groups:
        group.nodes.sort(key=by_serial)
    growing.groups.reverse()
    return growing.groups


class _Growing:
    """Groups while they grow; nodes are placed consumers first."""

    def __init__(
        self, wanted: frozenset[Node], capabilities_of: CapabilitiesOf, enabled: bool
    ) -> None:
        self.groups: list[Group] = []
        self._wanted = wanted
        self._capabilities_of = capabilities_of
        self._enabled = enabled
        self._users: dict[Node, dict[Group, None]] = {}
        self._recomputed: dict[
            Node, int
        ] = {}  # node -> how many ops after it are computed several times too

    def place(self, node: Node) -> None:
        """Make `node` a part of the groups that use it, or the sink of a group of its own."""
        users = list(self._users.get(node, ()))
        capabilities = self._capabilities_of(node.device)
        reason = self._refusal(node, users, capabilities)
        if users and reason is None:
            self._recomputed[node] = self._depth(users, node) if len(users) > 1 else 0
            for group in users:
                group.admit(node)
                if node in self._wanted:
                    group.outputs.add(node)
        else:
            for group in users:
                group.refusals[node] = reason or ""
            users = [_begin(node, capabilities)]
            self.groups += users
        for source in node.inputs:
            self._users.setdefault(source, {}).update(dict.fromkeys(users))

    def _depth(self, users: Sequence[Group], node: Node) -> int:
        consumers = [one for group in users for one, _ in group.edges.get(node, ())]
        return 1 + max(self._recomputed.get(one, 0) for one in consumers)

    def _refusal(
        self, node: Node, users: Sequence[Group], capabilities: Capabilities
    ) -> str | None:
        """Return why `node` cannot run inside the groups that use it, or None if it can."""
        if len(users) > 1:
            reason = self._not_recomputed(node, users)
            if reason is not None:
                return reason
        for group in users:
            reason = can_fuse(
                node, group, capabilities, enabled=self._enabled, kept=node in self._wanted
            )
            if reason is not None:
                return reason
        return None

    def _not_recomputed(self, node: Node, users: Sequence[Group]) -> str | None:
        """Return why several groups do not compute `node` each for itself."""
        if node in self._wanted or any(group.space is None for group in users):
            return "its consumers run apart"
        if node.op.kind not in (Kind.MAP, Kind.VIEW, Kind.SOURCE):
            return "its consumers run apart, and computing it twice costs more than keeping it"
        weight = node.op.cost > _RECOMPUTED_COST or self._depth(users, node) > _RECOMPUTED_OPS
        if weight or len(node.inputs) > 2:
            return "its consumers run apart, and computing it twice costs more than keeping it"
        return None


def _begin(node: Node, capabilities: Capabilities) -> Group:
    """Return the group of a sink. Only what computes has loops: views of what is there cost nothing."""
    group = Group(node, [node])
    reason = _alone(node, capabilities)
    if reason is None:
        group.space = Space.of_result(node, node.shape)
    else:
        group.alone = reason
    group.admit(node)
    return group


def _alone(node: Node, capabilities: Capabilities) -> str | None:
    """Return why nothing joins a node that its consumers run apart from, or None if producers may."""
    kind = node.op.kind
    if kind not in capabilities.fuses or kind is Kind.SOURCE or node.op.alias:
        return f"{node.op.name} runs alone on {node.device}"
    if not capabilities.compiles:
        return None
    if not computable(node.op, [source.dtype for source in node.inputs], node.dtype):
        return f"no kernel computes {node.op.name} of {node.inputs[0].dtype}"
    if kind is Kind.SCATTER and _SMALL_PART * node.inputs[1].size < node.size:
        return "it replaces a small part, which takes no loop over all elements"
    space = Space.of_result(node, node.shape)
    return _unread(_followed(space, (node,)), space)


def can_fuse(
    node: Node, group: Group, capabilities: Capabilities, *, enabled: bool, kept: bool
) -> str | None:
    """Return why `node` cannot run inside the group that uses it, or None if it can: its place is in the space then.

    `kept` says that its value is needed besides.
    """
    sink = group.sink
    if not enabled:
        return "fusion is off"
    if node.op.kind not in capabilities.fuses:
        return f"{node.op.name} runs alone on {node.device}"
    if group.space is None:
        return group.alone
    if node.device is not sink.device:
        return f"it lives on {node.device}"
    if len(group.nodes) >= capabilities.max_ops:
        return f"the region has {capabilities.max_ops} ops already"
    if len(group.inputs) + len(node.inputs) > capabilities.max_inputs:
        return f"the region would have more than {capabilities.max_inputs} operands"
    if not capabilities.compiles:
        if node.shape != sink.shape:
            return _again(node, sink)
    elif not computable(node.op, [source.dtype for source in node.inputs], node.dtype):
        return f"no kernel computes {node.op.name} of {node.inputs[0].dtype}"
    return _place_in_loops(node, group, kept=kept, deviates=capabilities.deviates)


def _again(node: Node, sink: Node) -> str:
    return f"a loop over {sink.shape} would compute its shape {node.shape} again and again"


def _place_in_loops(node: Node, group: Group, *, kept: bool, deviates: bool) -> str | None:
    space = group.space
    assert space is not None
    edges = group.edges[node]
    for edge in edges:
        if edge in group.blocked:
            return group.blocked[edge]
    places: dict[Map, list[Edge]] = {}
    for edge in edges:
        places.setdefault(space.maps[edge], []).append(edge)
    if len(places) > 1 and (kept or not _is_repeated(node, places)):
        return "its elements are read at several places of the loops"
    ones = [node, *[copy(node) for _ in range(len(places) - 1)]]
    trial = space.copy()
    trial.maps.update(zip(ones, places, strict=True))
    reason = next(filter(None, [_misplaced(one, trial, kept=kept) for one in ones]), None)
    if reason is None:
        blocked = _followed(trial, ones)
        if node.op.kind in (Kind.REDUCE, Kind.SCAN):
            once = deviates and _in_one_pass(node, trial, group)
            reason = blocked.get((node, 0)) or (None if once else _too_long(node, trial, group))
        else:
            reason = _unread(blocked, trial)
    if reason is None:
        group.candidate = (node, trial, blocked)
        group.repeats[node] = dict(list(zip(ones, places.values(), strict=True))[1:])
    return reason


def _is_repeated(node: Node, places: dict[Map, list[Edge]]) -> bool:
    """Whether `node` may be at several places of the loops: it computes nothing, or nothing twice."""
    if len(places) > _MOST_PLACES:
        return False
    if node.op.kind in (Kind.VIEW, Kind.SOURCE):
        return True
    seen = sum(consumer.size for edges in places.values() for consumer, _ in edges)
    return node.op.kind is Kind.MAP and seen <= node.size


def _unread(blocked: dict[Edge, str], space: Space) -> str | None:
    """Return why an operand cannot be read in the loops at all; what cannot be computed in them may be."""
    return next((blocked[edge] for edge in blocked if edge not in space.maps), None)


def _misplaced(node: Node, space: Space, *, kept: bool) -> str | None:
    """Return why the loops are not the right ones for `node`: they would meet elements often, or not all."""
    axes = space.axes_of(node)
    everywhere = axes in (set(range(len(space.sizes))), set(space.kept))
    if kept and not (everywhere and space.covers(node, node.shape)):
        return "it is needed besides, and the loops do not meet each of its elements once"
    if node.op.kind is Kind.SCAN and len(axes) < len(space.sizes):
        return f"loops over {tuple(space.sizes)} would scan its shape {node.shape} again and again"
    if everywhere or node.op.kind is not Kind.MAP or node.op.cost <= _RECOMPUTED_COST:
        return None
    # what outer loops alone determine is computed outside the inner ones; so is what depends on reductions
    outermost = axes == set(range(len(axes)))
    if outermost or _follows_reduction(node, prod(space.sizes)):
        return None
    sizes = tuple(space.sizes)
    return f"loops over {sizes} would compute its shape {node.shape} again and again"


def _follows_reduction(node: Node, size: int) -> bool:
    """Whether `node` is computed, element by element, from a reduction of as many elements as the loops have."""
    seen = [node]
    for one in seen:  # grows while it is walked
        for source in one.inputs:
            if is_leaf(source) or len(seen) > _LOOKAHEAD:
                continue
            if source.op.kind is Kind.REDUCE and source.inputs[0].size == size:
                return True
            if source.op.kind in (Kind.MAP, Kind.VIEW) and source.size == node.size:
                seen.append(source)
    return False


def _in_one_pass(node: Node, space: Space, group: Group) -> bool:
    """Whether a reduction runs in the same pass as the group's: only sums of squared distances need it."""
    reductions = [one for one in group.nodes if one.op.kind is Kind.REDUCE]
    chains = [
        chain_of(one, attrgetter("op"), attrgetter("inputs"), attrgetter("dtype"))
        for one in reductions
    ]
    between = {one for chain in chains if chain is not None for one in chain}
    if None in chains or between & group.outputs:
        return False
    after, seen = [node], {node}
    for one in after:  # grows while it is walked
        along = bool(space.axes_of(one) & set(space.reduced))
        if one in between and len({consumer for consumer, _ in group.edges[one]}) > 1:
            return False
        if one is not node and along and one not in between:
            return False
        consumers = {consumer for consumer, _ in group.edges.get(one, ())} - seen
        seen |= consumers
        after += consumers
    return bool(between)


def _too_long(node: Node, space: Space, group: Group) -> str | None:
    """Return why a reduction, whose axes are in `space`, does not run in the loops of a group."""
    again = any(space.axes_of(one) & set(space.reduced) for one, _ in group.edges[node])
    several = again or any(one.op.kind is Kind.REDUCE for one in group.nodes)
    length = prod([space.sizes[axis] for axis in space.reduced])
    if several and length > _LONGEST_ROW:
        return f"rows of {length} elements do not stay in the cache between passes"
    return None
