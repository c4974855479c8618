"""Fusion legality and fusion barriers: whether a node may run in the loops of a group, or why it may not.

The sink's shape gives the loops, and every node that joins has its elements somewhere in them
(`graph/space.py`); a reduction adds loops of its own, or runs along loops that its result broadcasts back to.
"""

from __future__ import annotations

from copy import copy
from math import prod
from operator import attrgetter

from tensorframe.backends.base import Capabilities
from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.space import Map, Space
from tensorframe.kernel.forms.deviations import chain_of
from tensorframe.kernel.groups.distances import Ops, distances_in
from tensorframe.kernel.nest.support import computable
from tensorframe.machine import HOST
from tensorframe.schedule.capture import is_leaf
from tensorframe.schedule.fusion.group import Edge, Group, follow_operands
from tensorframe.schedule.fusion.weights import misfit

# Cost per element up to which an op may be done again in loops that meet its elements several times.
_CHEAP = 1.0
# The part of a tensor that is replaced in place rather than in a loop over the whole: one in so many elements.
_SMALL_PART = 2
# Places of the loops at which what computes nothing is repeated.
_MOST_PLACES = 8
# Ops for which a kernel has room before a reduction joins: the product of two tensors in views, cast to another dtype.
_ROOM = 8
# Elements, of all rows together, that every group of a device may reduce for itself: all of them read that memory.
_LITTLE_ROW = 1 << 14
# Nodes to look at for a reduction that a value of a row comes from.
_LOOKAHEAD = 16


def can_fuse(
    node: Node, group: Group, capabilities: Capabilities, *, enabled: bool, kept: bool
) -> str | None:
    """Return why `node` cannot run inside the group that uses it, or None if it can: its place is in the space then.

    `kept` says that its value is needed besides.
    """
    sink = group.sink
    if not enabled:
        return "fusion is off"
    if node.op.kind not in capabilities.fuses or node.op.barrier:
        return f"{node.op.name} runs alone on {node.device}"
    if group.space is None:
        return group.alone
    if node.device is not sink.device:
        return f"it lives on {node.device}"
    operands = _summed(node)
    if len(group.nodes) + (_ROOM if operands else 0) >= capabilities.max_ops:
        return f"the kernel has {capabilities.max_ops} ops already"
    if len(group.inputs) + len(node.inputs) + len(operands) > capabilities.max_inputs:
        return f"the kernel would have more than {capabilities.max_inputs} operands"
    if not capabilities.compiles:
        if node.shape != sink.shape:
            return _again(node, sink)
    elif not _is_computable(node, capabilities):
        return f"no kernel computes {node.op.name} of {node.inputs[0].dtype}"
    return _place_in_loops(node, group, capabilities, kept=kept)


def has_room(node: Node, ops: int, capabilities: Capabilities) -> bool:
    """Whether a kernel of so many ops has room for one more: a reduction alone would have what it adds up stored."""
    return ops + (_ROOM if _summed(node) else 0) < capabilities.max_ops


def _summed(node: Node) -> tuple[Node, ...]:
    """Return what is read to make what a reduction reduces; nothing for other nodes."""
    return node.inputs[0].inputs if node.op.kind is Kind.REDUCE else ()


def _again(node: Node, sink: Node) -> str:
    return f"a loop over {sink.shape} would compute its shape {node.shape} again and again"


def _place_in_loops(
    node: Node, group: Group, capabilities: Capabilities, *, kept: bool
) -> str | None:
    """Return why the loops of a group are no place for `node`; where they are, it is the group's candidate."""
    space = group.space
    assert space is not None
    edges = group.edges[node]
    if group.blocked:
        for edge in edges:
            if edge in group.blocked:
                return group.blocked[edge]
    places: dict[Map, list[Edge]] = {}
    for edge in edges:
        places.setdefault(space.maps[edge], []).append(edge)
    # a value has one map, so at every place but the first it is a copy
    ones = [node]
    if len(places) > 1:
        if kept or not _may_repeat(node, places):
            return "its elements are read at several places of the loops"
        ones += [copy(node) for _ in range(len(places) - 1)]
    trial = space.copy()
    trial.maps.update(zip(ones, places, strict=True))
    if kept or trial.reduced or not _is_cheap(node):
        for copied in ones:
            reason = _misplaced(copied, trial, kept=kept)
            if reason is not None:
                return reason
    blocked = follow_operands(trial, ones)
    if node.op.kind in (Kind.REDUCE, Kind.SCAN):
        reason = (
            blocked.get((node, 0))
            or _repeated(node, trial, capabilities)
            or _too_long(node, trial, group, capabilities)
        )
    else:
        reason = _unread(blocked, trial)
    if reason is None and trial.reduced:
        reason = misfit(node, group, trial, capabilities)
    if reason is None:
        group.candidate = (node, trial, blocked)
        group.repeats.pop(node, None)
        if len(places) > 1:
            group.repeats[node] = dict(list(zip(ones, places.values(), strict=True))[1:])
    return reason


