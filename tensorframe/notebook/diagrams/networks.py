"""Networks as diagrams: what `graph()` returns is drawn from what is in it, so that changes are drawn too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tensorframe.notebook.diagrams.diagram import (
    Box,
    Diagram,
    Frame,
    Look,
    Wire,
    wires_of,
)
from tensorframe.notebook.wording import WIRE, counted, shortened
from tensorframe.schedule.naming import number_text
from tensorframe.schedule.plan import human_bytes

if TYPE_CHECKING:
    import networkx

MOST = 150  # nodes: a larger graph has a picture of its own, `visualize`, which closes what is in a row
_LINE = 30
_NOWHERE = "elsewhere"
_LOOKS = {look.value: look for look in Look} | {
    "source": Look.INPUT,
    "view": Look.VIEW,
    "region": Look.KERNEL,
    "contract": Look.LIBRARY,
}

Facts = Mapping[str, Any]


def diagram_of_network(graph: networkx.DiGraph[Any]) -> Diagram | None:
    """Return the nodes as boxes in an order in which they could be computed; None if there is no such order."""
    import networkx  # is imported, or there would be no graph

    try:
        order = list(networkx.topological_sort(graph))
    except networkx.NetworkXUnfeasible:
        return None
    title = graph.graph.get("title")
    if title is None:
        title = f"{counted(len(order), 'node')}, {counted(graph.number_of_edges(), 'edge')}"
    inside = {node for node in order if _is_number(graph, node)}
    drawn = [node for node in order if node not in inside]
    names = {node: f"n{index}" for index, node in enumerate(drawn)}
    diagram = Diagram(str(title))
    diagram.boxes = [_box(graph, node, names[node]) for node in drawn]
    kernels = {box.frame: box.device for box in diagram.boxes if box.frame is not None}
    diagram.frames = [Frame(name, Look.KERNEL, name, device) for name, device in kernels.items()]
    moved = {box.name for box in diagram.boxes if box.look is Look.TRANSFER}
    for node in drawn:
        diagram.wires += _wires(graph, node, names, moved)
    return diagram


def _is_number(graph: networkx.DiGraph[Any], node: Any) -> bool:
    """Whether a node is a number that stands in the boxes of those that use it."""
    is_constant: bool = graph.nodes[node].get("op") == "constant"
    return is_constant and graph.out_degree(node) > 0


def _box(graph: networkx.DiGraph[Any], node: Any, name: str) -> Box:
    facts: Facts = graph.nodes[node]
    title, _, rest = str(facts.get("label", facts.get("op", node))).partition("\n")
    look = _LOOKS.get(str(facts.get("kind", "")), Look.OP)
    lines = tuple(rest.splitlines()) if rest else _operands(graph, node)
    if facts.get("computed"):
        # a result that is there already is an input of whatever follows
        title, look = ("input" if facts.get("op") == "data" else f"{title}, computed"), Look.INPUT
    if look is Look.INPUT:
        lines = ()
    device = str(facts.get("device", _NOWHERE))
    hint = str(facts.get("location") or "")
    return Box(name, look, title, device, lines, hint=hint, ops=1, frame=facts.get("kernel"))


def _operands(graph: networkx.DiGraph[Any], node: Any) -> tuple[str, ...]:
    """Return a line with the numbers among a node's operands, if there are any."""
    words: dict[int, str] = {}
    for source, _, facts in graph.in_edges(node, data=True):
        attrs = graph.nodes[source].get("attrs")
        word = number_text(attrs[0]) if _is_number(graph, source) and attrs else WIRE
        words |= dict.fromkeys(facts.get("operands", ()), word)
    if set(words.values()) <= {WIRE}:
        return ()
    return (shortened(", ".join([words[position] for position in sorted(words)]), _LINE),)


def _wires(
    graph: networkx.DiGraph[Any], node: Any, names: Mapping[Any, str], moved: set[str]
) -> list[Wire]:
    """Return the wires of a node's value, or of each of its values where edges tell them apart."""
    own = graph.nodes[node]
    size = f"{own['dtype']}{list(own['shape'])}" if {"dtype", "shape"} <= own.keys() else ""
    values: dict[tuple[str, int], list[str]] = {}
    for _, target, facts in graph.out_edges(node, data=True):
        nbytes = int(facts.get("bytes", own.get("nbytes", 0)))
        label = str(facts.get("label", size or (human_bytes(nbytes) if nbytes else "")))
        values.setdefault((label, nbytes), []).append(names[target])
    return [
        wire
        for (label, nbytes), targets in values.items()
        for wire in wires_of(names[node], targets, moved, label, nbytes)
    ]
