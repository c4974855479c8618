"""The cases of a workload in a process of its own, which measures when it is told to.

Two of them, each with a package of its own, can measure by turns that last some hundredths of a second: whatever slows
the machine down meanwhile slows both down.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import inf
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median
from subprocess import PIPE, Popen
from time import perf_counter, process_time
from typing import IO, Any, NamedTuple

from tensorframe.backends.registry import VARIABLE, backend_of, default_device
from tests.benchmarks.calls import Call, call_of
from tests.benchmarks.effort import Effort
from tests.benchmarks.fresh import ROOT, environment
from tests.benchmarks.goals import OURS
from tests.benchmarks.peers import PEERS
from tests.benchmarks.workload import Case, Workload


class Seconds(NamedTuple):
    """What a call took: by the clock, and of processors, in all threads and processes together.

    Of a case that measures itself the first is what that gives, which may be bytes, the other what doing so took.
    """

    clock: float
    processors: float


Measure = Callable[[int], Seconds]  # by a number of calls


class Served:
    """The process: the cases that work there, and what a call of one takes."""

    def __init__(self, process: Popen[str]) -> None:
        assert process.stdin
        assert process.stdout
        self._ask, self._answer = process.stdin, process.stdout
        self.cases: dict[str, float] = dict(self._next())
        """By the title of a case, the seconds of a call."""

    def measured(self, title: str, calls: int) -> Seconds:
        """Return what each of so many calls took; one is made before the clock starts."""
        self._ask.write(f"{json.dumps([title, calls])}\n")
        self._ask.flush()
        return Seconds(*self._next())

    def _next(self) -> list[float]:
        line = self._answer.readline()
        if not line:
            raise RuntimeError("a process of the benchmark ended: see what it printed")
        answer: list[float] = json.loads(line)
        return answer


@contextmanager
def served(
    module: str, workload: Workload, device: str, root: str, *options: str
) -> Iterator[Served]:
    """Start `module` with `--measure`, which calls `serve`, with the package at `root`, and a usual device."""
    with Popen(
        [sys.executable, "-m", module, *options, "--measure", workload.name],
        cwd=root or ROOT,
        env=environment("", root, {VARIABLE: device}),
        stdin=PIPE,
        stdout=PIPE,
        text=True,
    ) as process:
        yield Served(process)
        assert process.stdin
        process.stdin.close()


def serve(workload: Workload, effort: Effort, asked: IO[str], answers: IO[str]) -> None:
    """Make the cases ready, write their titles and seconds, and then an answer to each line that asks for one."""
    measures: dict[str, Measure] = {}
    seconds: dict[str, float] = {}
    inputs = workload.setup()
    for case in workload.cases:
        if OURS not in case.runs:
            continue
        try:
            measure = measures[case.title] = _measure(case, inputs, effort)
            seconds[case.title] = inf if case.measures_itself else measure(1).clock
        except Exception as error:  # an earlier package lacks what a later one has
            sys.stderr.write(f"{workload.name} {case.title}: {error}\n")
    _write(answers, list(seconds.items()))
    for line in asked:
        title, number = json.loads(line)
        _write(answers, measures[title](number))


def answers_alone() -> IO[str]:
    """Return the standard output as it was; what libraries print goes to the other one from here on."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _write(answers: IO[str], value: object) -> None:
    answers.write(f"{json.dumps(value)}\n")
    answers.flush()


def _measure(case: Case, inputs: tuple[Any, ...], effort: Effort) -> Measure:
    """Return what measures a case here, warmed up; one that measures itself, in processes of its own, is tried."""
    peer = next(peer for peer in PEERS if peer.name == OURS)
    run = case.runs[OURS]
    if case.measures_itself:
        assert callable(run)
        measure = partial(_measured_by_itself, partial(run, peer.namespace))
        measure(1)
        return measure
    device = default_device()
    wait = partial(backend_of(device).synchronize, device)
    call = _finished(call_of(peer, run, inputs), wait)
    call()
    effort.warm_up(call)
    return partial(_timed, call)


def _finished(call: Call, wait: Call) -> Call:
    """Return a call that ends when the device has done it."""

    def both() -> None:
        call()
        wait()

    return both


def _timed(call: Call, number: int) -> Seconds:
    call()  # what the other process has taken from the caches comes back
    clock, processors = perf_counter(), process_time()
    for _ in range(number):
        call()
    return Seconds((perf_counter() - clock) / number, (process_time() - processors) / number)


def _measured_by_itself(run: Callable[[], float], number: int) -> Seconds:
    before = _processors()
    value = median([run() for _ in range(number)])
    return Seconds(value, (_processors() - before) / number)


def _processors() -> float:
    """Return the processors' time of this process and of those that it waited for."""
    both = [getrusage(whose) for whose in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)
