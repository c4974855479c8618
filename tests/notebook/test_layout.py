"""Layouts: everything has a place of its own, lines go down and around, and what can be straight is straight."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.notebook.diagrams.columns import fold
from tensorframe.notebook.diagrams.coordinates import nearest
from tensorframe.notebook.diagrams.diagram import Box, Diagram, Frame, Look, Wire
from tensorframe.notebook.diagrams.layers import Net, ranks, rows_of, split_wide, uncross
from tensorframe.notebook.diagrams.layout import Area, Scene, arrange
from tensorframe.notebook.diagrams.measures import HEADER, code_width
from tensorframe.notebook.diagrams.placing import Curve, Turn
from tensorframe.notebook.stages import picture_of
from tests.notebook.graphs import ALL, tangle

DRAWN = [(name, stage) for name in ALL for stage in ("recorded", "plan")]


@pytest.fixture(scope="module", params=DRAWN, ids="-".join)
def drawn(request) -> tuple[Diagram, Scene]:
    """A diagram and where everything of it stands."""
    name, stage = request.param
    tensor = ALL[name]()
    diagram = picture_of([tensor.node], stage, None).diagram
    return diagram, arrange(diagram)


@pytest.fixture(scope="module")
def opened() -> tuple[Diagram, Scene]:
    """A plan whose kernels are all open, many with many ops."""
    diagram = picture_of([tangle().node], "plan", False).diagram
    return diagram, arrange(diagram)


def overlap(one: Area, two: Area) -> bool:
    beside = one.x + one.width <= two.x or two.x + two.width <= one.x
    above = one.y + one.height <= two.y or two.y + two.height <= one.y
    return not (beside or above)


def holds(outer: Area, inner: Area) -> bool:
    return (
        outer.x <= inner.x + 1e-6
        and outer.y <= inner.y + 1e-6
        and inner.x + inner.width <= outer.x + outer.width + 1e-6
        and inner.y + inner.height <= outer.y + outer.height + 1e-6
    )


def outside(diagram: Diagram, scene: Scene) -> list[Area]:
    """Return the frames, and the boxes in none."""
    single = [scene.boxes[box.name] for box in diagram.boxes if box.frame is None]
    return single + list(scene.frames.values())


def check(diagram: Diagram, scene: Scene) -> None:
    assert set(scene.boxes) == {box.name for box in diagram.boxes}
    assert not any(overlap(one, two) for one, two in combinations(outside(diagram, scene), 2))
    for frame in diagram.frames:
        members = [scene.boxes[box.name] for box in diagram.within(frame.name)]
        assert all(holds(scene.frames[frame.name], member) for member in members)
        assert not any(overlap(one, two) for one, two in combinations(members, 2))
    whole = Area(0.0, 0.0, scene.width, scene.height)
    assert all(holds(whole, one) for one in outside(diagram, scene))


def test_nothing_overlaps_and_frames_hold_their_boxes(drawn, opened):
    check(*drawn)
    check(*opened)


def test_labels_do_not_overlap(drawn):
    diagram, scene = drawn
    tags = [
        Area(x - code_width(wire.label) / 2, y - 5.0, code_width(wire.label), 10.0)
        for wire, places in zip(diagram.wires, scene.tags, strict=True)
        for x, y in places
    ]
    assert len(tags) == sum(bool(wire.label) for wire in diagram.wires)
    assert not any(overlap(one, two) for one, two in combinations(tags, 2))
    assert not any(overlap(tag, box) for tag in tags for box in scene.boxes.values())
    # some stand in a frame, none across its border
    frames = scene.frames.values()
    assert not any(
        overlap(tag, frame) and not holds(frame, tag) for tag in tags for frame in frames
    )


def test_lines_go_down(drawn, opened):
    for _, scene in (drawn, opened):
        curves = [line for lines in (*scene.lines, *scene.inner) for line in lines]
        for line in curves:
            if isinstance(line, Curve):
                assert line.start[1] <= line.bends[0] + 1e-6
                assert line.bends[0] <= line.bends[1] <= line.end[1] + 1e-6
            else:
                assert line.points[-1][0] > line.points[0][0]  # on in a column further right


def points_of(line: Curve | Turn) -> Iterator[tuple[float, float]]:
    """Yield points of a line, twenty to a piece."""
    if isinstance(line, Turn):
        corners = list(line.points)
    else:
        (x0, y0), (foot, head), (x1, y1) = line.start, line.bends, line.end
        middle = (foot + head) / 2
        for part in range(21):
            t = part / 20
            yield (
                x0 * (1 - t) ** 2 * (1 + 2 * t) + x1 * t**2 * (3 - 2 * t),
                (1 - t) ** 3 * foot + 3 * t * (1 - t) * middle + t**3 * head,
            )
        corners = [(x0, y0), (x0, foot)]
    for (x0, y0), (x1, y1) in pairwise(corners):
        for part in range(21):
            yield x0 + (x1 - x0) * part / 20, y0 + (y1 - y0) * part / 20


def test_no_line_crosses_a_box(drawn):
    diagram, scene = drawn
    areas = outside(diagram, scene)
    left, top = (np.array([getattr(area, one) for area in areas]) + 1 for one in "xy")
    right = left + [area.width - 2 for area in areas]
    foot = top + [area.height - 2 for area in areas]
    for lines in scene.lines:
        for line in lines:
            x, y = np.array(list(points_of(line))).T[:, :, None]
            assert not ((left < x) & (x < right) & (top < y) & (y < foot)).any()


def test_every_value_arrives_at_all_that_use_it(drawn):
    diagram, scene = drawn
    frames = {box.name: box.frame for box in diagram.boxes}
    for wire, lines, inner in zip(diagram.wires, scene.lines, scene.inner, strict=True):
        for target in wire.targets:
            frame = frames[target]
            own = frame is not None and frame == frames[wire.source]
            if not own:
                area = scene.boxes[target] if frame is None else scene.frames[frame]
                assert arrives(lines, area)
            if frame is not None:
                assert arrives(inner, scene.boxes[target])


def arrives(lines: list[Curve | Turn], area: Area) -> bool:
    ends = [
        line.end if isinstance(line, Curve) else line.points[-1] for line in lines if line.arrow
    ]
    return any(area.x < x < area.x + area.width and abs(y - area.y) < 1e-6 for x, y in ends)


def boxes(*names: str, frame: str | None = None) -> list[Box]:
    return [Box(name, Look.OP, name, "cpu", frame=frame) for name in names]


def test_layers_hang_straight_below_one_another_with_their_weights_beside():
    diagram = Diagram("net")
    for index in range(5):
        diagram.boxes += boxes(f"weight {index}", f"layer {index}")
        diagram.wires.append(Wire(f"weight {index}", (f"layer {index}",), "float32[64]", 256))
        if index:
            diagram.wires.append(
                Wire(f"layer {index - 1}", (f"layer {index}",), "float32[64]", 256)
            )
    scene = arrange(diagram)
    centres = [
        scene.boxes[f"layer {index}"].x + scene.boxes[f"layer {index}"].width / 2
        for index in range(5)
    ]
    assert max(centres) - min(centres) < 1e-6
    tops = [scene.boxes[f"layer {index}"].y for index in range(5)]
    weights = [scene.boxes[f"weight {index}"].y for index in range(5)]
    assert tops == sorted(tops)
    assert all(weight < top for weight, top in zip(weights, tops, strict=True))
    assert all(weight > top for weight, top in zip(weights[2:], tops, strict=False))  # and near it


def test_boxes_stand_off_the_bar_of_a_kernel_that_reads_nothing():
    numbers = tfr.linspace(0, 1, 600)
    diagram = picture_of([tfr.sin(numbers).node], "plan", collapse=False).diagram
    scene = arrange(diagram)
    framed = [box for box in diagram.boxes if box.frame is not None]
    assert framed
    for box in framed:
        assert scene.boxes[box.name].y >= scene.frames[box.frame].y + HEADER + 8


def test_a_wire_that_leaves_a_frame_has_one_label_below_it():
    diagram = Diagram(
        "frame", [*boxes("a", "b", frame="f"), *boxes("c")], [Frame("f", Look.KERNEL, "f", "cpu")]
    )
    diagram.wires = [Wire("a", ("b",), "", 4), Wire("b", ("c",), "float32[]", 4)]
    scene = arrange(diagram)
    ((_, y),) = scene.tags[1]
    frame = scene.frames["f"]
    assert frame.y + frame.height < y < scene.boxes["c"].y


def test_an_empty_diagram_is_a_picture():
    assert arrange(Diagram("nothing")).boxes == {}


def test_ranks_stand_below_what_they_use_and_sources_near_their_users():
    nets = [Net(0, (1,)), Net(1, (2,)), Net(2, (3,)), Net(4, (3,))]
    assert ranks(5, nets) == [0, 1, 2, 3, 2]


def test_a_long_net_has_one_joint_in_each_row_that_it_passes():
    nets = [Net(0, (1, 2, 3)), Net(1, (2,)), Net(2, (3,))]
    rows = rows_of(ranks(4, nets), nets)
    assert [sum(rows.is_joint(one) for one in row) for row in rows.rows] == [0, 1, 1, 0]
    assert (
        len([link for link in rows.links if link.net == 0]) == 5
    )  # two of the trunk, three off it


def test_wide_rows_are_split_evenly():
    found = split_wide([0] * 10 + [1], [100.0] * 11, 400.0)
    assert found[10] == max(found)
    sizes = [found[:10].count(row) for row in sorted(set(found[:10]))]
    assert sum(sizes) == 10
    assert max(sizes) <= 5
    assert min(sizes) >= 2


def test_lines_that_need_not_cross_do_not():
    # a binary tree whose leaves are given in the wrong order
    nets = [Net(0, (2, 1)), Net(1, (6, 3)), Net(2, (5, 4))]
    rows = rows_of(ranks(7, nets), nets)
    uncross(rows)
    _, middle, last = rows.rows
    assert [last.index(one) // 2 for one in (3, 6, 4, 5)] == [middle.index(1)] * 2 + [
        middle.index(2)
    ] * 2


def test_places_are_the_nearest_in_order():
    assert nearest([(0.0, 1.0), (10.0, 1.0)], [4.0]) == [0.0, 10.0]
    assert nearest([(5.0, 1.0), (5.0, 1.0)], [4.0]) == [3.0, 7.0]
    assert nearest([(5.0, 3.0), (5.0, 1.0)], [4.0]) == [4.0, 8.0]
    assert nearest([(9.0, 1.0), (0.0, 1.0), (0.0, 1.0)], [1.0, 1.0]) == [2.0, 3.0, 4.0]


def test_what_is_much_higher_than_wide_goes_on_beside_itself():
    many = 200
    columns = fold([(0.0, 100.0)] * many, [20.0] * many, [10.0] * many, [1] * many, 1.5)
    assert len(columns) > 3
    assert [row for column in columns for row in column.tops] == list(range(many))
    ends = [column.right + 0.0 for column in columns]
    assert ends == sorted(ends)
    assert all(one.end < two.right for one, two in pairwise(columns))
    width, height = columns[-1].end, max(column.foot for column in columns)
    assert 0.7 < width / height < 3.0


def test_what_hangs_together_by_many_lines_is_not_cut():
    many = 200
    assert len(fold([(0.0, 100.0)] * many, [20.0] * many, [10.0] * many, [40] * many, 1.5)) == 1
