"""The benchmark compares what is equal: in turns, after a look at the results, and says what it left out."""

import numpy as np
import pytest

import tensorframe as tfr
from tests.benchmarks import fresh, report
from tests.benchmarks.machine import Header
from tests.benchmarks.measure import Effort, Line, alternate, measured
from tests.benchmarks.peers import OURS, PEERS, REFERENCE, Peer
from tests.benchmarks.suite import WORKLOADS
from tests.benchmarks.workload import Case, Unit, Workload, by, chosen

BRIEF = Effort(rounds=2, seconds=0, sample=0)
HERE = [peer for peer in PEERS if peer.name in (OURS, REFERENCE)]


def one_case(**runs):
    case = Case("case", {OURS if name == "ours" else REFERENCE: run for name, run in runs.items()})
    return Workload("W0", "A test.", (case,), lambda: (np.arange(4.0),))


def line_of(workload):
    (line,) = measured(workload, HERE, BRIEF)
    return line


def test_everybody_has_a_turn_in_each_round_and_the_least_counts():
    order = []

    def sampler(name, values):
        return lambda: order.append(name) or values.pop()

    best = alternate({"a": sampler("a", [3, 1, 2]), "b": sampler("b", [5, 6, 4])}, Effort(3, 0))
    assert best == {"a": 1, "b": 4}
    assert order == ["a", "b", "b", "a", "a", "b"]


def test_results_are_compared_before_anything_is_measured():
    line = line_of(one_case(numpy=lambda np, x: x + 1, ours=lambda tfr, x: x + 2))
    assert list(line.best) == [REFERENCE]
    assert "of the largest element" in line.failures[OURS]


def test_an_error_of_one_peer_leaves_the_others_their_line():
    line = line_of(one_case(numpy=lambda np, x: x.missing, ours=lambda tfr, x: x + 1))
    assert list(line.best) == [OURS]
    assert line.failures[REFERENCE].startswith("AttributeError")


def test_our_results_are_computed_while_the_clock_runs():
    results = []

    def run(tensorframe, x):
        results.append((x + 1, x * 2))
        return results[-1]

    line_of(one_case(ours=run))
    assert len(results) > 3
    assert all(one.is_computed for pair in results for one in pair)


def test_arrays_reach_a_run_as_the_peer_has_them():
    seen = []
    line_of(one_case(numpy=lambda np, x: seen.append(type(x)) or x, ours=lambda t, x: x))
    line_of(one_case(ours=lambda tensorframe, x: seen.append(type(x)) or x))
    assert set(seen) == {np.ndarray, tfr.Tensor}


def test_what_is_not_installed_is_named():
    header = Header.now([*HERE, Peer("other", "no_such_module", "none")])
    assert header.missing == ("other",)
    assert "not installed, and left out: other" in header.lines()


def test_a_busy_machine_is_told():
    header = Header.now(HERE)
    quiet = Header(**{**vars(header), "others": 0.0})
    busy = Header(**{**vars(header), "others": 1.5})
    assert not any("WARNING" in line for line in quiet.lines())
    assert any("WARNING" in line for line in busy.lines())


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2.5e-6, Unit.SECONDS, "2.50 us"),
        (0.0123, Unit.SECONDS, "12.3 ms"),
        (123.0, Unit.SECONDS, "123 s"),
        (2.2e9, Unit.BYTES, "2.20 GB"),
    ],
)
def test_quantities_have_three_digits(value, unit, text):
    assert report.quantity(value, unit) == text


def test_ratios_are_to_numpy_and_to_the_best_peer():
    line = Line("W1", "case", Unit.SECONDS, 1.5, {OURS: 2.0, REFERENCE: 4.0, "torch": 1.0})
    _, row = report.cells([line], [OURS, REFERENCE, "torch"])
    assert row[-3:] == ["2.00x faster", "2.00x slower (torch)", "at most 1.50 s: missed"]


def test_the_page_holds_header_table_and_workloads():
    workload = one_case(numpy=lambda np, x: x + 1, ours=lambda tfr, x: x + 1)
    header = Header.now(HERE)
    page = report.markdown(header, [line_of(workload)], [workload])
    assert page.startswith("# Benchmarks")
    for text in (header.date, header.cpu, "| W0 ", "- **W0** A test."):
        assert text in page
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len({len(row) for row in rows}) == 1


def test_workloads_are_measured_with_us_and_by_peers_that_there_are():
    known = {peer.name for peer in PEERS}
    for workload in WORKLOADS:
        for case in workload.cases:
            assert OURS in case.runs
            assert case.runs.keys() <= known
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS)


def test_workloads_are_chosen_by_name():
    assert [one.name for one in chosen(WORKLOADS, ["w9", " W1"])] == ["W1", "W9"]
    with pytest.raises(ValueError, match="there is no workload W99"):
        chosen(WORKLOADS, ["W99"])


def test_peers_are_named_with_commas_between():
    assert by("a, b", len) == {"a": len, "b": len}


def test_memory_is_that_of_the_program_alone():
    ballast = np.ones(200_000_000, np.uint8)  # a new process starts with the peak of its parent
    few, many = (fresh.peak_bytes(f"x = b'x' * {size}") for size in (50_000_000, 100_000_000))
    assert many < ballast.nbytes
    assert many - few == pytest.approx(50e6, rel=0.02)


def test_a_program_that_fails_says_why():
    with pytest.raises(RuntimeError, match="no_such_module"):
        fresh.seconds("import no_such_module")
