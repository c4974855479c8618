"""What a notebook shows that somebody else ran: nothing essential is lost without sheets, classes, scripts and SVG."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import tensorframe as tfr
from examples.notebooks import execution
from tensorframe.backends.limits import Limits
from tensorframe.backends.probing import Found
from tensorframe.backends.registry import info_of, unregister
from tensorframe.frontend.diagnostics.calibration import CalibratedDevice
from tensorframe.frontend.diagnostics.doctor import Diagnosis, Finding
from tensorframe.graph.device import Device
from tensorframe.notebook import progress
from tensorframe.notebook.collections import card_of
from tensorframe.notebook.magics import ShownPlans
from tensorframe.runtime.progress.phases import State
from tensorframe.testing.boxed import BoxedBackend
from tests.notebook.graphs import small, values
from tests.notebook.untrusted import declarations, is_allowed, plain, sanitized

HUNDRED = np.linspace(-1, 1, 100, dtype=np.float32)
SVG = "{http://www.w3.org/2000/svg}"
# of what only a sheet or a script uses, which are not there then
ONLY_TRUSTED = {"--width", "animation-delay"}
# looks of their own, whatever a sheet says
LOOKS = {"s", "del", "strike", "ins", "u", "i", "mark", "kbd", "q", "center", "blockquote"}


def profile() -> tfr.Profile:
    x = values(300, 100)
    with tfr.profile() as found:
        for rate in range(3):
            tfr.sum(tfr.exp(x * rate)).compute()
        (x @ x.T).compute()
    return found


def failure() -> tfr.Tensor:
    return tfr.asarray([1.0, 2.0])[tfr.asarray([5]) + 0]


def bench() -> tfr.Benchmark:
    found = tfr.bench(tfr.sqrt(values(9)) * 2, backends=["numpy", "cpu", "dry"], rounds=1)
    assert found["dry"].error is not None
    return found


def calibration() -> tfr.Calibration:
    return tfr.Calibration(
        (
            CalibratedDevice(Device("cpu"), "2 cores", Limits(5e10, 3e10, 1e11), measured=True),
            CalibratedDevice(Device("wgpu"), "lost", None, measured=False, problem="a & b"),
        )
    )


def diagnosis() -> Diagnosis:
    info = info_of(Device("numpy"))
    fixes = ("pip install 'x[y]'", "a <driver>")
    return Diagnosis((Found("numpy", (info,)),), (Finding("cuda", "no driver & no GPU", fixes),))


class Collection(list[object]):
    """What IPython shows of a collection, as if it showed itself."""

    def __init__(self, value: object) -> None:
        self.value = value

    def _repr_html_(self) -> str:
        return card_of(self.value) or ""


PIECES: dict[str, Callable[[], object]] = {
    "scalar": lambda: tfr.asarray(2.5),
    "matrix": lambda: tfr.asarray([[1.0, np.nan], [np.inf, -2.5]]),
    "line": lambda: tfr.asarray(HUNDRED),
    "strip": lambda: tfr.asarray(HUNDRED) < 0,
    "plane": lambda: tfr.exp(values(30, 40)) * 2,
    "photograph": lambda: tfr.asarray((values(20, 30, 3).numpy() * 99).astype(np.uint8)),
    "many axes": lambda: tfr.ones((3, 4, 5, 6)) * tfr.arange(6.0),
    "failure": failure,
    "plan": lambda: small().explain(),
    "recorded": lambda: small().visualize(),
    "picture": lambda: small().visualize(stage="plan"),
    "profile": profile,
    "network": lambda: small().graph(),
    "calibration": calibration,
    "bench": bench,
    "verify": lambda: tfr.verify(tfr.sqrt(values(3)) * 2, backends=["numpy", "cpu", "dry"]),
    "estimate": lambda: tfr.estimate(small()),
    "doctor": diagnosis,
    "module": lambda: tfr.nn.Sequential(tfr.nn.Linear(2, 3).freeze(), tfr.nn.Linear(3, 1)),
    "summary": lambda: tfr.nn.summary(tfr.nn.Sequential(tfr.nn.Linear(2, 3)), (1, 2)),
    "memory": lambda: tfr.nn.estimate_memory(tfr.nn.Linear(2, 3), (1, 2)),
    "magic": lambda: ShownPlans([(small().explain(), "ran once")], 1),
    "collection": lambda: Collection({"a": [values(3), values(300, 400)], "b": failure()}),
}


@pytest.fixture(params=PIECES)
def html(request: pytest.FixtureRequest) -> str:
    return PIECES[request.param]()._repr_html_()  # type: ignore[attr-defined,no-any-return]


def tree_of(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<p>{html}</p>")


def words(element: ElementTree.Element) -> list[str]:
    """The words that can be seen, where no sheet hides any."""

    def pieces(one: ElementTree.Element) -> Iterator[str]:
        hidden = one.tag.startswith(SVG) or one.tag == "style"
        hidden |= bool(re.match("display:none|font-size:0", one.get("style", "")))
        if not hidden:
            yield one.text or ""
            for child in one:
                yield from pieces(child)
                yield child.tail or ""

    return " ".join(pieces(element)).split()


def styles(tree: ElementTree.Element) -> Iterator[tuple[str, str]]:
    for one in tree.iter():
        yield from declarations(one.get("style", ""))


def test_every_class_that_shows_itself_is_tried() -> None:
    for found in pkgutil.walk_packages(tfr.__path__, "tensorframe."):
        if not re.search("testing|__main__|backends|codegen|kernel", found.name):
            importlib.import_module(found.name)
    tried = {type(make()) for make in PIECES.values()}
    showing = {
        kind
        for module in list(sys.modules.values())
        if (getattr(module, "__name__", "") or "").startswith("tensorframe")
        for kind in vars(module).values()
        if isinstance(kind, type)
        and hasattr(kind, "_repr_html_")
        and kind.__module__.startswith("tensorframe")
    }
    # a class that shows itself as one above or below it does is tried with that
    own = attrgetter("_repr_html_")
    ways = set(map(own, tried))
    assert not {kind.__name__ for kind in showing if own(kind) not in ways}


def test_styles_of_elements_are_those_that_stay(html: str) -> None:
    lost = {
        f"{name}:{value}"
        for name, value in styles(tree_of(html))
        if name not in ONLY_TRUSTED and not is_allowed(name, value)
    }
    # but of SVG, which goes as a whole
    assert lost <= {"display:block"}


def test_no_element_is_used_for_another_look_than_its_own(html: str) -> None:
    with_words = {one.tag for one in tree_of(html).iter() if (one.text or "").strip()}
    assert not with_words & LOOKS


def test_every_word_is_still_there_and_none_is_new(html: str) -> None:
    whole = words(tree_of(html))
    assert words(tree_of(sanitized(html))) == whole
    assert words(tree_of(plain(html))) == whole


def test_every_picture_is_still_there(html: str) -> None:
    trusted = tree_of(html)
    pictures = len([one for one in trusted.iter() if one.tag in (f"{SVG}svg", "svg", "img")])
    inside = len([one for one in trusted.iter() if one.tag in (f"{SVG}desc", "desc")])
    assert inside == len([one for one in trusted.iter() if one.tag in (f"{SVG}svg", "svg")])
    for shown in (sanitized(html), plain(html)):
        images = list(tree_of(shown).iter("img"))
        assert len(images) >= pictures - inside
        assert all(image.get("src", "").startswith("data:image/") for image in images)
        assert all(image.get("alt") for image in images)
        assert "<svg" not in shown


def test_cells_of_words_are_to_the_left_and_cells_of_numbers_to_the_right(html: str) -> None:
    for one in tree_of(sanitized(html)).iter():
        if one.tag in ("td", "th"):
            is_left = "text-align:left" in one.get("style", "")
            assert is_left != (one.get("align") == "right"), ElementTree.tostring(one)
            said = "".join(one.itertext()).strip()
            if one.tag == "td" and not is_left:
                assert re.match(r"[-\d\[]|&lt;|<|$|inf|nan|the same memory", said), said


@pytest.mark.parametrize("path", execution.paths(), ids=lambda path: path.stem)
def test_the_examples_are_kept_as_they_are_now(path: Path) -> None:
    outputs = [one for cell in execution.read(path).cells for one in cell.get("outputs", [])]
    pieces = [
        output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})
    ]
    assert pieces
    for html in pieces:
        test_styles_of_elements_are_those_that_stay(html)
        test_no_element_is_used_for_another_look_than_its_own(html)
        test_every_word_is_still_there_and_none_is_new(html)
        test_every_picture_is_still_there(html)
        test_cells_of_words_are_to_the_left_and_cells_of_numbers_to_the_right(html)


@pytest.mark.parametrize(
    "name", ["plane", "failure", "plan", "picture", "bench", "verify", "estimate", "doctor"]
)
def test_frames_stay(name: str) -> None:
    html = PIECES[name]()._repr_html_()  # type: ignore[attr-defined]
    frames = [value for kind, value in styles(tree_of(sanitized(html))) if kind == "border"]
    assert "1px solid #8886" in frames


def test_facts_stay_apart_without_styles() -> None:
    said = words(tree_of(plain(PIECES["plane"]()._repr_html_())))  # type: ignore[attr-defined]
    for fact in ("float32", "cpu", "KiB", "recorded"):
        assert fact in said
    assert words(tree_of(plain(small().explain()._repr_html_())))[:4] == [
        "3",
        "kernels",
        "1",
        "library",
    ]


def test_a_bar_of_progress_that_was_kept_says_what_it_said() -> None:
    state = State(2, 80, "matmul", Device("opencl"), elapsed=12.0, left=28.0, share=0.3)
    shown = sanitized(progress.bar(state))
    assert "background:#E69F00;width:30.0%" in shown
    assert words(tree_of(shown)) == words(tree_of(progress.bar(state)))


def test_transfers_and_fallbacks_are_shown_untrusted_too() -> None:
    tfr.backends.register(BoxedBackend("boxed"))
    try:
        with tfr.config.override(small_size=0, small_nodes=0):
            html = tfr.exp(values(300, 100).to_device("boxed")).explain()._repr_html_()
        assert "transfer" in words(tree_of(sanitized(html)))
    finally:
        unregister("boxed")


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        (
            '<p class="a" onclick="x()" style="color:var(--x);margin:0">a<b>c</b></p>',
            '<p class="a" style="margin:0">a<b>c</b></p>',
        ),
        ("<style>p{}</style><script>x()</script><svg><title>t</title></svg>", "t"),
        (
            '<img src="data:image/png;base64,AA" onerror="x()">',
            '<img src="data:image/png;base64,AA"/>',
        ),
        ("a &lt; b", "a &lt; b"),
        (
            '<i style="border:1px solid currentColor;background:color-mix(in srgb,red,blue)">a</i>',
            "<i>a</i>",
        ),
    ],
)
def test_the_filter_drops_what_jupyterlab_drops(dirty: str, clean: str) -> None:
    assert sanitized(dirty) == clean
