"""The card of a tensor: computes what it shows, is HTML that fetches nothing, and never fails."""

import base64
import re
import zlib
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter

import tensorframe as tfr
from tensorframe.backends import registry
from tensorframe.dtypes import ANY
from tensorframe.errors import CancelledError, KernelError
from tensorframe.notebook.card import look
from tensorframe.notebook.card.image import HIGHEST, LEAST, LOWEST, MOST, UNKNOWN
from tensorframe.notebook.card.png import png
from tensorframe.testing.boxed import BoxedBackend
from tests.backends.devices import FOUND, holds, some
from tests.notebook.counting import counted

BILLION = 10**9
DEVICES = ["cpu", "numpy", "llvm", *FOUND]
HUGE = {
    "range of integers": lambda: tfr.sqrt(tfr.arange(BILLION) + 1),
    "range of fractions": lambda: tfr.sin(tfr.arange(BILLION, dtype=tfr.float32) * 1e-8),
    "linspace": lambda: tfr.exp(-tfr.linspace(0, 3, BILLION)),
    "broadcast": lambda: tfr.sin(tfr.linspace(0, 9, 40_000)[:, None]) + tfr.arange(25_000),
    "full": lambda: tfr.full((40_000, 25_000), 2.0) * tfr.arange(25_000) + 1,
    "random": lambda: tfr.exp(tfr.random.normal((BILLION,))),
    "random plane": lambda: tfr.random.normal((40_000, 25_000)) * 2,
    "joined": lambda: tfr.concat([tfr.arange(BILLION // 2) * 2, tfr.arange(BILLION // 2)]),
    "five axes": lambda: tfr.ones((100, 100, 100, 100, 10)) * tfr.arange(10.0),
}


def parsed(tensor):
    """Return the card of a tensor as a tree, which it is only if it is well-formed."""
    return ElementTree.fromstring(tensor._repr_html_())


def words(tree):
    """Return all that a card says, without its style."""
    tree.find("style").text = ""
    return " ".join("".join(tree.itertext()).split())


def pixels_of(tree):
    """Return the pixels of the image in a card, which is filtered by nothing."""
    (image,) = tree.iter("img")
    kind, _, data = image.get("src").partition(",")
    assert kind == "data:image/png;base64"
    file = base64.b64decode(data, validate=True)
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(file[at : at + 4], "big") for at in (16, 20))
    begin = file.index(b"IDAT")
    length = int.from_bytes(file[begin - 4 : begin], "big")
    rows = np.frombuffer(zlib.decompress(file[begin + 4 : begin + 4 + length]), np.uint8)
    rows = rows.reshape(height, -1)
    assert not rows[:, 0].any()
    samples = rows[:, 1:].reshape(height, width, -1)
    if b"PLTE" not in file[:begin]:
        return samples
    length = int.from_bytes(file[37 - 4 : 37], "big")
    colours = np.frombuffer(file[41 : 41 + length], np.uint8).reshape(-1, 3)
    return colours[samples[..., 0]]


def paths_of(tree):
    """Return the paths of the line in a card, which is an image."""
    (image,) = tree.iter("img")
    kind, _, data = image.get("src").partition(",")
    assert kind == "data:image/svg+xml"
    return list(ElementTree.fromstring(unquote(data)).iter("{http://www.w3.org/2000/svg}path"))


def rgb(colour):
    return list(bytes.fromhex(colour[1:]))


def test_notebooks_get_the_card_and_plain_text():
    tensor = tfr.arange(30) + 0.5
    data, _ = DisplayFormatter().format(tensor)
    assert data["text/html"] == tensor._repr_html_()
    assert data["text/plain"] == repr(tensor)


@pytest.mark.parametrize("name", HUGE)
def test_a_billion_elements_are_shown_by_computing_few(name):
    huge = HUGE[name]()
    with counted() as printed:
        text = repr(huge)
    assert "..." in text
    assert printed.elements < 20_000
    assert printed.flops < 1e6
    with counted() as drawn:
        card = parsed(huge)
    assert "recorded" in words(card)
    assert drawn.elements < 10_000
    assert drawn.flops < 1e7
    assert not huge.is_computed


def test_a_picture_that_needs_everything_is_not_drawn():
    # a strided window on a reshape holds nearly every element of what is reshaped
    huge = (tfr.arange(BILLION) * 2).reshape(100_000, 10_000)
    with counted() as made:
        card = parsed(huge)
    assert not list(card.iter("figure"))
    assert "1999999998" in words(card)
    assert made.elements < 1_000_000


def test_what_takes_long_is_not_computed_unasked():
    slow = tfr.ones((20_000, 20_000)) + tfr.arange(20_000)
    slow = slow @ slow
    with counted() as made:
        card = words(parsed(slow))
    assert "To show elements would take long: .compute() does" in card
    assert "1 library call" in card
    assert made.elements == 0
    assert not slow.is_computed


def test_a_product_is_computed_once_for_numbers_and_picture():
    factor = tfr.asarray(some((60, 60), "float32"))
    product = factor @ factor
    with counted() as made:
        card = parsed(product)
    assert len(list(card.iter("img"))) == 1
    assert made.elements == 60 * 60
    assert product.is_computed


def test_a_small_tensor_is_computed_and_keeps_it():
    small = tfr.asarray([1.0, 2.0]) + 1
    assert "[2. 3.]" in words(parsed(small))
    assert small.is_computed


@pytest.mark.parametrize("dtype", sorted(map(str, ANY)))
@pytest.mark.parametrize("shape", [(), (0,), (5,), (300,), (40, 30), (2, 3, 4), (3, 2, 9, 2, 8)])
def test_every_dtype_and_shape_has_a_card(dtype, shape):
    tensor = tfr.abs(tfr.asarray(some(shape, "float32"))).astype(dtype)
    for state in ("recorded" if tensor.size > 1000 else "computed", "computed"):
        card = words(parsed(tensor))
        assert f"{shape} {dtype}".replace(" ", "") in card.replace(" ", "")
        assert state in card
        tensor.compute()


@pytest.mark.parametrize("device", DEVICES)
def test_every_device_has_a_card(device):
    for dtype in ("float32", "int32", "bool", "complex64", "uint8"):
        if device in FOUND and not holds(device, dtype):
            continue
        values = some((200, 120), dtype)
        recorded = tfr.asarray(values, device=device)[::-1]
        for tensor in (recorded, tfr.asarray(values, device=device).compute()):
            card = parsed(tensor)
            assert device in words(card)
            assert len(list(card.iter("img"))) == 1


def test_a_device_hands_out_only_what_is_shown():
    near = BoxedBackend("near")
    registry.register(near)
    try:
        tensor = tfr.asarray(some((3000, 1000), "float32"), device="near").compute()
        parsed(tensor)
        cells = 94 * 91  # every 32nd row and 11th column
        assert near.counts["bytes down"] <= (7 * 7 + cells + 100) * 4
    finally:
        registry.unregister("near")


def test_nothing_is_fetched_and_no_script_runs():
    html = tfr.asarray(some((40, 30), "float32"))._repr_html_()
    assert not re.search(r"<script|<link|@import|url\(|src=\"(?!data:)|href=", html)


def test_what_users_write_is_escaped():
    source = 'made = tfr.ones((40, 30)) + tfr.arange(30)  # <b>"bold"</b> & more'
    namespace = {"tfr": tfr}
    exec(compile(source, "<input & output>", "exec"), namespace)
    html = namespace["made"]._repr_html_()
    assert "<input" not in html
    assert "&lt;input &amp; output&gt;" in html
    ElementTree.fromstring(html)


def test_inside_a_recording_a_card_says_why_there_are_no_values():
    cards = []

    @tfr.jit
    def shown(x):
        cards.append(words(parsed(x * 2)))
        cards.append(words(parsed(tfr.arange(3) * 2)))
        return x

    shown(tfr.ones((4, 5)))
    assert "(4, 5)" in cards[0]
    assert "are not known while jit records the function" in cards[0]
    assert "[0 2 4]" in cards[1]


def test_an_error_is_shown_with_the_line_that_recorded_it():
    wrong = tfr.asarray([1.0, 2.0])[tfr.asarray([5]) + 0]  # this line
    card = words(parsed(wrong))
    assert "IndexingError: index 5 is out of bounds for axis 0 with size 2" in card
    assert "test_card.py" in card
    assert "# this line" in card


def test_a_device_that_fails_breaks_no_card():
    class Broken(BoxedBackend):
        def compile(self, region, device):
            def run(inputs, buffers):
                raise RuntimeError("a < b & c")

            return run

    registry.register(Broken("broken"))
    try:
        wrong = tfr.sin(tfr.asarray(some((3, 4), "float32"), device="broken"))
        card = words(parsed(wrong))
        assert "KernelError" in card
        assert "RuntimeError: a < b & c" in card
        assert repr(wrong).startswith("Tensor(<KernelError: ")
    finally:
        registry.unregister("broken")


def test_memory_that_is_not_there_breaks_no_card(monkeypatch):
    monkeypatch.setattr(look, "PATIENCE", np.inf)
    column = tfr.asarray(np.ones((4_000_000, 1)))
    card = words(parsed(tfr.cumulative_sum(column * column.T, axis=0)))
    assert "OutOfMemoryError: out of memory: 116 TiB are needed on cpu" in card


def test_an_interrupt_is_not_shown_but_raised(monkeypatch):
    def interrupted(*_):
        raise CancelledError("interrupted")

    monkeypatch.setattr(look, "seen", interrupted)
    with pytest.raises(CancelledError):
        tfr.ones(3)._repr_html_()


def test_a_card_says_what_computing_takes():
    x = tfr.asarray(np.ones((300, 400), np.float32))
    card = words(parsed(tfr.exp(x) * 2 + 1))
    assert "3 ops recorded \N{RIGHTWARDS ARROW} 1 kernel · reads 469 KiB, writes 469 KiB" in card
    assert "2 ops recorded \N{RIGHTWARDS ARROW} a view: nothing to compute" in words(
        parsed(x.T[::2])
    )


def test_a_card_plans_what_computing_would_run():
    x = tfr.asarray(np.ones((300, 400), np.float32))
    y = tfr.clip(tfr.mean(x, axis=1, keepdims=True) + 2 * x, 0, 1) ** 0.5
    plan = y.explain()
    # nodes that the card itself looks at are not held: their values would be results, and in kernels of their own
    assert f"{plan.kernels} kernel · reads" in words(parsed(y))


def test_a_long_graph_is_not_planned_to_be_shown(monkeypatch):
    x = tfr.asarray(np.ones((300, 400), np.float32))
    for _ in range(300):
        x = tfr.sin(x)
    assert "300 ops recorded" in words(parsed(x))
    assert "kernel" not in words(parsed(x))


def test_a_computed_tensor_says_what_its_elements_are_like():
    values = np.linspace(-1, 3, 5000).reshape(50, 100)
    values[3, 4:7] = np.nan, np.inf, -np.inf
    card = words(parsed(tfr.asarray(values)))
    assert "min -1 · mean 1" in card
    assert "max 3 · 1 NaN · 2 infinite" in card
    assert "magnitude: min 5 · mean 5 · max 5" in words(parsed(tfr.asarray([3 + 4j] * 20)))
    assert "7 of 20 are True" in words(parsed(tfr.arange(20) < 7))


def test_the_colours_of_a_plane_are_those_of_its_numbers():
    values = np.arange(48.0).reshape(6, 8)
    values[2, 3:6] = np.nan, np.inf, -np.inf
    pixels = pixels_of(parsed(tfr.asarray(values)))
    assert pixels.shape == (6, 8, 3)
    assert pixels[0, 0].tolist() == rgb(LEAST)
    assert pixels[5, 7].tolist() == rgb(MOST)
    assert pixels[2, 3:6].tolist() == [rgb(UNKNOWN), rgb(HIGHEST), rgb(LOWEST)]
    brightness = pixels.astype(int) @ [2, 7, 1]
    assert (np.diff(np.delete(brightness.ravel(), slice(19, 22))) >= 0).all()


@pytest.mark.parametrize("colours", [1, 2, 256, 257])
def test_few_colours_are_numbered_and_many_are_not(colours):
    values = np.zeros((20, 30, 3), np.uint8)
    values.reshape(-1, 3)[:colours, 0] = np.arange(colours) % 256
    values.reshape(-1, 3)[:colours, 1] = np.arange(colours) // 256
    np.testing.assert_array_equal(pixels_of(parsed(tfr.asarray(values))), values)
    assert (b"PLTE" in png(values)) is (colours <= 256)


def test_cards_are_small():
    smooth = tfr.sin(tfr.linspace(0, 9, 400)[:, None] * tfr.linspace(0, 9, 300))
    for tensor, most in (
        (tfr.asarray(2.5), 2500),
        (tfr.asarray(np.arange(12.0).reshape(3, 4)), 2700),
        (smooth.compute(), 15_000),
        (tfr.sin(tfr.linspace(0, 40, 100_000)).compute(), 9000),
    ):
        assert len(tensor._repr_html_()) < most


def test_a_photograph_is_drawn_as_it_is():
    values = some((20, 30, 3), "uint8")
    np.testing.assert_array_equal(pixels_of(parsed(tfr.asarray(values))), values)
    fractions = tfr.asarray((values / 255).astype(np.float32))
    np.testing.assert_array_equal(pixels_of(parsed(fractions)), values)
    opaque = some((20, 30, 4), "uint8")
    np.testing.assert_array_equal(pixels_of(parsed(tfr.asarray(opaque))), opaque)


def test_a_large_photograph_is_sampled():
    values = some((1000, 700, 3), "uint8")
    pixels = pixels_of(parsed(tfr.asarray(values)))
    np.testing.assert_array_equal(pixels, values[2::7, 3::7])


def test_a_line_goes_through_every_element_of_a_short_tensor():
    values = [0.0, 1.0, np.nan, 3.0, 2.0, 1.0, np.inf, 1.0, 0.0, -np.inf]
    card = parsed(tfr.asarray(values))
    curves = [path.get("d") for path in paths_of(card) if path.get("stroke-width") == "1.5"]
    # one for each run of finite elements; those of a single element have it twice
    assert [curve.count("L") + 1 for curve in curves] == [2, 3, 2]
    assert "1 NaN · 2 infinite" in words(card)


def test_a_long_line_keeps_every_peak():
    values = np.zeros(100_000, np.float32)
    values[54_321] = 1
    (band,) = [
        path.get("d")
        for path in paths_of(parsed(tfr.asarray(values)))
        if path.get("fill") == path.get("stroke") is not None
    ]
    heights = [float(point.split()[1]) for point in re.findall(r"[\d.]+ [\d.]+", band)]
    assert sum(height < 32 for height in heights) == 1


@pytest.mark.parametrize("shape", [(40,), (8, 9), (20, 16, 3)])
def test_a_range_that_no_float_holds_is_drawn(shape):
    values = np.zeros(shape)
    most = np.finfo(np.float64).max
    values.flat[:5] = -most, most, most, most, np.nan
    assert len(list(parsed(tfr.asarray(values)).iter("figure"))) == 1


def test_constants_have_no_picture():
    assert not list(parsed(tfr.full((40, 40), 3.0) * 1).iter("figure"))
    assert not list(parsed(tfr.full(40, 3.0) * 1).iter("figure"))


def test_numbers_stand_in_columns_and_what_is_not_finite_in_front():
    html = tfr.asarray([[1.0, -2.5], [np.nan, 1e-9]])._repr_html_()
    ElementTree.fromstring(html)
    text = re.sub("<[^>]*>", "", re.search("<pre[^>]*>(.*)</pre>", html, re.DOTALL)[1])
    assert text == "[[   1.  -2.5]\n [  nan 1e-09]]"
    assert "<em>nan</em>" in html


def test_of_many_axes_the_last_three_are_printed():
    card = words(parsed(tfr.ones((3, 4, 5, 6, 7)) * tfr.arange(7.0)))
    assert "[0, 0, :, :, :]" in card
    assert "[0, 0, 0, :, :]" in card  # of the picture


def test_an_error_of_any_kind_is_told(monkeypatch):
    def wrong(*_):
        raise KernelError("a <kernel> failed", location="cell 3, line 1:   x < y")

    monkeypatch.setattr(look, "seen", wrong)
    card = words(parsed(tfr.ones(3)))
    assert "KernelError: a <kernel> failed" in card
    assert "recorded at cell 3, line 1: x < y" in card


def test_one_display_is_one_look():
    # IPython shows text and card: as two looks they would be reason enough to store the tensor
    x = tfr.asarray(some((300, 400), "float32"))
    y = tfr.exp(x) * 2
    for _ in range(5):
        y._repr_html_()
    assert y.node.spent == 0
    DisplayFormatter().format(y)
    assert not y.is_computed
