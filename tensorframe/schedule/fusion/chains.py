"""Chained products: those of which a factor is made of the rows of another product run in its step, block by block.

Attention is one step that way, and its scores are never there as a whole. In its gradient, as a checkpoint records it,
five products go over the same rows: scores once more, the cotangents of weights, and three products of what is made of
these, two of which add up over all rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.movement import PERMUTE
from tensorframe.quick_tuples import NamedTuple
from tensorframe.schedule.fusion.group import CapabilitiesOf, Group

# Products that make rows: more would need more of the cache than there is.
_MOST_MAKERS = 2


def merge_chains(
    groups: Sequence[Group], roots: Collection[Node], capabilities_of: CapabilitiesOf
) -> list[Group]:
    """Return the groups with products merged that go over the same rows, where nothing else needs these."""
    merging = _Chaining(groups, roots, capabilities_of)
    for group in groups:
        if capabilities_of(group.sink.device).chains:
            merging.chain(group)
    return merging.groups


class _Chain(NamedTuple):
    """Groups that go over the same rows: those that make them, views of them, and products that take them."""

    makers: list[Group]
    views: list[Group]
    takers: list[Group]

    @property
    def groups(self) -> list[Group]:
        """All of them, in an order in which they can run."""
        return [*self.makers, *self.views, *self.takers]


class _Chaining:
    """The groups, and which of them use each value."""

    def __init__(
        self, groups: Sequence[Group], roots: Collection[Node], capabilities_of: CapabilitiesOf
    ) -> None:
        self.groups = list(groups)
        self._merged: set[Group] = set()
        self._roots = frozenset(roots)
        self._capabilities_of = capabilities_of
        # where nodes are in an order in which they can run
        self._places: dict[Node, int] = {}
        self._users: dict[Node, list[Group]] = {}
        for group in groups:
            for source in group.inputs:
                self._users.setdefault(source, []).append(group)

    def chain(self, first: Group) -> None:
        """Let everything that uses the rows that a product's step makes run in this step, if it can."""
        is_there = first not in self._merged
        candidate = self._found(first) if is_there and _makes_rows(first) else None
        if candidate is None or not self._fits(candidate):
            return
        merged = _merged(candidate)
        gone = set(candidate.groups)
        self.groups = [group for group in self.groups if group not in gone]
        self.groups.append(merged)
        self._merged |= gone
        for source in merged.inputs:
            users = [merged if user in gone else user for user in self._users[source]]
            self._users[source] = list(dict.fromkeys(users))

    def _found(self, first: Group) -> _Chain | None:
        """Return the groups that go over the rows of a product, if all that use them do."""
        chain = _Chain([first], [], [])
        for maker in chain.makers:  # grows
            value = maker.sink
            if self._is_needed_besides(maker) or value in self._roots:
                return None
            for user in self._users.get(value, ()):
                if user in chain.groups:
                    continue
                if _takes_rows(value, user) or _sums_rows(value, user, place=1):
                    chain.takers.append(user)
                elif _turns(value, user):
                    if not self._takes_turned(user, chain):
                        return None
                elif _makes_beside(value, user) and len(chain.makers) < _MOST_MAKERS:
                    chain.makers.append(user)
                else:
                    return None
        return chain if chain.takers else None

    def _takes_turned(self, view: Group, chain: _Chain) -> bool:
        """Whether all that uses a transposed block are products that add up over its rows; they are noted."""
        users = self._users.get(view.sink, [])
        fit = view.sink not in self._roots and all(
            _sums_rows(view.sink, user, place=0) for user in users
        )
        chain.views.append(view)
        chain.takers.extend(user for user in users if user not in chain.takers)
        return fit

    def _is_needed_besides(self, group: Group) -> bool:
        """Whether more than the last value of a group is needed outside of it."""
        return any(
            node in self._roots or any(user is not group for user in self._users.get(node, ()))
            for node in group.nodes
            if node is not group.sink
        )

    def _fits(self, candidate: _Chain) -> bool:
        """Whether groups can be one step."""
        if not _is_simple(candidate) and not all(map(_is_bare, candidate.takers)):
            return False
        made = {group.sink for group in candidate.groups}
        inputs = dict.fromkeys(chain.from_iterable([group.inputs for group in candidate.groups]))
        outside = [source for source in inputs if source not in made]
        most = self._capabilities_of(candidate.makers[0].sink.device).max_inputs
        if len(outside) > most or len({node.device for node in made}) > 1:
            return False
        return _is_simple(candidate) or not self._is_made_of(outside, made)

    def _is_made_of(self, nodes: Sequence[Node], made: Collection[Node]) -> bool:
        """Whether some of what a step takes is not there before it begins, but is made of what it gives."""
        if not self._places:
            self._places = {node: place for place, node in enumerate(reachable([*self._roots]))}
        places = self._places
        first = min([places[node] for node in made])
        seen = {node for node in nodes if places.get(node, first) >= first}
        stack = list(seen)
        while stack:
            node = stack.pop()
            if node in made:
                return True
            fresh = [
                source
                for source in node.inputs
                if source not in seen and places.get(source, first) >= first
            ]
            seen.update(fresh)
            stack += fresh
        return False


