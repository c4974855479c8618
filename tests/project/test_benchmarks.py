"""The benchmark compares what is equal: in turns, after a look at the results, warmed up alike."""

import gc
import json
import platform
import weakref
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from time import sleep

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.testing.conformance import Check
from tests.backends.devices import FOUND
from tests.benchmarks import beside, fresh
from tests.benchmarks.__main__ import command_line
from tests.benchmarks.beginning import marks
from tests.benchmarks.calls import call_of
from tests.benchmarks.effort import Effort
from tests.benchmarks.first_call import first_calls
from tests.benchmarks.goals import BEST, OURS, OWN, REFERENCE
from tests.benchmarks.gpu import __main__ as gpu
from tests.benchmarks.gpu import checks as gpu_checks
from tests.benchmarks.gpu.works import NUMPY, works
from tests.benchmarks.kept import lines_with_memory_kept
from tests.benchmarks.line import Line
from tests.benchmarks.measure import alternate, measured
from tests.benchmarks.peers import PEERS, Peer, present
from tests.benchmarks.served import Seconds, serve
from tests.benchmarks.suite import WORKLOADS
from tests.benchmarks.workload import (
    Case,
    Loop,
    Turns,
    Unit,
    Workload,
    Yardstick,
    by,
    chosen,
)

BRIEF = Effort(rounds=2, seconds=0, sample=0)
HERE = [peer for peer in PEERS if peer.name in (OURS, REFERENCE)]


@pytest.fixture(autouse=True)
def _what_other_tests_left_stays_frozen(monkeypatch):
    """The clock is for what the benchmark makes: in a process of many tests, each collection would take seconds."""
    monkeypatch.setattr(gc, "unfreeze", lambda: None)


def one_case(*yardsticks, **runs):
    named = {OURS if name == "ours" else REFERENCE: run for name, run in runs.items()}
    case = Case("case", named, yardsticks=yardsticks)
    return Workload("W0", "A test.", (case,), lambda: (np.arange(4.0),))


def line_of(workload, effort=BRIEF):
    (line,) = measured(workload, HERE, effort)
    return line


def test_everybody_has_a_turn_in_each_round_and_the_least_counts():
    order = []

    def sampler(name, values):
        return lambda: order.append(name) or values.pop()

    samplers = {"a": sampler("a", [3, 1, 2]), "b": sampler("b", [5, 6, 4])}
    best = alternate(samplers, Effort(3, 0), {})
    assert best == {"a": 1, "b": 4}
    assert order == ["a", "b", "b", "a", "a", "b"]


def test_who_fails_in_the_middle_leaves_the_others_their_turns():
    failures = {}
    samplers = {"a": [1.0, 2.0].pop, "b": [1.0, 2.0, 3.0].pop}
    assert alternate(samplers, Effort(3, 0), failures) == {"b": 1.0}
    assert failures == {"a": "IndexError: pop from empty list"}


def test_results_are_compared_before_anything_is_measured():
    line = line_of(one_case(numpy=lambda np, x: x + 1, ours=lambda tfr, x: x + 2))
    assert list(line.best) == [REFERENCE]
    assert "of the largest element" in line.failures[OURS]


def test_a_result_of_another_dtype_is_wrong():
    line = line_of(
        one_case(numpy=lambda np, x: x + 1, ours=lambda tfr, x: tfr.astype(x + 1, tfr.float32))
    )
    assert line.failures[OURS] == "AssertionError: float32 instead of float64"


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
    assert all(result.is_computed for pair in results for result in pair)


def test_arrays_reach_a_run_as_the_peer_has_them():
    seen = []
    line_of(one_case(numpy=lambda np, x: seen.append(type(x)) or x, ours=lambda t, x: x))
    line_of(one_case(ours=lambda tensorframe, x: seen.append(type(x)) or x))
    assert set(seen) == {np.ndarray, tfr.Tensor}


