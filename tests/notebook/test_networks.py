"""What `graph()` returns is a networkx DiGraph that a notebook draws, whatever was taken out of it or added."""

from __future__ import annotations

import pickle
import sys
from typing import Any
from xml.etree import ElementTree

import networkx
import pytest
from IPython.core.formatters import DisplayFormatter

import tensorframe as tfr
from tensorframe.notebook.diagrams.diagram import Look
from tensorframe.notebook.diagrams.networks import MOST, diagram_of_network
from tests.notebook.graphs import LARGE, small, values

SVG = "{http://www.w3.org/2000/svg}"


def texts(graph: Any) -> list[str]:
    """Return the words in the picture of a graph, without its title and legend."""
    (svg,) = ElementTree.fromstring(graph._repr_html_()).iter(f"{SVG}svg")
    return [one.text or "" for part in svg.iter(f"{SVG}g") for one in part.findall(f"{SVG}text")]


def test_a_notebook_gets_the_picture_and_text() -> None:
    graph = (tfr.exp(values(300, 100)) * 2.5).graph()
    data, _ = DisplayFormatter().format(graph)
    assert isinstance(graph, networkx.DiGraph)
    assert data["text/html"] == graph._repr_html_()
    assert data["text/plain"] == "Network with 4 nodes and 3 edges"


def test_the_recorded_graph_is_drawn_with_its_numbers_inside() -> None:
    x = values(300, 100)
    y = tfr.sort(tfr.exp(x).T * 2.5 - x.T, axis=0)
    diagram = diagram_of_network(y.graph())
    assert diagram is not None
    looks = {box.title: (box.look, box.lines) for box in diagram.boxes}
    assert looks["input"][0] is Look.INPUT
    assert looks["permute"][0] is Look.VIEW
    assert looks["sort"][0] is Look.LIBRARY
    assert looks["multiply"] == (Look.OP, ("·, 2.5",))
    assert "constant" not in looks
    assert "float32[300, 100]" in texts(y.graph())
    # pointing at a box says the line
    assert all("test_networks.py" in box.hint for box in diagram.boxes if box.look is Look.OP)


def test_a_result_that_is_there_is_an_input() -> None:
    y = tfr.exp(values(300, 100)).compute()
    assert "exp, computed" in texts((y * 2).graph())


def test_plans_and_pictures_give_graphs_that_are_drawn_too() -> None:
    y = small()
    plan = y.explain()
    steps = [step.name for step in plan.steps]
    assert set(steps) <= set(texts(plan.graph()))
    picture = y.visualize(stage="plan")
    drawn = texts(picture.graph())
    for box in picture.diagram.boxes:
        assert box.title in drawn


def test_copies_subgraphs_and_changes_are_drawn() -> None:
    graph = small().graph()
    some = list(networkx.topological_sort(graph))[:4]
    assert len(texts(graph.subgraph(some).copy())) < len(texts(graph))
    assert texts(graph.copy()) == texts(graph)
    assert texts(graph.reverse())
    changed = graph.copy()
    changed.add_edge(some[0], "mine & <yours>")
    assert "mine & <yours>" in texts(changed)


def test_a_pickled_graph_is_the_same() -> None:
    graph = small().graph()
    again = pickle.loads(pickle.dumps(graph))
    assert dict(again.nodes(data=True)) == dict(graph.nodes(data=True))
    assert texts(again) == texts(graph)


@pytest.mark.parametrize("change", ["a circle", "nothing", "too many"])
def test_what_cannot_be_drawn_is_text(change: str) -> None:
    graph: Any = small().graph()
    if change == "a circle":
        first, *_, last = networkx.topological_sort(graph)
        graph.add_edge(last, first)
    elif change == "nothing":
        graph.clear()
    else:
        graph = LARGE["chain"]().graph()
        assert len(graph) > MOST
    data, _ = DisplayFormatter().format(graph)
    assert list(data) == ["text/plain"]
    assert str(len(graph)) in data["text/plain"]


def test_a_graph_holds_on_to_no_value() -> None:
    # a plan keeps what has more references than its own
    y = tfr.exp(values(300, 100))
    before = sys.getrefcount(y.node)
    graph: Any = y.graph()
    html = graph._repr_html_()
    after = sys.getrefcount(y.node)  # by itself: an assertion refers to what it looks at
    assert html
    assert after == before