def _may_repeat(node: Node, places: dict[Map, list[Edge]]) -> bool:
    """Whether `node` may be at several places of the loops: it computes nothing, or nothing twice."""
    if len(places) > _MOST_PLACES:
        return False
    if node.op.kind in (Kind.VIEW, Kind.SOURCE):
        return True
    seen = sum(consumer.size for edges in places.values() for consumer, _ in edges)
    return node.op.kind is Kind.MAP and seen <= node.size


def _is_cheap(node: Node) -> bool:
    """Whether loops may meet a node's elements several times."""
    kind = node.op.kind
    return kind is not Kind.SCAN and (kind is not Kind.MAP or node.op.cost <= _CHEAP)


def _misplaced(node: Node, space: Space, *, kept: bool) -> str | None:
    """Return why the loops are not the right ones for `node`: they would meet elements often, or not all.

    Cheap nodes that are not kept have a place in any loops without reductions.
    """
    axes = space.axes_of(node)
    if kept and not meets_once(node, space) and not _may_be_met(node, space, axes):
        return "it is needed besides, and the loops do not meet each of its elements once"
    if node.op.kind is Kind.SCAN and len(axes) < len(space.sizes):
        return f"loops over {tuple(space.sizes)} would scan its shape {node.shape} again and again"
    if _read_for_each_row(node, space, axes):
        return f"loops over {tuple(space.sizes)} would read what its shape {node.shape} is made of again and again"
    if _is_cheap(node) or node.op.kind is Kind.SCAN:
        return None
    sizes = tuple(space.sizes)
    if _overlaps(node, space):
        return f"loops over {sizes} would compute its shape {node.shape} again and again"
    if axes in (set(range(len(space.sizes))), set(space.kept)):  # everywhere
        return None
    # what outer loops alone determine is computed outside the inner ones; so is what depends on reductions
    outermost = axes == set(range(len(axes)))
    follows = axes.isdisjoint(space.reduced) and _follows_reduction(node, prod(space.sizes))
    if outermost or follows:
        return None
    # and what inner loops do not determine at all, outside of these: little beside what they do
    if prod(space.sizes[: max(axes) + 1]) * node.op.cost <= prod(space.sizes):
        return None
    return f"loops over {sizes} would compute its shape {node.shape} again and again"


def _read_for_each_row(node: Node, space: Space, axes: set[int]) -> bool:
    """Whether many rows need the same elements, each made of several that are in memory: then they are stored once."""
    if not space.reduced or node.op.kind is not Kind.MAP or not axes:
        return False
    if not axes.issubset(space.reduced):
        return False
    rows = prod([space.sizes[axis] for axis in space.kept])
    several = sum(source.size == node.size for source in node.inputs) > 1
    return rows > _MOST_PLACES and several and not _is_normalised(node)


def _is_normalised(node: Node) -> bool:
    """Whether what a row is made of has been reduced to a number, so that its kernel would be one for that alone."""
    seen = [node]
    for other in seen:  # grows while it is walked
        for source in other.inputs:
            if is_leaf(source) or len(seen) > _LOOKAHEAD:
                continue
            if source.op.kind is Kind.REDUCE and source.inputs[0].size == node.size:
                return source.size == 1
            if source.op.kind in (Kind.MAP, Kind.VIEW) and source.size in (1, node.size):
                seen.append(source)
    return False


def _overlaps(node: Node, space: Space) -> bool:
    """Whether loops meet elements several times, as windows on them do that overlap."""
    return any(
        len(position.terms) > 1 and prod([space.sizes[axis] for axis, _ in position.terms]) > size
        for position, size in zip(space.maps[node], node.shape, strict=True)
    )


def meets_once(node: Node, space: Space) -> bool:
    """Whether loops meet each element of a node once, so that it may be stored there."""
    everywhere = space.axes_of(node) in (set(range(len(space.sizes))), set(space.kept))
    return everywhere and space.covers(node, node.shape)


def _may_be_met(node: Node, space: Space, axes: set[int]) -> bool:
    """Whether loops will meet each element once when the reduction of their rows is there that a node is made of."""
    if space.reduced or axes != set(range(len(axes))) or not space.covers(node, node.shape):
        return False
    size = prod(space.sizes)
    own = node.op.kind is Kind.REDUCE and node.inputs[0].size == size
    return own or (node.op.kind is Kind.MAP and _follows_reduction(node, size))


def _follows_reduction(node: Node, size: int) -> bool:
    """Whether `node` is computed, element by element, from a reduction of as many elements as the loops have."""
    seen = [node]
    for other in seen:  # grows while it is walked
        for source in other.inputs:
            if is_leaf(source) or len(seen) > _LOOKAHEAD:
                continue
            if source.op.kind is Kind.REDUCE and source.inputs[0].size == size:
                return True
            if source.op.kind in (Kind.MAP, Kind.VIEW) and source.size == node.size:
                seen.append(source)
    return False


