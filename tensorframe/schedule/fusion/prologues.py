"""Prologues: what a product with a quantised matrix needs of a vector is made by its kernel, before its loops.

A vector is normalised, its blocks are scaled, and its integers packed: three reductions over other axes than those of
the product. Each is little beside the product, so every work-group makes them for itself
(`kernel/groups/prologue.py`), and there are no kernels that only prepare.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from tensorframe.backends.base import Capabilities
from tensorframe.dtypes import COMPLEX
from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.op import Kind
from tensorframe.graph.record import is_constant
from tensorframe.kernel.spaces.prologue import made_first, parts_of
from tensorframe.ops.quantization import DOT4
from tensorframe.schedule.fusion.group import CapabilitiesOf, Group, region_of

# Kinds of ops that a prologue has.
_KINDS = frozenset({Kind.MAP, Kind.REDUCE, Kind.VIEW, Kind.SOURCE})
# Bytes of shared memory for what is made, of which every device has 16 KiB: the rest is for what threads join.
_MOST_BYTES = 13 << 10
# How many times as much work the loops are as the prologue.
_LITTLE = 4
# Bytes of a number in shared memory at least.
_WORD = 4


def merge_prologues(
    groups: Sequence[Group], roots: Collection[Node], capabilities_of: CapabilitiesOf
) -> list[Group]:
    """Return the groups with what products with quantised matrices need made part of these, on devices of kernels."""
    products = [
        group
        for group in groups
        if group.space is not None and any(node.op is DOT4 for node in group.nodes)
    ]
    if not products:
        return list(groups)
    merging = _Merging(groups, roots)
    for group in products:
        capabilities = capabilities_of(group.sink.device)
        if capabilities.compiles and not capabilities.host_memory:
            merging.merge(group, capabilities)
    return merging.groups


class _Merging:
    """The groups, which of them makes each value, and which read it."""

    def __init__(self, groups: Sequence[Group], roots: Collection[Node]) -> None:
        self.groups = list(groups)
        self._roots = frozenset(roots)
        self._makers = {node: group for group in groups for node in group.nodes}
        self._readers: dict[Node, set[Group]] = {}
        for group in groups:
            for source in group.inputs:
                self._readers.setdefault(source, set()).add(group)

    def merge(self, group: Group, capabilities: Capabilities) -> None:
        """Make the groups that a product alone waits for part of it: as many as fit, the nearest first."""
        makers = self._makers_for(group)
        while makers:
            together = self._together(group, makers)
            if self._fits(together, group, capabilities):
                gone = {group, *makers}
                self.groups = [
                    together if other is group else other
                    for other in self.groups
                    if other is group or other not in gone
                ]
                self._changed(together, gone)
                return
            makers.pop()

    def _makers_for(self, group: Group) -> list[Group]:
        """Return the small groups whose results nobody else reads than a group, and these groups."""
        taken: dict[Group, None] = {}
        while True:
            reading = {group, *taken}
            for source in [source for each in (group, *taken) for source in each.inputs]:
                maker = self._makers.get(source)
                if maker is None or maker in reading or not _is_small(maker, group):
                    continue
                if all(self._is_for(node, {maker, *reading}) for node in maker.nodes):
                    taken[maker] = None
                    break
            else:
                return list(taken)

    def _is_for(self, node: Node, readers: set[Group]) -> bool:
        return node not in self._roots and self._readers.get(node, set()) <= readers

    def _together(self, group: Group, makers: Sequence[Group]) -> Group:
        """Return the group that makes everything; its parts are found where its kernel is made."""
        every = (*makers, group)
        nodes = {node: None for each in every for node in each.nodes}
        merged = Group(group.sink, sorted(nodes, key=by_serial), copies=dict(group.copies))
        merged.inputs = {
            source: None for each in every for source in each.inputs if source not in nodes
        }
        merged.refusals = {
            node: why
            for each in every
            for node, why in each.refusals.items()
            if node in merged.inputs
        }
        return merged

    def _fits(self, together: Group, group: Group, capabilities: Capabilities) -> bool:
        """Whether one kernel can make everything, and each of its groups what comes first."""
        if len(together.nodes) > 2 * capabilities.max_ops:
            return False
        leaving = {node for node in group.nodes if node in self._roots or node in self._readers}
        region, *_ = region_of(together, leaving)
        if len(together.inputs) + len(leaving) > capabilities.max_inputs:
            return False
        if any(
            dtype in COMPLEX or (source.shape == () and not is_constant(source))
            for source, (_, dtype) in zip(together.inputs, region.inputs, strict=True)
        ):
            return False
        first = made_first(region)
        kinds = [(region.shape_of(value), region.dtype_of(value)) for value in first]
        if any(shape == () or dtype.itemsize < _WORD for shape, dtype in kinds):
            return False
        if sum(prod(shape) * dtype.itemsize for shape, dtype in kinds) > _MOST_BYTES:
            return False
        return not isinstance(parts_of(region), str)

    def _changed(self, together: Group, gone: Collection[Group]) -> None:
        """Note that one group has taken the place of others."""
        self._makers.update(dict.fromkeys(together.nodes, together))
        for readers in self._readers.values():
            if not readers.isdisjoint(gone):
                readers.difference_update(gone)
                readers.add(together)


def _is_small(maker: Group, group: Group) -> bool:
    """Whether a group is loops that are little beside those of a product."""
    if maker.space is None or maker.copies or maker.sink.device is not group.sink.device:
        return False
    assert group.space is not None
    if not all(node.op.kind in _KINDS for node in maker.nodes):
        return False
    return _LITTLE * prod(maker.space.sizes) <= prod(group.space.sizes)
