"""Merging: the passes that make fewer groups of several, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.graph.node import Node
from tensorframe.schedule.fusion.alike import merge_alike
from tensorframe.schedule.fusion.assignments import merge_assignments
from tensorframe.schedule.fusion.chains import merge_chains
from tensorframe.schedule.fusion.epilogue import merge_epilogues
from tensorframe.schedule.fusion.group import CapabilitiesOf, Group
from tensorframe.schedule.fusion.merge import merge_readers
from tensorframe.schedule.fusion.multiple_outputs import store_for_others
from tensorframe.schedule.fusion.prologues import merge_prologues

PASSES = (
    merge_readers,
    store_for_others,
    merge_assignments,
    merge_epilogues,
    merge_chains,
    merge_prologues,
    merge_alike,
)


def merged(
    groups: list[Group], roots: Sequence[Node], capabilities_of: CapabilitiesOf
) -> list[Group]:
    """Return the groups after all of the passes."""
    for merge in PASSES:
        groups = merge(groups, roots, capabilities_of)
    return groups
