"""Multi-output fusion: what several groups read is made, and stored, by the earliest of them whose loops allow it.

The statistics and the normalised rows of a layer norm are needed again by its gradient, and a residual by the next
layer: stored as they pass by, they take no kernel of their own, and are read once less.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.schedule.capture import is_leaf
from tensorframe.schedule.fusion.epilogue import along_rows, is_product, is_residual
from tensorframe.schedule.fusion.group import CapabilitiesOf, Group
from tensorframe.schedule.fusion.merge import take_in

# Nodes to look at for a product that a value is made of, element by element, and groups for one that waits.
_LOOKAHEAD = 16
_MOST_WAITING = 256
# Groups that are tried, the earliest first.
_MOST_HOSTS = 4


def store_for_others(
    groups: Sequence[Group], roots: Collection[Node], capabilities_of: CapabilitiesOf
) -> list[Group]:
    """Return the groups with those that several others read made part of the earliest of these that can take it."""
    hosting = _Hosting(groups)
    wanted = frozenset(roots)
    hosts: set[Group] = set()
    for maker in reversed(groups):
        readers = hosting.readers(maker)
        # of what one group reads, growing has decided, unless that has become a larger one since
        if len(readers) < 2 and hosts.isdisjoint(readers):
            continue
        if maker.space is None or not wanted.isdisjoint(maker.nodes):
            continue
        residual = is_residual(maker.sink)
        if hosting.is_of_product(maker.sink) and not residual:
            continue
        readers.sort(key=lambda group: group.sink.serial)
        for host in readers[:_MOST_HOSTS]:
            others = [group for group in readers if group is not host]
            if residual and not along_rows(host):
                continue
            if host.space is None or any(hosting.waits(host, other) for other in others):
                continue
            needed = [node for node in maker.nodes if any(node in group.inputs for group in others)]
            if take_in(maker, host, frozenset(needed), capabilities_of(host.sink.device)):
                hosting.join(maker, host)
                hosts.add(host)
                break
    return hosting.groups()


class _Hosting:
    """The groups, who makes and who reads each value."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._left = dict.fromkeys(groups)
        self._maker = {node: group for group in groups for node in group.nodes}
        self._readers: dict[Node, dict[Group, None]] = {}
        for group in groups:
            for source in group.inputs:
                self._readers.setdefault(source, {})[group] = None

    def groups(self) -> list[Group]:
        """Return the groups that are left."""
        return list(self._left)

    def readers(self, maker: Group) -> list[Group]:
        """Return the groups that read something of what a group makes."""
        reading = [group for node in maker.nodes for group in self._readers.get(node, ())]
        return [group for group in dict.fromkeys(reading) if group is not maker]

    def waits(self, group: Group, other: Group) -> bool:
        """Whether `group` needs, directly or not, something that `other` makes; True where finding out takes long."""
        stack, seen = [group], {group}
        while stack:
            for source in stack.pop().inputs:
                maker = self._maker.get(source)
                if maker is other or len(seen) > _MOST_WAITING:
                    return True
                if maker is not None and maker not in seen:
                    seen.add(maker)
                    stack.append(maker)
        return False

    def is_of_product(self, node: Node) -> bool:
        """Whether a value is made, element by element, of a product that nothing else needs: it joins its step."""
        seen = [node]
        for other in seen:  # grows while it is walked
            if is_product(other):
                return True
            if other.op.kind not in (Kind.MAP, Kind.VIEW) or is_leaf(other):
                continue
            own = self._maker.get(node)
            for source in other.inputs:
                inside = self._maker.get(source) is own
                alone = len(self._readers.get(source, ())) == 1
                if source.size == node.size and (inside or alone) and len(seen) < _LOOKAHEAD:
                    seen.append(source)
        return False

    def join(self, maker: Group, host: Group) -> None:
        """Note that a group has become part of another one."""
        del self._left[maker]
        for node in maker.nodes:
            self._maker[node] = host
            self._readers.get(node, {}).pop(host, None)
        for source in maker.inputs:
            readers = self._readers[source]
            readers.pop(maker, None)
            readers[host] = None
