"""Listings: the graph, its groups or the plan after a pass, as text in the program's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorframe.errors import ArgumentError
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.record import is_constant
from tensorframe.schedule.capture import capture
from tensorframe.schedule.fusion.group import Group
from tensorframe.schedule.naming import named, node_names, op_text
from tensorframe.schedule.pipeline import (
    PASS_NAMES,
    PLAN_PASSES,
    group_nodes,
    make_plan,
    transform,
)


def show_stage(roots: Sequence[Node], until: str) -> str:
    """Return the text of the graph, groups or plan after the pass named `until`."""
    if until not in PASS_NAMES:
        listed = ", ".join(PASS_NAMES)
        raise ArgumentError(f"there is no pass {until!r}", suggestions=(f"one of {listed}",))
    if until in PLAN_PASSES[1:]:
        request = capture(roots)
        return str(named(make_plan(request, until), request))
    outputs = transform(roots, until)
    if until == "fuse":
        return _groups_text(group_nodes(outputs))
    nodes = reachable(outputs)
    names = node_names(nodes)
    return "\n".join([op_text(node, names) for node in nodes if not is_constant(node)])


def _groups_text(groups: Sequence[Group]) -> str:
    everything = [[*group.inputs, *group.refusals, *group.nodes] for group in groups]
    # nodes that several consumers repeat have copies, which the graph does not have
    names = node_names(list(dict.fromkeys(node for nodes in everything for node in nodes)))
    return "\n".join([_group_text(group, names) for group in groups])


def _group_text(group: Group, names: Mapping[Node, str]) -> str:
    lines = [f"group of {names[group.sink]}:"]
    lines += [f"  {op_text(node, names)}" for node in group.nodes]
    lines += [f"  {names[node]} is not fused: {why}" for node, why in group.refusals.items()]
    return "\n".join(lines)
