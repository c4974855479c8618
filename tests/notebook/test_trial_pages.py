"""Cards of what bench, verify, estimate and doctor return: all that they print, and well-formed."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from IPython.core.formatters import DisplayFormatter

import tensorframe as tfr
from tensorframe.frontend.diagnostics.doctor import Diagnosis, Finding
from tensorframe.frontend.diagnostics.pages import Page
from tensorframe.frontend.trials.timing import TimedBackend
from tests.notebook.graphs import values


def words(result: Page) -> str:
    """Return all that a card says, without its style."""
    tree = ElementTree.fromstring(result._repr_html_())
    sheet = tree.find("style")
    assert sheet is not None
    sheet.text = ""
    return " ".join(" ".join(tree.itertext()).split())


def test_notebooks_get_the_card_and_plain_text() -> None:
    for result in (tfr.estimate(values(30)), tfr.doctor()):
        data, _ = DisplayFormatter().format(result)
        assert data["text/html"] == result._repr_html_()
        assert data["text/plain"] == repr(result)


def test_a_benchmark_says_who_is_fastest_and_why_one_was_not_timed() -> None:
    times = tfr.Benchmark(
        (
            TimedBackend("numpy", 0.5, [0.04, 0.02], 1 << 20),
            TimedBackend("cpu", 0.25, [0.005], 1 << 20),
            TimedBackend("cuda", error=ValueError("a < b")),
        )
    )
    said = words(times)
    assert "3 backends ● cpu is fastest: 5 ms" in said
    assert "● numpy 500 ms 20 ms 30 ms 50 MiB/s 1x" in said
    assert "● cpu 250 ms 5 ms 5 ms 200 MiB/s 4x" in said
    assert "● cuda ValueError: a < b" in said
    filled = [part.partition("%")[0] for part in times._repr_html_().split("#0072B2 ")[1:]]
    assert filled == ["100"]


def test_nothing_that_could_be_timed_is_a_card_too() -> None:
    assert "1 backend backend first" in words(tfr.Benchmark((TimedBackend("numpy"),)))


@pytest.mark.parametrize("agrees", [True, False])
def test_a_verification_says_whether_all_agree(agrees: bool) -> None:
    x = values(3)
    found = tfr.verify(tfr.sqrt(x) * 2, backends=["cpu"] if agrees else ["cpu", "dry"])
    said = words(found)
    assert ("all agree, but for rounding" in said) is agrees
    assert ("not all agree inf ulp at most" in said) is not agrees
    assert ("DeviceError" in said) is not agrees


def test_an_estimate_has_its_figures_and_the_memory_of_devices() -> None:
    found = tfr.estimate(tfr.sum(tfr.exp(values(1000, 1000)), axis=1))
    said = words(found)
    assert "1 kernel 0 library calls 0 transfers 3.81 MiB read 3.91 KiB written" in said
    assert "● cpu 3.82 MiB 3.81 MiB 3.91 KiB" in said


def test_a_diagnosis_has_every_finding_with_what_fixes_it() -> None:
    found = tfr.doctor()
    said = words(found)
    for device in found.usable:
        assert str(device) in said
    for finding in found.findings:
        assert finding.subject in said
        for fix in finding.fixes:
            assert f"try: {fix}" in said
    assert "a & b <c>" in words(Diagnosis((), (Finding("x", "a & b <c>", ()),)))