def test_everybody_is_warmed_up_alike():
    calls = dict.fromkeys((OURS, REFERENCE), 0)

    def counting(name):
        def run(_, x):
            calls[name] += 1
            return x + 1

        return run

    workload = one_case(numpy=counting(REFERENCE), ours=counting(OURS))
    line_of(workload, Effort(rounds=0, seconds=0, sample=0, warm_calls=17))
    # one to look at the result, one to see how long a call takes
    assert calls == {OURS: 19, REFERENCE: 19}


def test_a_case_may_limit_the_turns():
    limited = Effort(rounds=7, seconds=5).at_most(3)
    assert (limited.rounds, limited.seconds) == (3, 0)
    assert BRIEF.at_most(3).rounds == BRIEF.rounds
    assert BRIEF.at_most(None) == BRIEF


def test_a_warm_up_lasts_so_many_seconds_too():
    calls = []
    effort = Effort(rounds=0, seconds=0, warm_calls=1, warm_seconds=1.0)
    effort.warm_up(lambda: calls.append(sleep(0.01)))
    assert len(calls) > 1


def test_a_loop_takes_its_steps_from_a_start_of_its_own():
    def step(_, x):
        x += 1
        return x

    given = np.zeros(3)
    (numpy,) = (peer for peer in HERE if peer.name == REFERENCE)
    call = call_of(numpy, Loop(step, 5, lambda _, x: x.copy()), (given,))
    assert call().tolist() == call().tolist() == [5, 5, 5]
    assert not given.any()


def test_what_compiles_compiles_the_step_of_a_loop_and_that_once():
    compiled = []
    peer = Peer("other", "numpy", "numpy", compiled=lambda run: compiled.append(run) or run)
    call = call_of(peer, Loop(lambda _, x: x + 1, 5), (np.zeros(3),))
    assert call().tolist() == [5, 5, 5]
    assert len(compiled) == 1


def test_yardsticks_take_their_turns_and_are_no_contestants():
    half = Yardstick("half of it", OURS, lambda tfr, x: x[:2])
    line = line_of(one_case(half, numpy=lambda np, x: x + 1, ours=lambda tfr, x: x + 1))
    assert set(line.best) == {OURS, REFERENCE}
    assert list(line.yardsticks) == ["half of it"]


def test_a_yardstick_that_should_give_the_result_is_checked():
    wrong = Yardstick("loop", OURS, lambda tfr, x: x, same_result=True)
    line = line_of(one_case(wrong, numpy=lambda np, x: x + 1))
    assert list(line.failures) == ["loop"]
    assert not line.yardsticks


def test_peers_are_chosen_by_name_and_we_and_numpy_are_always_there():
    names = [peer.name for peer in present(HERE, ["numpy"])]
    assert names == [OURS, REFERENCE]
    other = Peer("other", "numpy", "numpy")
    assert other not in present([*HERE, other], ["numpy"])
    assert other in present([*HERE, other], [" Other"])
    assert other in present([*HERE, other], None)
    with pytest.raises(ValueError, match="there is no peer nothing"):
        present(HERE, ["nothing"])


def test_what_is_not_installed_is_left_out():
    absent = Peer("other", "no_such_module", "none")
    unable = Peer("other", "numpy", "numpy", needs="no_such_program")
    assert (absent.missing, unable.missing) == ("other", "other (needs no_such_program)")
    assert present([*HERE, absent, unable], None) == HERE


def test_workloads_are_measured_with_us_and_by_peers_that_there_are():
    known = {peer.name for peer in PEERS}
    for workload in WORKLOADS:
        for case in workload.cases:
            assert OURS in case.runs
            assert case.runs.keys() <= known
            assert {yardstick.peer for yardstick in case.yardsticks} <= known
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS)


def test_titles_tell_the_cases_of_a_workload_apart():
    for workload in WORKLOADS:
        titles = [case.title for case in workload.cases]
        assert len(set(titles)) == len(titles)


def test_goals_compare_with_what_is_measured_on_the_same_line():
    for workload in WORKLOADS:
        for case in workload.cases:
            measured = {*case.runs, *(yardstick.name for yardstick in case.yardsticks), BEST, None}
            assert {goal.against for goal in case.goals} <= measured
            assert {goal.by for goal in case.goals} <= case.runs.keys() & set(OWN)


