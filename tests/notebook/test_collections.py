"""Lists, tuples and dicts of tensors have cards in IPython; every other one is shown as it would be without us."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter

import tensorframe as tfr
from tensorframe.errors import CancelledError
from tensorframe.notebook import collections, formatters
from tests.notebook.counting import counted
from tests.notebook.graphs import values
from tests.notebook.shells import a_shell, run_in_kernel


class Pair(NamedTuple):
    left: tfr.Tensor
    right: tfr.Tensor


class Shell:
    """As much of IPython's shell as shows things."""

    def __init__(self) -> None:
        self.display_formatter = DisplayFormatter()


def shown(value: object, shell: Shell) -> dict[str, str]:
    data, _ = shell.display_formatter.format(value)
    return dict(data)


@pytest.fixture
def shell() -> Shell:
    found = Shell()
    formatters.register(found)
    return found


def words(html: str) -> str:
    tree = ElementTree.fromstring(html)
    sheet = tree.find("style")
    assert sheet is not None
    sheet.text = ""
    return " ".join(" ".join(tree.itertext()).split())


def self_containing() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


class Titled(list[Any]):
    """A list with a look of its own."""

    def _repr_html_(self) -> str:
        return "<b>titled</b>"


OTHERS = {
    "numbers": lambda: [1, 2, 3],
    "empty": lambda: [[], (), {}],
    "nothing": list,
    "text": lambda: {"a": "b"},
    "arrays": lambda: [np.ones(3)],
    "mixed": lambda: [values(3), 1],
    "mixed below": lambda: {"a": [values(3)], "b": [values(3), None]},
    "itself": self_containing,
    "counter": lambda: Counter("abc"),
    "ordered": lambda: OrderedDict(a=values(3)),
    "default": lambda: defaultdict(list, a=values(3)),
    "long": lambda: list(range(100_000)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_collections_are_shown_as_they_were(name: str, shell: Shell) -> None:
    value = OTHERS[name]()
    assert shown(value, shell) == shown(value, Shell())


def test_the_text_of_collections_of_tensors_stays(shell: Shell) -> None:
    value = [values(3), values(3)]
    assert shown(value, shell)["text/plain"] == shown(value, Shell())["text/plain"]


def test_a_list_has_a_row_for_each_tensor(shell: Shell) -> None:
    x = tfr.asarray([1.0, np.nan, 3.0])
    said = words(
        shown([x, x.astype("int32") * 0 + 7, tfr.ones((300, 400)) * 2], shell)["text/html"]
    )
    assert "list of 3 tensors 469 KiB" in said
    assert "[0] (3,) float32 ● cpu 12 B computed 1. nan 3." in said
    assert "[1] (3,) int32 ● cpu 12 B computed 7 7 7" in said
    assert "[2] (300, 400) float32 ● cpu 469 KiB recorded 2. 2. 2. 2. 2. …" in said


def test_names_are_those_of_a_program(shell: Shell) -> None:
    x = values(3)
    value = {"layers": [(x, x), Pair(x, x)], ("a", 1): x}
    said = words(shown(value, shell)["text/html"])
    for name in (
        "dict of 5 tensors",
        *("['layers'][0][0]", "['layers'][1].left", "['layers'][1].right", "[('a', 1)]"),
    ):
        assert name in said
    assert "Pair of 2 tensors" in words(shown(Pair(x, x), shell)["text/html"])
    assert "tuple of 1 tensor " in words(shown((x,), shell)["text/html"])


def test_what_users_write_is_escaped(shell: Shell) -> None:
    html = shown({"<b>": values(3)}, shell)["text/html"]
    assert "['<b>']" in words(html)


def test_small_tensors_are_computed_together_and_large_ones_are_not(shell: Shell) -> None:
    x = values(300, 400)
    row_sums = tfr.sum(x * 3, axis=1)
    large = tfr.exp(x)
    with counted() as made:
        shown([row_sums + 1, row_sums * 2, large], shell)
    assert not large.is_computed
    # the sums once, for both, and a few elements of the large tensor
    assert made.elements < 3 * 300 + 100


def test_what_takes_long_is_not_computed_unasked(shell: Shell) -> None:
    slow = tfr.ones((20_000, 20_000)) + tfr.arange(20_000)
    value = [slow @ slow, values(3)]
    with counted() as made:
        said = words(shown(value, shell)["text/html"])
    assert "[0] (20000, 20000) float32 ● cpu 1.49 GiB recorded …" in said
    assert made.elements < 100


def test_a_tensor_that_fails_has_its_reason_and_the_others_their_elements(shell: Shell) -> None:
    wrong = tfr.asarray([1.0, 2.0])[tfr.asarray([5]) + 0]
    said = words(shown([values(1) * 0 + 4, wrong], shell)["text/html"])
    assert "computed 4." in said
    assert "recorded IndexingError: index 5 is out of bounds" in said


def test_an_interrupt_is_not_shown_but_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise CancelledError("interrupted")

    monkeypatch.setattr(collections, "evaluate", interrupted)
    with pytest.raises(CancelledError):
        collections.card_of([values(3)])


def test_many_tensors_are_a_small_card(shell: Shell) -> None:
    html = shown({index: values(3) for index in range(1000)}, shell)["text/html"]
    assert "and 976 more" in words(html)
    assert len(html) < 20_000


def test_a_subclass_keeps_its_own_look(shell: Shell) -> None:
    assert shown(Titled([values(3)]), shell)["text/html"] == "<b>titled</b>"


def test_a_formatter_that_was_there_is_still_asked() -> None:
    shell = Shell()
    shell.display_formatter.formatters["text/html"].for_type(
        list, lambda value: f"<i>{len(value)}</i>"
    )
    formatters.register(shell)
    assert shown([1, 2], shell)["text/html"] == "<i>2</i>"
    assert "list of 1 tensor" in shown([values(3)], shell)["text/html"]
    kept = dict(shell.display_formatter.formatters["text/html"].type_printers)
    formatters.register(shell)
    assert shell.display_formatter.formatters["text/html"].type_printers == kept


@pytest.fixture
def running() -> Iterator[Any]:
    with a_shell() as found:
        yield found


def test_the_extension_registers_them(running: Any) -> None:
    running.run_cell("%load_ext tensorframe").raise_error()
    # a terminal asks for text alone
    running.display_formatter.formatters["text/html"].enabled = True
    data, _ = running.display_formatter.format([values(3)])
    assert "list of 1 tensor" in data["text/html"]


def test_in_a_notebook_the_import_is_enough() -> None:
    _, outputs, others = run_in_kernel(
        "import tensorframe as tfr\nx = tfr.ones(3)", "[x, x + 1]", "[1, 2]"
    )
    assert "list of 2 tensors" in outputs[0].data["text/html"]
    assert list(others[0].data) == ["text/plain"]
