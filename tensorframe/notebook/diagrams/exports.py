"""Exports: a diagram for other programs, as a networkx graph, GraphML and the DOT of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorframe.graph.networks import new_network
from tensorframe.notebook.diagrams.diagram import Box, Diagram, Look
from tensorframe.notebook.style import TRANSFER_HUE, hue

if TYPE_CHECKING:
    import networkx

_SHAPES = {
    Look.INPUT: "shape=ellipse",
    Look.RESULT: "shape=ellipse penwidth=2",
    Look.VIEW: 'shape=box style="rounded,dashed"',
    Look.LIBRARY: "shape=box peripheries=2",
    Look.TRANSFER: f'shape=cds fontcolor="{TRANSFER_HUE}"',
}
_OTHER_SHAPE = "shape=box style=rounded"


def networkx_of(diagram: Diagram) -> networkx.DiGraph[str]:
    """Return the boxes as a networkx DiGraph, with an edge for every line.

    Nodes have `label`, `kind`, `device`, `ops` and, in a kernel that is open, its `kernel`; edges the `label` and
    `bytes` of their value, and whether it `moves` between devices.
    """
    graph = new_network(title=diagram.title)
    for box in diagram.boxes:
        facts: dict[str, Any] = {"kind": box.look.value, "device": box.device, "ops": box.ops}
        if box.frame is not None:
            facts["kernel"] = box.frame
        graph.add_node(box.name, label=_label(box), **facts)
    for source, target, wire in diagram.edges():
        graph.add_edge(source, target, label=wire.label, bytes=wire.nbytes, moves=wire.moves)
    return graph


def graphml_of(diagram: Diagram) -> str:
    """Return the boxes and lines as GraphML, which networkx, yEd and Gephi read."""
    import networkx

    return "\n".join(networkx.generate_graphml(networkx_of(diagram)))


def dot_of(diagram: Diagram) -> str:
    """Return the boxes and lines in the language of Graphviz, kernels as clusters."""
    return "\n".join(_dot_lines(diagram))


def _dot_lines(diagram: Diagram) -> Iterator[str]:
    yield "digraph {"
    yield f"  label={_quote(diagram.title)} labelloc=t fontname=Helvetica"
    yield "  node [fontname=Helvetica fontsize=11]"
    yield '  edge [fontname="Courier" fontsize=9 color=gray40]'
    for box in diagram.boxes:
        if box.frame is None:
            yield f"  {_dot_node(box)}"
    for number, frame in enumerate(diagram.frames):
        yield f"  subgraph cluster_{number} {{"
        yield f'    label={_quote(frame.title)} color="{hue(frame.device)}" style=rounded'
        for box in diagram.within(frame.name):
            yield f"    {_dot_node(box)}"
        yield "  }"
    for source, target, wire in diagram.edges():
        look = f' color="{TRANSFER_HUE}" penwidth=2' if wire.moves else ""
        yield f"  {_quote(source)} -> {_quote(target)} [label={_quote(wire.label)}{look}]"
    yield "}"


def _dot_node(box: Box) -> str:
    shape = _SHAPES.get(box.look, _OTHER_SHAPE)
    look = f'{shape} color="{hue(box.device)}" tooltip={_quote(box.device)}'
    return f"{_quote(box.name)} [label={_quote(_label(box))} {look}]"


def _label(box: Box) -> str:
    return "\n".join([box.title, *box.lines])


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