def test_every_workload_has_a_goal():
    assert [
        workload.name for workload in WORKLOADS if not any(case.goals for case in workload.cases)
    ] == []


def test_workloads_are_chosen_by_name():
    assert [workload.name for workload in chosen(WORKLOADS, ["w9", " W1"])] == ["W1", "W9"]
    with pytest.raises(ValueError, match="there is no workload W99"):
        chosen(WORKLOADS, ["W99"])


def test_peers_are_named_with_commas_between():
    assert by("a, b", len) == {"a": len, "b": len}


def test_first_calls_are_of_those_that_compile_and_with_what_they_keep():
    (workload,) = chosen(WORKLOADS, ["W9"])
    (case,) = workload.cases
    line = Line(workload.name, case.title, best={OURS: 1.0, REFERENCE: 1.0})
    first = first_calls(workload, line, HERE, Effort(0, 0, first_calls=1))
    assert first.keys() == {OURS}
    assert first[OURS].keys() == {"cold", "warm"}
    assert all(value > 0 for value in first[OURS].values())
    assert first_calls(workload, line, HERE, BRIEF) == {}


def test_a_first_call_that_fails_is_told():
    (workload,) = chosen(WORKLOADS, ["W9"])
    absent = Peer("absent", "numpy", "numpy", compiles=True)
    line = Line(workload.name, workload.cases[0].title, best={"absent": 1.0})
    assert first_calls(workload, line, [absent], Effort(0, 0, first_calls=1)) == {}
    assert list(line.failures) == ["absent, first call"]


def test_memory_is_that_of_the_program_alone():
    ballast = np.ones(200_000_000, np.uint8)  # a new process starts with the peak of its parent
    few, many = (fresh.peak_bytes(f"x = b'x' * {size}") for size in (50_000_000, 100_000_000))
    assert many < ballast.nbytes
    assert many - few == pytest.approx(50e6, rel=0.02)


def test_a_second_process_finds_the_caches_of_the_first():
    # says that it took long where it finds its own mark
    program = """
import os, pathlib
mark = pathlib.Path(os.environ["XDG_CACHE_HOME"], "mark")
start -= 1000 * mark.exists()
mark.touch()
"""
    assert fresh.seconds(program) < 1000 < fresh.seconds_again(program)


def test_a_program_that_fails_says_why():
    with pytest.raises(RuntimeError, match="no_such_module"):
        fresh.seconds("import no_such_module")


def test_runs_in_turn_take_their_own_inputs_and_are_dropped_before_the_next():
    alive = []

    def run(_, x):
        before = [reference for reference in alive if reference() is not None]
        result = x + len(before)
        alive.append(weakref.ref(result))
        return result

    turns = Turns(((run, (1,)), (run, (0,)), (run, (1,))))
    (numpy,) = (peer for peer in HERE if peer.name == REFERENCE)
    call = call_of(numpy, turns, (np.zeros(2), np.ones(3)))
    assert call().tolist() == [1, 1, 1]
    assert len(alive) == 3


def test_a_process_says_when_each_of_its_first_calls_was_done():
    done = marks("W9", "expression, 16 elements", OURS, 3)
    assert len(done) == 3
    assert 0 < done[0] < done[1] < done[2]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc's")
def test_who_keeps_freed_memory_runs_in_a_process_of_its_own():
    options = command_line().parse_args(["--quick", "--peers", "NumPy"])
    (small,) = chosen(WORKLOADS, ["W9"])
    (line,) = lines_with_memory_kept([small, *chosen(WORKLOADS, ["W12"])], options)
    assert (line.workload, line.title) == ("W9", "expression, 16 elements")
    assert set(line.best) >= {OURS, REFERENCE}


@pytest.mark.skipif(not FOUND, reason="there is no device with kernels of its own")
def test_a_line_of_the_table_of_a_gpu_is_measured_on_a_device_of_software(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu, "SECONDS", 0)
    page = tmp_path / "page.md"
    sizes = ["--device", FOUND[-1], "--scale", "1e6", "--checks", ""]
    assert gpu.main([*sizes, "--only", "W3 sum, 256", "--markdown", str(page)]) == 0
    *_, last = page.read_text("utf-8").splitlines()
    assert last.startswith("| W3 sum, 256 M | ")
    assert "of a copy" in last


