"""The page of a profile: well-formed, complete, of bounded size, and told apart by device and by kind of work."""

from __future__ import annotations

import re
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter

import tensorframe as tfr
from tensorframe.backends import registry
from tensorframe.backends.limits import Limits
from tensorframe.frontend.diagnostics.calibration import CalibratedDevice
from tensorframe.graph.device import Device
from tensorframe.notebook.style import TRANSFER_HUE, hue
from tensorframe.notebook.timeline import LABELS, MAKING_HUE, WIDTH, timeline
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.runtime.profiling.timeline import HOST, MAKING, TRANSFERS, Lane, Slice
from tensorframe.testing.boxed import BoxedBackend

MILLISECOND = 1_000_000


def lane(group="cpu", thread=1, name="main"):
    return Lane(group, thread, name)


def piece(began, ended, *, group="cpu", thread=1, kind="kernel", name="add", **facts):
    where = lane(group, thread)
    return Slice(where, kind, name, began * MILLISECOND, ended * MILLISECOND, facts)


def drawn(*pieces, seconds=0.1, kept=None):
    return ElementTree.fromstring(timeline(pieces, seconds, kept))


def bars(tree):
    """The coloured rectangles: left and right edges in milliseconds of 100, colour, opacity, title."""
    scale = 100 / (WIDTH - LABELS)
    found = []
    for one in tree.iter("rect"):
        if one.get("fill") is not None:
            left = (float(one.get("x")) - LABELS) * scale
            right = left + float(one.get("width")) * scale
            found.append(
                (left, right, one.get("fill"), float(one.get("fill-opacity")), one[0].text)
            )
    return found


def parsed(profile):
    return ElementTree.fromstring(profile._repr_html_())


def words(tree):
    tree.find("style").text = ""
    return " ".join(" ".join(tree.itertext()).split())


def test_a_bar_stands_where_its_time_is():
    ((left, right, colour, shown, title),) = bars(drawn(piece(20, 50, line="a.py, line 3: x + 1")))
    assert (left, right) == (pytest.approx(20, abs=0.01), pytest.approx(50, abs=0.01))
    assert (colour, shown) == (hue("cpu"), 1.0)
    assert title == "kernel: add\n30 ms\na.py, line 3: x + 1"


def test_devices_transfers_and_making_kernels_have_lanes_and_colours_of_their_own():
    tree = drawn(
        piece(0, 10, group=HOST, kind="run"),
        piece(1, 2, group=MAKING, kind="compile", name="k_1"),
        piece(2, 3),
        piece(3, 4, group="opencl"),
        piece(4, 5, group=TRANSFERS, kind="transfer", name="copy"),
    )
    assert {bar[2] for bar in bars(tree)} == {MAKING_HUE, hue("cpu"), hue("opencl"), TRANSFER_HUE}
    labels = [one.text for one in tree.iter("text") if one.get("x") == "0"]
    assert labels == ["in tensorframe", "kernels made", "cpu", "opencl", "transfers"]


def test_threads_have_lanes_of_their_own():
    tree = drawn(piece(0, 10), piece(5, 15, thread=2))
    assert len(list(tree.iter("tspan"))) == 2
    assert len({one.get("y") for one in tree.iter("rect") if one.get("fill")}) == 2


def test_what_is_too_near_to_be_told_apart_is_one_bar_as_pale_as_it_is_idle():
    pieces = [piece(index / 100, index / 100 + 0.005) for index in range(5000)]
    (one,) = bars(drawn(*pieces))
    _, right, _, shown, title = one
    assert right == pytest.approx(50, abs=0.1)
    assert shown == pytest.approx(0.35 + 0.65 * 0.5, abs=0.01)
    assert title.startswith("5,000 x add\n25 ms")


def names_in(tree):
    """The words inside bars."""
    return [one.text for one in tree.iter("text") if one.get("fill") is not None]


def test_a_bar_is_named_by_what_took_longest_in_it():
    tree = drawn(
        piece(0, 1, name="matmul"),
        piece(1, 94, name="svd", line="a.py, line 7"),
        piece(94, 95, name="matmul"),
    )
    assert names_in(tree) == ["svd and 2 more"]
    assert bars(tree)[0][4] == "svd\n93 ms\na.py, line 7\n2 x matmul: 2 ms"


def test_a_bar_says_the_longest_few_of_many_names():
    pieces = [piece(index, index + 1, name=f"op {index}") for index in range(9)]
    tree = drawn(*pieces, piece(9, 90, name="sort"))
    assert names_in(tree) == ["sort and 9 more"]
    assert bars(tree)[0][4].splitlines()[-1] == "and 5 more"


def test_equal_names_are_counted():
    assert names_in(drawn(piece(0, 30), piece(30, 60))) == ["2 x add"]