def _repeated(node: Node, space: Space, capabilities: Capabilities) -> str | None:
    """Return why rows for which a reduction is the same do not compute it each, or None.

    Groups of threads do, beside a longer row of their own: it takes less than a kernel before theirs. So a product with
    a normalised vector normalises it.
    """
    rows = prod([space.sizes[axis] for axis in space.kept if axis not in space.axes_of(node)])
    if rows == 1 or (not capabilities.host_memory and node.inputs[0].size <= _LITTLE_ROW):
        return None
    return f"each of {rows} rows would compute it again"


def _too_long(node: Node, space: Space, group: Group, capabilities: Capabilities) -> str | None:
    """Return why a reduction, whose axes are in `space`, does not run in the loops of a group."""
    if capabilities.one_pass_variance and _in_one_pass(node, space, group):
        return None
    if capabilities.long_rows and _is_read_twice(node, group):
        return None
    again = any(space.axes_of(producer) & set(space.reduced) for producer, _ in group.edges[node])
    several = again or any(node.op.kind is Kind.REDUCE for node in group.nodes)
    length = prod([space.sizes[axis] for axis in space.reduced])
    if several and length > HOST.row:
        return f"rows of {length} elements do not stay in the cache between passes"
    return None


def _in_one_pass(node: Node, space: Space, group: Group) -> bool:
    """Whether a reduction runs in the same pass as the group's: only sums of squared distances need it."""
    between: set[Node] = set()
    for reduction in group.nodes:
        if reduction.op.kind is Kind.REDUCE:
            chain = chain_of(reduction, _op_in_plan, attrgetter("inputs"), attrgetter("dtype"))
            if chain is None:
                return False
            between.update(chain)
    if between & group.outputs:
        return False
    after, seen = [node], {node}
    for follower in after:  # grows while it is walked
        along = bool(space.axes_of(follower) & set(space.reduced))
        if follower in between and len({consumer for consumer, _ in group.edges[follower]}) > 1:
            return False
        if follower is not node and along and follower not in between:
            return False
        consumers = {consumer for consumer, _ in group.edges.get(follower, ())} - seen
        seen |= consumers
        after += consumers
    return bool(between)


def _is_read_twice(node: Node, group: Group) -> bool:
    """Whether kernels read rows, which are along memory, once for all reductions, and once more to write.

    See `kernel/groups/one_pass.py`.
    """
    if node.op.kind is not Kind.REDUCE or any(other.op.kind is Kind.SCAN for other in group.nodes):
        return False
    depth = len(node.inputs[0].shape)
    axes = sorted(axis % depth for axis in node.attrs[0])
    if axes != list(range(depth - len(axes), depth)):
        return False
    after = {node}
    for other in sorted(group.nodes, key=by_serial):
        if not after.isdisjoint(other.inputs):
            after.add(other)
            if other.op.kind is Kind.REDUCE:
                distances = distances_in(other, _NODES)
                if distances is None or distances.source is not node:
                    return False
    return True


def _op_in_plan(node: Node) -> Op | None:
    """Return what the plan computes a node by: a value that is there already is none of its own."""
    return None if is_leaf(node) else node.op


_NODES = Ops[Node](_op_in_plan, attrgetter("inputs"), attrgetter("dtype"))


def _unread(blocked: dict[Edge, str], space: Space) -> str | None:
    """Return why an operand cannot be read in the loops at all; what cannot be computed in them may be."""
    return next((blocked[edge] for edge in blocked if edge not in space.maps), None)


def _is_computable(node: Node, capabilities: Capabilities) -> bool:
    operands = [source.dtype for source in node.inputs]
    return computable(node.op, operands, node.dtype, capabilities.language)


def runs_alone(node: Node, capabilities: Capabilities) -> str | None:
    """Return why a node is a fusion barrier, which no producer joins and no consumer; None if it is none."""
    kind = node.op.kind
    if kind not in capabilities.fuses or kind is Kind.SOURCE or node.op.alias:
        return f"{node.op.name} runs alone on {node.device}"
    if not capabilities.compiles:
        return None
    if kind is Kind.SCATTER and node.op.combination is not None:
        return f"{node.op.name} takes values in one after the other, in no loop over elements"
    if not _is_computable(node, capabilities):
        return f"no kernel computes {node.op.name} of {node.inputs[0].dtype}"
    if kind is Kind.SCATTER and _SMALL_PART * node.inputs[1].size < node.size:
        return "it replaces a small part, which takes no loop over all elements"
    space = Space.of_result(node, node.shape)
    return _unread(follow_operands(space, (node,)), space)
