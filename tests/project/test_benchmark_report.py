"""The benchmark's report says what was measured, how, what is met, and what differs from an earlier one."""

import json
from dataclasses import replace

import pytest

from tests.benchmarks import decoding, learned, report, started, tables
from tests.benchmarks.changes import changes
from tests.benchmarks.effort import Effort
from tests.benchmarks.goals import (
    BY_HAND,
    OURS,
    REFERENCE,
    UNDER_JIT,
    at_most,
    faster,
    no_slower,
    within,
)
from tests.benchmarks.header import Header
from tests.benchmarks.line import Line
from tests.benchmarks.peers import PEERS, Peer
from tests.benchmarks.quantities import goal_of, quantity
from tests.benchmarks.workload import Unit, Workload

HERE = [peer for peer in PEERS if peer.name in (OURS, REFERENCE)]
VALUES = {OURS: 2.0, REFERENCE: 4.0, "torch": 1.0}


def line(*goals, best=VALUES, **rest):
    return Line("W1", "case", goals=goals, best=dict(best), **rest)


def header(**changes):
    quiet = {"load_before": 0.0, "load_after": 0.0, "others": 0.0}
    return replace(Header.now(HERE, HERE, Effort.quick()), **quiet | changes)


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
    assert quantity(value, unit) == text


@pytest.mark.parametrize(
    ("goal", "text"),
    [
        (at_most(1.5), "at most 1.50 s: missed"),
        (at_most(2.0), "at most 2.00 s: met"),
        (no_slower(), "no slower than the best peer: missed"),
        (no_slower(REFERENCE), "no slower than NumPy (4.00 s, here 0.50x): met"),
        (faster(2.0, than=REFERENCE), "2x faster than NumPy (4.00 s, here 2.00x): met"),
        (faster(2.1, than=REFERENCE), "2.1x faster than NumPy (4.00 s, here 2.00x): missed"),
        (within(1.2, of="the loop"), "at most 1.2x the loop (1.80 s, here 1.11x): met"),
        (within(1.1, of="the loop"), "at most 1.1x the loop (1.80 s, here 1.11x): missed"),
        (within(1.2, of="JAX"), "at most 1.2x JAX: not measured"),
    ],
)
def test_goals_have_verdicts(goal, text):
    assert goal_of(line(goal, yardsticks={"the loop": 1.8}), OURS) == text


def test_what_is_not_a_peer_is_not_the_best_peer():
    own = line(no_slower(), best=VALUES | {UNDER_JIT: 0.1}, yardsticks={"the loop": 0.1})
    assert own.best_peer == "torch"
    assert own.is_met(own.goals[0]) is False
    written = line(no_slower(), best=VALUES | {BY_HAND: 0.5})
    assert written.best_peer == "torch"
    alone = line(no_slower(), best={OURS: 1.0})
    assert alone.is_met(alone.goals[0]) is None


def test_ratios_are_to_numpy_and_to_the_best_peer():
    table = tables.verdicts([line(at_most(1.5))])
    (row,) = table.rows
    ratios = ["2.00x faster", "2.00x slower (torch)", ""]
    assert row[2:] == ["2.00 s", *ratios, "at most 1.50 s: missed"]
    (row,) = tables.verdicts([line(best=VALUES | {BY_HAND: 0.5})]).rows
    assert row[3:] == ["2.00x faster", "2.00x slower (torch)", "4.00x slower", ""]


def test_each_of_ours_has_a_row_with_its_own_goal():
    goals = at_most(2.0), at_most(0.05, by=UNDER_JIT)
    rows = tables.verdicts([line(*goals, best=VALUES | {UNDER_JIT: 0.1})]).rows
    assert [row[1] for row in rows] == ["case", "case, tfr.jit"]
    assert [row[-1] for row in rows] == ["at most 2.00 s: met", "at most 50.0 ms: missed"]


def test_contestants_without_any_value_have_no_column():
    table = tables.contestants([line(failures={"JAX": "why"})], [OURS, "JAX", "Dask", "torch"])
    assert table.head[2:] == [OURS, "JAX", "torch"]
    assert table.rows == [["W1", "case", "2.00 s", "failed", "1.00 s"]]


def test_first_calls_have_a_column_for_each_state_of_the_cache():
    lines = [
        line(first={OURS: {"cold": 1.0, "warm": 0.5}, "JAX": {"cold": 2.0}}),
        line(first={"JAX": {"cold": 3.0}}),
        line(),
    ]
    table = tables.first_calls(lines, [OURS, REFERENCE, "JAX"])
    assert table.head[2:] == ["tensorframe, cold", "tensorframe, warm", "JAX, cold"]
    assert [row[2:] for row in table.rows] == [["1.00 s", "500 ms", "2.00 s"], ["", "", "3.00 s"]]


def test_the_header_tells_what_the_figures_rest_on():
    alone = Peer("slow", "numpy", "numpy", alone="sums")
    lines = Header.now([*HERE, alone], [*HERE, alone], Effort.full()).lines()
    assert any("one for slow in sums" in line and "threads" in line for line in lines)
    assert any("for 1 s and 5 times" in line for line in lines)
    assert any(line.startswith("tensorframe") and "numpy 2" in line for line in lines)