def test_a_page_that_shows_no_svg_has_the_picture_as_an_image():
    tree = drawn(piece(20, 50))
    (image,) = tree.iter("img")
    svg = ElementTree.fromstring(unquote(image.get("src").partition(",")[2]))
    (kept,) = [one for one in svg.iter() if one.tag.endswith("}path")]
    assert kept.get("fill") == hue("cpu")
    # an image has no ink of the page's
    assert re.fullmatch("#[0-9a-f]{6}", svg.get("color"))
    assert not [one for one in svg.iter() if one.tag.endswith("}title")]


def test_a_long_profile_is_a_small_picture():
    few = timeline([piece(index, index + 0.1) for index in range(100)], 0.1)
    many = timeline([piece(index / 500, index / 500 + 0.001) for index in range(50_000)], 0.1)
    assert len(many) < len(few)


def test_a_step_is_drawn_without_the_making_of_its_kernels():
    tree = drawn(
        piece(10, 60, group="opencl"), piece(20, 50, group=MAKING, kind="compile", name="k_1")
    )
    steps = [(left, right) for left, right, colour, *_ in bars(tree) if colour == hue("opencl")]
    np.testing.assert_allclose(steps, [(10, 20), (50, 60)], atol=0.05)


def test_it_says_from_where_on_steps_are_not_kept():
    assert "not kept" in "".join(drawn(piece(0, 5), kept=0.05).itertext())
    assert "not kept" not in "".join(drawn(piece(0, 5)).itertext())


def test_names_are_no_markup():
    assert "<x>" in bars(drawn(piece(0, 50, name="<x> & y")))[0][4]


@pytest.fixture
def profile():
    """A profile with everything that there can be."""
    registry.register(BoxedBackend("boxed"))
    PLANS.clear()
    x = tfr.asarray(np.ones((200, 200), np.float32))
    with tfr.profile() as found:
        for _ in range(3):
            (x @ x + 1).compute()
        tfr.jit(lambda u: tfr.sin(u) * 2)(x)
        (x.to_device("boxed") < 5).numpy()
        (tfr.asarray([1.0]) + 1).compute()
    yield found
    PLANS.clear()
    registry.unregister("boxed")


def test_the_page_is_well_formed_and_says_everything(profile):
    said = words(parsed(profile))
    for expected in (
        *("on cpu", "on boxed", "transfers", "planning", "outside tensorframe"),
        *("library call", "small graph", "1 replayed by jit", "5 plan runs"),
        *("cpu → boxed", "boxed → host", "(x @ x + 1).compute()", "test_timeline.py, line"),
        *("tfr.calibrate()", "memory of cpu"),
    ):
        assert expected in said, expected


def test_the_page_fetches_nothing(profile):
    page = profile._repr_html_()
    assert not re.findall(r'src="(?!data:)|href=|url\(|<script|@import', page)
    assert len(page) < 40_000


def test_notebooks_get_the_page_and_plain_text(profile):
    data, _ = DisplayFormatter().format(profile)
    assert data["text/html"].startswith('<div class="tensorframe">')
    assert data["text/plain"].startswith("profile: ")


def test_the_shares_of_the_bar_are_the_whole(profile):
    (bar,) = [one for one in parsed(profile).iter("div") if one.get("class") == "share"]
    widths = [float(re.match(r"width:([\d.]+)%", one.get("style"))[1]) for one in bar]
    assert sum(widths) == pytest.approx(100, abs=0.1)


def test_many_rows_are_folded():
    x = tfr.asarray(np.ones(10_000, np.float32), device="numpy")  # where nothing is compiled
    with tfr.profile() as p:
        for number in range(20):
            tfr.sum(tfr.reshape(x, (-1, 2 ** (number % 5)))[number:], axis=0).compute()
            tfr.clip(x[number:], 0, 1).compute()
    tree = parsed(p)
    (details,) = list(tree.iter("details"))
    shown = [one for one in tree.iter("tr") if one.get("class") == "line"]
    assert len(shown) == len([record for record in p.records if record.kind != "view"])
    assert len([one for one in details.iter("tr") if one.get("class") == "line"]) == len(shown) - 15


def test_an_empty_profile_is_a_page_too():
    with tfr.profile() as p:
        pass
    assert "nothing was computed" in words(parsed(p))
    assert not list(parsed(p).iter("svg"))


def test_a_calibration_is_a_table_with_the_fastest_as_the_measure():
    found = tfr.Calibration(
        (
            CalibratedDevice(Device("cpu"), "2 cores", Limits(5e10, 3e10, 1e11), measured=True),
            CalibratedDevice(Device("opencl"), "a <GPU>", Limits(2e11, 4e10, 1e10), measured=False),
            CalibratedDevice(Device("wgpu"), "lost", None, measured=False, problem="a & b"),
        )
    )
    tree = ElementTree.fromstring(found._repr_html_())
    filled = re.findall(r"#\w+ (\d+)%,", ElementTree.tostring(tree, encoding="unicode"))
    assert filled == ["25", "75", "100", "100", "100", "10"]
    said = words(tree)
    for expected in ("50 GB/s", "30 GB/s", "100 GFLOP/s", "a <GPU>", "measured before", "a & b"):
        assert expected in said
