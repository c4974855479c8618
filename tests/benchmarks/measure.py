"""Measuring: contestants take turns in one process, their results are checked first, and the best run counts."""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import repeat
from time import perf_counter
from typing import Any

from tests.benchmarks.calls import Call, arrays, call_of, compare
from tests.benchmarks.effort import Effort
from tests.benchmarks.goals import REFERENCE
from tests.benchmarks.line import Line
from tests.benchmarks.peers import Peer
from tests.benchmarks.workload import Case, Workload, Yardstick

Sampler = Callable[[], float]


def measured(workload: Workload, peers: Iterable[Peer], effort: Effort) -> Iterator[Line]:
    """Yield a line per case of the workload."""
    inputs = workload.setup()
    present = {peer.name: peer for peer in peers}
    for case in workload.cases:
        line = Line.of(workload, case)
        samplers = _samplers(workload, case, present, inputs, effort, line.failures)
        turns = effort.at_most(case.turns)
        for name, value in alternate(samplers, turns, line.failures).items():
            (line.best if name in case.runs else line.yardsticks)[name] = value
        yield line


def all_measured(
    workloads: Iterable[Workload], peers: Iterable[Peer], effort: Effort
) -> list[Line]:
    """Return a line per case of these workloads; each is told on the error stream as soon as it is there."""
    peers, lines = list(peers), []
    for workload in workloads:
        for line in measured(workload, peers, effort):
            lines.append(line)
            sys.stderr.write(f"{line.workload} {line.title}: {line.best}\n")
    return lines


def _samplers(
    workload: Workload,
    case: Case,
    present: Mapping[str, Peer],
    inputs: tuple[Any, ...],
    effort: Effort,
    failures: dict[str, str],
) -> dict[str, Sampler]:
    """Return what measures each contestant and yardstick, where it can run and its result is right."""
    samplers: dict[str, Sampler] = {}
    expected: list[Any] = []
    for entry in _entries(case):
        if entry.peer not in present:
            continue
        peer = present[entry.peer]
        try:
            if case.measures_itself:
                assert callable(entry.run)
                samplers[entry.name] = partial(entry.run, peer.namespace)
                continue
            call = call_of(peer, entry.run, inputs)
            result = case.comparable(arrays(peer, call()))
            if entry.same_result:
                expected = expected or result
                compare(result, expected, workload.tolerance)
            effort.warm_up(call)
            samplers[entry.name] = _stopwatch(call, effort.sample)
        except Exception as error:
            failures[entry.name] = _told(error)
    # in the order of the peers, whoever the reference was
    return {name: samplers[name] for name in (*present, *samplers) if name in samplers}


def _entries(case: Case) -> list[Yardstick]:
    """Return the contestants, the reference first, and the yardsticks."""
    contestants = [Yardstick(name, name, run, same_result=True) for name, run in case.runs.items()]
    contestants.sort(key=lambda one: one.name != REFERENCE)
    return [*contestants, *case.yardsticks]


def _stopwatch(call: Call, shortest: float) -> Sampler:
    """Return what times one call, as the mean over enough calls for the clock."""
    start = perf_counter()
    call()
    number = max(1, math.ceil(shortest / (perf_counter() - start)))

    def sample() -> float:
        call()  # brings its data into the cache and its threads out of sleep again
        start = perf_counter()
        for _ in repeat(None, number):
            call()
        return (perf_counter() - start) / number

    return sample


def _told(error: Exception) -> str:
    """Return an error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def alternate(
    samplers: Mapping[str, Sampler], effort: Effort, failures: dict[str, str]
) -> dict[str, float]:
    """Return the least that each sampler gave, in rounds where each has its turn; one that fails has no more.

    Every other round runs backwards, so that nobody always follows the same neighbour. Garbage collection stays on, as
    it is for users, but does not look at what was there before.
    """
    best = dict.fromkeys(samplers, math.inf)
    gc.collect()
    gc.freeze()
    start = perf_counter()
    done = 0
    while best and (done < effort.rounds or perf_counter() - start < effort.seconds):
        order = list(best)
        for name in reversed(order) if done % 2 else order:
            try:
                best[name] = min(best[name], samplers[name]())
            except Exception as error:
                failures[name] = _told(error)
                del best[name]
        done += 1
    gc.unfreeze()
    return best