def test_the_command_of_a_gpu_runs_from_beginning_to_end(tmp_path, monkeypatch, capsys):
    """So that it is right on the day when there is one: every line, and what it checks before."""
    monkeypatch.setattr(gpu, "SECONDS", 0)
    page = tmp_path / "page.md"
    sizes = ["--device", "cpu", "--scale", "1e7", "--minutes", "0.05"]
    monkeypatch.setattr(gpu, "monotonic", lambda: 0.0)  # no line comes too late
    assert gpu.main([*sizes, "--checks", "programs", "--markdown", str(page)]) == 0
    text = page.read_text("utf-8")
    assert "random programs agree with NumPy" in text
    begun = [line.split()[1] for line in text.splitlines() if line.startswith("| W")]
    assert set(begun) == {"W1", "W2", "W3", "W4", "W5", "W8", "W20", "W21", "W22", "W23"}
    assert text.count("\n| ") == 1 + 1 + len(list(gpu.lines(1e7)))  # a head, and a rule
    assert capsys.readouterr().err.strip() == ""


def test_what_the_command_of_a_gpu_cannot_do_is_named_and_is_its_status(monkeypatch, capsys):
    monkeypatch.setattr(gpu, "SECONDS", 0)
    monkeypatch.delenv("ARRAY_API_TESTS", raising=False)
    sizes = ["--device", "cpu", "--scale", "1e7", "--only", "W1 ", "--minutes", "0"]
    assert gpu.main([*sizes, "--checks", "array-api"]) == 1
    said = capsys.readouterr()
    assert "**array-api failed**" in said.out
    assert "W1 expression, 256 M: not begun within 0 minutes" in said.err


def test_conformance_of_a_gpu_ends_in_time_and_names_what_failed(monkeypatch):
    ran, failing = [], set()

    def check(number):
        def run():
            ran.append(number)
            assert number not in failing, "it is off"

        return Check(f"check {number}", run)

    monkeypatch.setattr(gpu_checks, "checks", lambda _backend, seeds: list(map(check, range(100))))
    seconds = iter(range(1000))
    monkeypatch.setattr(gpu_checks, "monotonic", lambda: float(next(seconds)))
    said = gpu_checks.conforms(tfr.Device("cpu"), 9)
    assert said == "10 of 10 conformance checks passed, of 100."
    assert ran != sorted(ran)  # of all areas some
    failing.add(ran[1])
    with pytest.raises(gpu_checks.FailedError, match=f"^9 of 10 .*\ncheck {ran[1]}: .*it is off"):
        gpu_checks.conforms(tfr.Device("cpu"), 9)
    failing.clear()
    assert gpu_checks.conforms(tfr.Device("cpu"), 200).startswith("100 of 100 ")


def test_lines_of_the_table_of_a_gpu_compute_what_numpy_does():
    compared = [work for work in works(1e7) if NUMPY in work.others]
    assert len(compared) > 15
    for work in compared:
        drawn = work.operands(tfr.Device("cpu"))
        expected = work.others[NUMPY](np, *[one.numpy() for one in drawn])
        found = work.program(tfr, *drawn).numpy()
        off = 1e-4 if work.dtype == "float32" else 1e-2
        np.testing.assert_allclose(
            found.astype(np.float32), expected.astype(np.float32), rtol=off, atol=off
        )


def test_a_package_is_compared_with_an_earlier_one_by_turns(monkeypatch):
    asked = []

    class Told:
        def __init__(self, root, seconds):
            self.root, self.seconds, self.cases = root, seconds, {"case": seconds, root: 1.0}

        def measured(self, title, calls):
            asked.append((self.root, title, calls))
            return Seconds(self.seconds, 2 * self.seconds)

    @contextmanager
    def told(module, workload, device, root, *options):
        assert (module, workload.name, device) == ("tests.benchmarks.beside", "W0", "cpu")
        yield Told(root, {"now": 0.01, "before": 0.02}[root])

    monkeypatch.setattr(beside, "served", told)
    effort = Effort(rounds=2, seconds=0, sample=0.08)
    ((title, pairs),) = beside.compare(
        one_case(ours=lambda _, x: x), "cpu", ("now", "before"), effort
    )
    assert title == "case"  # the one that works in both
    assert asked == [(root, "case", 4) for root in ("now", "before", "before", "now")]
    assert pairs == [((0.01, 0.02), (0.02, 0.04))] * 2