def _merged(chain: _Chain) -> Group:
    """Return the groups as one. What several of them compute, each for itself, each goes on to."""
    made = {group.sink for group in chain.groups}
    merged = Group(chain.takers[-1].sink, [])
    known: set[Node] = set()
    for group in chain.groups:
        again = {node: _copy(node) for node in group.nodes if node in known}
        for node in group.nodes:
            own = again.get(node, node)
            merged.nodes.append(own)
            for index, source in enumerate(group.operands(node)):
                read = again.get(source, source)
                if read is not own.inputs[index]:
                    merged.copies[own, index] = read
        known.update(group.nodes)
        for source in group.inputs:
            if source not in made:
                merged.inputs[source] = None
        reasons = group.refusals.items()
        merged.refusals.update({node: why for node, why in reasons if node not in made})
    return merged


def _copy(node: Node) -> Node:
    return Node(node.op, node.inputs, node.attrs, node.shape, node.dtype, node.device, node.site)


def _is_simple(chain: _Chain) -> bool:
    """Whether there is one product, and one that takes its rows: this may have an epilogue of its own."""
    (taker, *others) = chain.takers
    value = chain.makers[0].sink
    return not others and len(chain.makers) == 1 and not chain.views and _takes_rows(value, taker)


def _makes_rows(group: Group) -> bool:
    """Whether a group is a product of matrices and what is done to whole rows of it."""
    first, *rest = group.nodes
    if first.op is not MATMUL or min([len(source.shape) for source in first.inputs]) < 2:
        return False
    kinds = [node.op.kind for node in rest]
    as_made = Kind.CONTRACT not in kinds and not any(node.op is PERMUTE for node in rest)
    return Kind.REDUCE in kinds and as_made and group.sink.shape == first.shape


def _makes_beside(value: Node, group: Group) -> bool:
    """Whether a group makes rows of another product and of `value`, those that are in the same place."""
    first = group.nodes[0]
    return _makes_rows(group) and first.shape == value.shape and value not in first.inputs


def _takes_rows(value: Node, user: Group) -> bool:
    """Whether a group begins with a product whose left operand is `value`, each matrix of it once."""
    second = user.nodes[0]
    if second.op is not MATMUL or second.inputs[0] is not value or second.inputs[1] is value:
        return False
    return len(second.inputs[1].shape) > 1 and second.shape[:-1] == value.shape[:-1]


def _sums_rows(value: Node, user: Group, place: int) -> bool:
    """Whether a group begins with a product that adds up over the rows of `value`, or the columns if it is turned."""
    second = user.nodes[0]
    if second.op is not MATMUL or second.inputs[place] is not value:
        return False
    other = second.inputs[1 - place]
    return other is not value and len(other.shape) > 1 and second.shape[:-2] == value.shape[:-2]


def _turns(value: Node, user: Group) -> bool:
    """Whether a group is the view of transposed matrices."""
    (view, *others) = user.nodes
    if others or view.op is not PERMUTE:
        return False
    last = len(value.shape) - 1
    return bool(view.attrs[0] == (*range(last - 1), last, last - 1))


def _is_bare(user: Group) -> bool:
    """Whether a group is a product, written in another order of axes perhaps."""
    _, *rest = user.nodes
    return not rest or (len(rest) == 1 and rest[0].op is PERMUTE)
