"""Pictures: every op once, a box per kernel, a mark per transfer, text that is safe, files that others read."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import networkx
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import unregister
from tensorframe.errors import ArgumentError
from tensorframe.notebook.diagrams.diagram import Box, Diagram, Look
from tensorframe.notebook.diagrams.drawing import draw
from tensorframe.notebook.picture import Picture
from tensorframe.notebook.stages import STAGES
from tensorframe.notebook.style import TRANSFER_HUE, hue
from tensorframe.notebook.wording import TIMES
from tensorframe.schedule.plan import Plan, StepKind, human_bytes
from tensorframe.testing.boxed import BoxedBackend
from tests.notebook.graphs import LARGE, small, there_and_back, values

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def boxed() -> Iterator[str]:
    """The name of a device that is not host memory."""
    tfr.backends.register(BoxedBackend("boxed"))
    yield "boxed"
    unregister("boxed")


@pytest.fixture
def mixed(boxed: str) -> tfr.Tensor:
    """A tensor that two devices compute."""
    with tfr.config.override(small_size=0, small_nodes=0):
        far = values(300, 100).to_device(boxed)
        return tfr.exp(far * 2).to_device("cpu") + values(300, 100, seed=1)


def plan_of(tensor: tfr.Tensor) -> Plan:
    plan = tensor.explain()
    assert isinstance(plan, Plan)
    return plan


def groups(picture: Picture, *looks: Look) -> list[ElementTree.Element]:
    """Return the drawn boxes, and frames, of these looks."""
    root = ElementTree.fromstring(picture.svg())
    names = {look.value for look in looks}
    return [one for one in root.iter(f"{SVG}g") if names & set(one.get("class", "").split())]


def texts(element: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in element.iter(f"{SVG}text")]


def test_a_recorded_graph_has_a_box_for_each_op_and_its_numbers_inside():
    x = values(300, 100)
    picture = (tfr.exp(x) * 2.5 + x).visualize()
    assert [box.title for box in picture.diagram.boxes] == [
        "x",
        "exp",
        "multiply",
        "add",
        "result",
    ]
    (multiply,) = [group for group in groups(picture, Look.OP) if "multiply" in texts(group)]
    assert "·, 2.5" in texts(multiply)
    assert (picture.diagram.ops, len(groups(picture, Look.INPUT))) == (3, 1)


def test_edges_say_shape_and_dtype():
    picture = tfr.sum(values(300, 100) * 2, axis=1).visualize()
    labels = [wire.label for wire in picture.diagram.wires]
    assert labels == ["float32[300, 100]", "float32[300, 100]", "float32[300]"]
    assert set(labels) <= set(texts(ElementTree.fromstring(picture.svg())))


def test_nothing_is_computed():
    y = small()
    for stage in STAGES:
        y.visualize(stage=stage).svg()
    assert not y.is_computed


def test_a_plan_has_a_box_for_each_kernel_and_library_call():
    y = small()
    plan = plan_of(y)
    assert (plan.kernels, plan.library_calls) > (1, 0)
    for collapse in (False, True, None):
        picture = y.visualize(stage="plan", collapse=collapse)
        calls = [
            group for group in groups(picture, Look.LIBRARY) if "library call" in texts(group)[0]
        ]
        assert len(groups(picture, Look.KERNEL)) == plan.kernels
        assert len(calls) == plan.library_calls


@pytest.mark.parametrize("collapse", [False, True])
def test_steps_of_a_gradient_say_so(collapse):
    tensors = there_and_back()
    plan = tfr.explain(*tensors)
    diagram = tfr.visualize(*tensors, stage="plan", collapse=collapse).diagram
    drawn = [*diagram.frames, *(box for box in diagram.boxes if box.name.startswith("step "))]
    titles = {one.name: one.title for one in drawn}
    ways = {f"step {index}": step.direction for index, step in enumerate(plan.steps)}
    assert {"", "backward", "forward and backward"} == set(ways.values())
    for name, way in ways.items():
        assert titles[name].partition(", ")[2] == way


def test_an_open_kernel_is_a_frame_around_its_ops():
    plan = plan_of(small())
    diagram = plan.visualize(collapse=False).diagram
    several = {
        f"step {index}": len(step.region.ops)
        for index, step in enumerate(plan.steps)
        if len(step.region.ops) > 1
    }
    assert {frame.name: len(diagram.within(frame.name)) for frame in diagram.frames} == several


def test_each_transfer_is_one_mark_with_its_bytes_between_marked_lines(mixed):
    plan = plan_of(mixed)
    assert plan.transfers == 2
    picture = mixed.visualize(stage="plan")
    marks = groups(picture, Look.TRANSFER)
    moved = [
        human_bytes(step.bytes_written) for step in plan.steps if step.kind is StepKind.TRANSFER
    ]
    assert [texts(mark)[-1] for mark in marks] == moved
    names = {box.name for box in picture.diagram.boxes if box.look is Look.TRANSFER}
    for source, target, wire in picture.diagram.edges():
        assert wire.moves == (source in names or target in names)
    (moving,) = [
        one
        for one in ElementTree.fromstring(picture.svg()).iter(f"{SVG}g")
        if one.get("stroke") == TRANSFER_HUE
    ]
    lines = [one for one in moving.iter(f"{SVG}path") if one.get("fill") == "none"]
    assert len(lines) == 2 * plan.transfers


def test_boxes_have_the_colour_of_their_device(mixed, boxed):
    picture = mixed.visualize(stage="plan")
    for group in groups(picture, Look.KERNEL):
        (box,) = [
            box
            for box in (*picture.diagram.boxes, *picture.diagram.frames)
            if box.title in texts(group)
        ]
        assert f'"{hue(box.device)}"' in ElementTree.tostring(group, encoding="unicode")
    legend = texts(ElementTree.fromstring(picture.svg()))
    assert {"cpu", boxed} <= set(legend)
    assert hue("cpu") != hue(boxed)


def test_views_library_calls_and_ops_look_different():
    x = values(300, 100)
    picture = (tfr.sort(x.T, axis=0) + 1).visualize()
    looks = {box.title: box.look for box in picture.diagram.boxes}
    assert (looks["permute"], looks["sort"], looks["add"]) == (Look.VIEW, Look.LIBRARY, Look.OP)
    (view,) = groups(picture, Look.VIEW)
    assert "stroke-dasharray" in ElementTree.tostring(view, encoding="unicode")


def test_a_value_that_somebody_holds_is_kept_and_says_so():
    x = values(300, 100)
    held = tfr.sum(x)
    y = tfr.exp(x) * held
    titles = [
        box.title for box in y.visualize(stage="plan").diagram.boxes if box.look is Look.RESULT
    ]
    assert titles == ["result", "kept"]


def test_several_tensors_are_one_picture():
    x = values(300, 100)
    y = tfr.exp(x)
    diagram = tfr.visualize(y, y + 1).diagram
    titles = [box.title for box in diagram.boxes if box.look is Look.RESULT]
    assert titles == ["result 0", "result 1"]
    assert diagram.ops == 2


def test_a_computed_tensor_and_a_number_are_pictures():
    x = values(300, 100).compute()
    assert [box.title for box in x.visualize().diagram.boxes] == ["x", "result"]
    y = tfr.exp(x).compute()
    assert [box.title for box in y.visualize(stage="plan").diagram.boxes] == ["y", "result"]
    assert [box.title for box in tfr.asarray(2.5).visualize().diagram.boxes][-1] == "result"


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("collapse", [None, True, False])
def test_a_plan_of_500_ops_has_every_op_once(name, collapse):
    y = LARGE[name]()
    plan = plan_of(y)
    diagram = y.visualize(stage="plan", collapse=collapse).diagram
    assert diagram.ops == sum(len(step.region.ops) for step in plan.steps)
    assert len({box.name for box in diagram.boxes}) == len(diagram.boxes)
    recorded = y.visualize(collapse=collapse).diagram
    known = [facts for _, facts in y.graph().nodes(data=True)]
    assert recorded.ops == sum(one["op"] not in ("data", "constant") for one in known)


def test_many_ops_are_closed_and_few_are_not():
    assert not LARGE["chain"]().visualize(stage="plan").diagram.frames
    assert small().visualize(stage="plan").diagram.frames
    assert (
        len(LARGE["chain"]().visualize().diagram.boxes) == 3
    )  # the input, 500 ops in a row, the result
    assert len(LARGE["chain"]().visualize(collapse=False).diagram.boxes) == 502


def test_many_equal_boxes_are_a_stack():
    y = LARGE["diamond"]()
    plan = plan_of(y)
    diagram = y.visualize(stage="plan").diagram
    (kernels, joined) = [box for box in diagram.boxes if box.look is Look.KERNEL]
    assert (kernels.copies, joined.copies) == (plan.kernels - 1, 1)
    assert kernels.title == f"{plan.kernels - 1} {TIMES} kernel"
    (wire,) = [wire for wire in diagram.wires if wire.source == kernels.name]
    assert wire.label == f"{plan.kernels - 1} {TIMES} float32[300, 100]"
    assert wire.nbytes == (plan.kernels - 1) * 300 * 100 * 4
    every = y.visualize(stage="plan", collapse=False)
    assert len(groups(every, Look.KERNEL)) == plan.kernels


def test_what_differs_is_no_stack():
    x = values(300, 100)
    parts = [tfr.sort(x * (index + 1.5), axis=index % 2) for index in range(12)]
    diagram = tfr.visualize(tfr.concat(parts), stage="plan", collapse=True).diagram
    # products are equal but for the sort that takes each
    assert [box.copies for box in diagram.boxes] == [1] * len(diagram.boxes)


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_is_drawn_as_xml_that_can_be_read(stage, mixed):
    picture = mixed.visualize(stage=stage)
    root = ElementTree.fromstring(picture.svg())
    assert root.tag == f"{SVG}svg"
    box = [float(one) for one in root.get("viewBox", "").split()]
    assert box == [0.0, 0.0, float(root.get("width", "")), float(root.get("height", ""))]


def test_steps_are_numbered_once_they_are_in_order():
    titles = [
        frame.title for frame in small().visualize(stage="fuse", collapse=False).diagram.frames
    ]
    assert set(titles) == {"kernel", "library call"}
    ordered = small().visualize(stage="order", collapse=False).diagram.frames
    assert all(re.match(r"\d+ · ", frame.title) for frame in ordered)


def test_another_stage_raises_and_names_the_choices():
    with pytest.raises(ArgumentError, match="no stage 'fusion'") as raised:
        small().visualize(stage="fusion")
    assert all(stage in str(raised.value) for stage in STAGES)


def test_text_is_safe():
    bad = '<script>alert("&")</script>'
    diagram = Diagram(bad, [Box("a", Look.OP, bad, "cpu", (bad,), hint=bad)])
    for shown in (draw(diagram).on_paper(), Picture(diagram)._repr_html_()):
        (root,) = ElementTree.fromstring(f"<p>{shown}</p>").iter(f"{SVG}svg")
        assert root.get("aria-label") == bad
        assert [one.text for one in root.iter(f"{SVG}title")] == [bad]
        assert bad not in shown


def test_pointing_at_an_op_says_the_line_that_recorded_it():
    y = values(300, 100) < 2  # <b>
    (less,) = groups(y.visualize(), Look.OP)
    (title,) = less.iter(f"{SVG}title")
    assert "y = values(300, 100) < 2  # <b>" in (title.text or "")


def test_a_file_brings_its_colours_and_a_page_lends_its_own():
    picture = small().visualize(stage="plan")
    for svg in (picture.svg(), picture.svg(dark=True), picture.svg(dark=False)):
        root = ElementTree.fromstring(svg)
        assert root.get("color") == ("#e6edf3" if svg == picture.svg(dark=True) else "#1f2328")
        assert "var(" not in svg
    assert "prefers-color-scheme" in picture.svg()
    assert picture.svg(dark=True) != picture.svg(dark=False)
    (lent,) = ElementTree.fromstring(picture._repr_html_()).iter(f"{SVG}svg")
    assert (lent.get("fill"), lent.get("color")) == ("currentColor", None)


@pytest.mark.parametrize("name", ["chain", "residual"])
def test_a_notebook_needs_no_script_and_fetches_nothing(name):
    html = LARGE[name]().visualize(stage="plan")._repr_html_()
    assert "<script" not in html
    assert set(re.findall(r"https?://[^\s\"'<]+", html)) <= {"http://www.w3.org/2000/svg"}
    assert ElementTree.fromstring(html).tag == "div"


def test_no_look_is_the_matter_of_a_sheet():
    # pages that show SVG but no sheets would draw black shapes, and words anywhere
    for picture in (small().visualize(), small().visualize(stage="plan")):
        root = ElementTree.fromstring(picture.svg(dark=True))
        assert not list(root.iter(f"{SVG}style"))
        above = {one: parent for parent in root.iter() for one in parent}
        for path in root.iter(f"{SVG}path"):
            line = [path]
            while line[-1] in above:
                line.append(above[line[-1]])
            fill, stroke = [
                next((one.get(name) for one in line[:-1] if one.get(name)), None)
                for name in ("fill", "stroke")
            ]
            assert fill is not None
            assert (fill, stroke) != ("none", None)


def test_a_page_that_drops_svg_and_sheets_shows_an_image_and_no_stray_words():
    picture = small().visualize(stage="plan")
    root = ElementTree.fromstring(picture._repr_html_())
    (image,) = root.iter(f"{SVG}img")  # as XML reads it
    kind, _, content = image.get("src", "").partition(",")
    assert kind == "data:image/svg+xml"
    shown = ElementTree.fromstring(unquote(content))
    assert texts(shown) == texts(ElementTree.fromstring(picture.svg()))
    assert not list(shown.iter(f"{SVG}title"))
    # SVG has its own sizes: without its elements its words have none
    (frame,) = [one for one in root.iter() if one.find(f"{SVG}svg") is not None]
    assert frame.get("style", "").startswith("font-size:0;")
    (svg,) = frame
    assert next(iter(svg)).tag == f"{SVG}desc"


def test_large_pictures_zoom_without_a_script_and_small_ones_need_not():
    assert 'class="fit"' in LARGE["residual"]().visualize(stage="plan")._repr_html_()
    assert 'class="fit"' not in tfr.exp(values(300, 100)).visualize()._repr_html_()


class TestFiles:
    @pytest.fixture
    def picture(self, mixed: tfr.Tensor) -> Picture:
        return mixed.visualize(stage="plan")

    def test_svg(self, picture, tmp_path):
        picture.save(tmp_path / "plan.svg")
        assert ElementTree.parse(tmp_path / "plan.svg").getroot().tag == f"{SVG}svg"

    def test_graphml_is_read_back(self, picture, tmp_path):
        picture.save(str(tmp_path / "plan.graphml"))
        graph = networkx.read_graphml(tmp_path / "plan.graphml")
        assert dict(graph.nodes(data=True)) == dict(picture.graph().nodes(data=True))
        edges = {(source, target): wire for source, target, wire in picture.diagram.edges()}
        assert set(graph.edges) == set(edges)
        for source, target, facts in graph.edges(data=True):
            assert facts["bytes"] == edges[source, target].nbytes
            assert facts["label"] == edges[source, target].label

    def test_dot(self, picture, tmp_path):
        picture.save(tmp_path / "plan.dot")
        text = Path(tmp_path, "plan.dot").read_text(encoding="utf-8")
        assert text.startswith("digraph {")
        assert text.count("{") == text.count("}") == 1 + len(picture.diagram.frames)
        assert text.count(" -> ") == len(list(picture.diagram.edges()))
        assert text.count(f'color="{TRANSFER_HUE}" penwidth=2') == 4
        for box in picture.diagram.boxes:
            assert len(re.findall(rf'^ +"{box.name}" \[', text, re.MULTILINE)) == 1

    def test_dot_quotes_what_its_language_gives_a_meaning(self):
        diagram = Diagram('a "b" \\ c', [Box("a", Look.OP, 'x"\\', "cpu")])
        text = Picture(diagram).dot()
        assert 'label="a \\"b\\" \\\\ c"' in text
        assert 'label="x\\"\\\\"' in text

    def test_png(self, picture, tmp_path):
        pytest.importorskip("resvg_py")
        picture.save(tmp_path / "plan.PNG")
        content = Path(tmp_path, "plan.PNG").read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = np.frombuffer(content[16:24], ">u4")
        root = ElementTree.fromstring(picture.svg())
        assert (width, height) == (2 * int(root.get("width", "")), 2 * int(root.get("height", "")))

    def test_a_png_without_the_package_says_what_to_install(self, picture, monkeypatch):
        monkeypatch.setitem(sys.modules, "resvg_py", None)
        with pytest.raises(ArgumentError, match=r"pip install 'tensorframe-lazy\[notebook\]'"):
            picture.png()

    def test_another_suffix_raises_and_writes_nothing(self, picture, tmp_path):
        with pytest.raises(ArgumentError, match=r"\.svg, \.png, \.dot, \.graphml"):
            picture.save(tmp_path / "plan.pdf")
        assert not list(tmp_path.iterdir())