def test_what_is_not_installed_is_named():
    absent = Peer("other", "no_such_module", "none")
    lines = Header.now([*HERE, absent], HERE, Effort.quick()).lines()
    assert "not installed, and left out: other" in lines


@pytest.mark.parametrize(
    ("state", "warns"),
    [
        ({}, False),
        ({"others": 1.5}, True),
        ({"load_before": 1.2, "others": None}, True),
        ({"load_before": 1.2}, False),
        ({"load_after": 2.0}, False),
    ],
)
def test_a_busy_machine_is_told(state, warns):
    assert any("WARNING" in line for line in header(**state).lines()) is warns


def test_the_page_holds_header_tables_failures_and_workloads():
    made = header()
    measured = line(first={OURS: {"cold": 1.0}}, failures={"JAX": "ValueError: no"})
    page = report.markdown(made, [measured], [Workload("W0", "A test.", ())])
    assert page.startswith("# Benchmarks")
    titles = ["## Ratios and goals", "## Everybody's best", "## First calls", "## Failures"]
    for text in (
        made.date,
        made.cpu,
        "- **W0** A test.",
        "- W1 case, JAX: ValueError: no",
        *titles,
    ):
        assert text in page
    assert "## Failures" not in report.markdown(made, [line()], [])


def test_tables_are_as_wide_in_every_row():
    text = str(tables.contestants([line(), line(best={OURS: 1e-6})], list(VALUES)))
    assert len({len(row) for row in text.splitlines()}) == 1


def test_json_holds_values_ratios_and_verdicts():
    data = json.loads(report.as_json(header(), [line(at_most(1.5), first={OURS: {"cold": 3.0}})]))
    (entry,) = data["lines"]
    assert entry["best"] == VALUES
    assert entry["best_peer"] == "torch"
    assert entry["first"] == {OURS: {"cold": 3.0}}
    assert entry["own"][OURS] == {
        "ratio_to_numpy": 0.5,
        "ratio_to_best_peer": 2.0,
        "ratio_to_kernel_by_hand": None,
        "goal": "at most 1.50 s: missed",
    }


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.json"
    path.write_text(report.as_json(header(), [line(at_most(1.5))]), encoding="utf-8")
    return path


def test_changes_name_values_and_verdicts_that_differ(old):
    faster_now = line(at_most(1.5), best=VALUES | {OURS: 1.0, REFERENCE: 5.0})
    assert changes(old, [faster_now]) == (
        "W1 case: tensorframe 2.00 s -> 1.00 s, 2.00x faster; NumPy 4.00 s -> 5.00 s, 1.25x slower; "
        "goal missed -> met"
    )


def test_changes_leave_out_noise_and_lines_that_are_new(old):
    new = Line("W2", "another", best=VALUES)
    same = line(at_most(1.5), best=VALUES | {OURS: 2.05})
    assert changes(old, [same, new]) == "no value of ours differs by more than 5%"


def test_networks_and_language_models_have_a_section():
    tokens = [decoding.Decoded("f32", "tensorframe", 0.25, 0.5, 5 * 10**9, [1, 2, 3, 4])]
    text = learned.section(header(), [line(at_most(1.5))], decoding.table(tokens))
    assert "| f32     | tensorframe | 250.0 ms |        20.0 GB/s |        50% |" in text
    assert "at most 1.50 s: missed" in text


def test_shares_of_reading_are_those_of_turns():
    reading, ours = (
        decoding.Turns(seconds, []) for seconds in ([[2.0, 9.0], [1.0]], [[8.0, 4.0], [2.5]])
    )
    assert reading.typical == 1.0
    assert ours.typical == 2.5
    assert ours.share(reading) == pytest.approx(0.45)


def test_functions_that_take_longer_than_asked_are_named():
    ratios = {"sin": 0.5, "take": 5.25, "flip": 4.75, "roll": 7.0}
    assert started.row(1_000_000, ratios) == [
        *("1,000,000", "4", "5.00", "0.9: missed", "5"),
        "roll 7.0, take 5.2",
    ]
    assert started.row(10, ratios)[3:] == ["5: met", "12", "none"]
    assert started.row(10_000, ratios)[4:] == ["", ""]


def test_first_calls_and_functions_have_a_section():
    table = tables.Table("", started.HEAD, [started.row(10, {"sin": 2.0})], range(5))
    parts = tables.Table("", ["", "NumPy"], [["a slice", "0.10 us"]], range(1, 2))
    text = started.section(header(), [line(at_most(1.5))], table, parts)
    assert "|       10 |         1 |   2.00 | 5: met |      12 | none" in text
    assert "| a slice | 0.10 us |" in text
    assert "at most 1.50 s: missed" in text


def test_the_page_has_what_is_measured_apart():
    page = (report.NOTES.parents[2] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for part in (report.NOTES, *report.APART):
        assert part.read_text(encoding="utf-8").strip() in page