def test_lines_of_a_gpu_are_workloads_that_run_with_their_sizes_divided():
    """All that are to be beside an earlier commit, chosen by their first words or by one name."""
    lines = beside._chosen(1e7, None)
    first = {line.name.split()[0] for line in lines}
    assert {"W1", "W2", "W3", "W4", "W5", "W8", "W20", "W21", "W22"} <= first
    some = beside._chosen(1e7, "w1,W22")
    assert {line.name.split()[0] for line in some} == {"W1", "W22"}
    (one,) = beside._chosen(1e7, "W8 product, 8192, bfloat16")
    for line in (some[0], one, some[-1]):
        answers = StringIO()
        serve(line, Effort(rounds=1, seconds=0, sample=0), StringIO(""), answers)
        ((title, seconds),) = json.loads(answers.getvalue())
        assert title == "/ 1e+07"
        assert seconds > 0


def test_what_has_become_slower_in_most_turns_is_said_to_be_so():
    def pairs(*ratios):
        return [(Seconds(ratio, 1.0), Seconds(1.0, 2.0)) for ratio in ratios]

    assert beside.row("W0", "cpu", pairs(0.5, 3.0, 0.9))[-3:] == ["0.90", "0.50", ""]
    assert beside.row("W0", "cpu", pairs(1.06, 1.06, 0.2))[-3:] == ["1.06", "0.50", "slower"]


def test_a_process_measures_when_it_is_told_to(capsys):
    """What an earlier package lacks is left out."""
    lacking = Case("another", {OURS: lambda tfr, x: tfr.no_such_function(x)})
    workload = one_case(ours=lambda _, x: x + 1)
    both = replace(workload, cases=(*workload.cases, lacking))
    answers = StringIO()
    effort = Effort(rounds=1, seconds=0, sample=0)
    serve(both, effort, StringIO('["case", 3]\n["case", 1]\n'), answers)
    cases, *measured = map(json.loads, answers.getvalue().splitlines())
    assert [title for title, _ in cases] == ["case"]
    assert [len(seconds) for seconds in measured] == [2, 2]
    assert all(clock > 0 for clock, _ in measured)
    assert "no_such_function" in capsys.readouterr().err


def test_what_measures_itself_is_told_as_it_is():
    """Nothing is made of it by calls, of which there is one for each that is asked for."""
    runs = []

    def bytes_of(_):
        runs.append(2e9)
        return runs[-1]

    case = Case("memory", {OURS: bytes_of}, unit=Unit.BYTES, measures_itself=True)
    workload = Workload("W0", "A test.", (case,))
    answers = StringIO()
    serve(
        workload, Effort(rounds=1, seconds=0), StringIO('["memory", 1]\n["memory", 2]\n'), answers
    )
    (known,), *measured = map(json.loads, answers.getvalue().splitlines())
    assert known == ["memory", float("inf")]
    assert [value for value, _ in measured] == [2e9, 2e9]
    assert len(runs) == 4  # one to see that it works
    row = beside.row("W13", "cpu", [(Seconds(1e9, 1.0), Seconds(2e9, 1.0))], Unit.BYTES)
    assert row == ["W13", "cpu", "2.00 GB", "1.00 GB", "0.50", "1.00", ""]


def test_what_measures_itself_is_compared_where_it_is_named():
    assert {"W1", "W26"} <= {workload.name for workload in beside._chosen(0, None)}
    assert not {"W12", "W13", "W14"} & {workload.name for workload in beside._chosen(0, None)}
    named = beside._chosen(0, "W12,W13,W14")
    assert [workload.name for workload in named] == ["W12", "W13", "W14"]
