"""Measuring: peers take turns in one process, their results are checked first, and the best run counts."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from time import perf_counter
from typing import Any

import numpy as np

from tests.benchmarks.peers import OURS, REFERENCE, Peer
from tests.benchmarks.workload import Case, Unit, Workload

Sampler = Callable[[], float]


@dataclass(frozen=True)
class Effort:
    """How long a case is measured."""

    rounds: int  # at least so many turns for everybody
    seconds: float  # and then more, until so much time has passed
    sample: float = 0.01  # a shorter call is repeated within its turn until it has taken this long

    @classmethod
    def quick(cls) -> Effort:
        """Numbers to develop by."""
        return cls(rounds=3, seconds=0.5)

    @classmethod
    def full(cls) -> Effort:
        """Numbers to publish."""
        return cls(rounds=7, seconds=5.0)


@dataclass
class Line:
    """What a case gave: the best value of each peer, or why there is none."""

    workload: str
    title: str
    unit: Unit
    at_most: float | None
    best: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def fastest_peer(self) -> str | None:
        """The best of the others."""
        others = [name for name in self.best if name != OURS]
        return min(others, key=self.best.__getitem__, default=None)

    def ratio(self, peer: str | None) -> float | None:
        """Our value over that of a peer: below one is better."""
        if peer is None or peer not in self.best or OURS not in self.best:
            return None
        return self.best[OURS] / self.best[peer]


def measured(workload: Workload, peers: Iterable[Peer], effort: Effort) -> Iterator[Line]:
    """Yield a line per case of the workload."""
    inputs = workload.setup()
    present = {peer.name: peer for peer in peers}
    for case in workload.cases:
        line = Line(workload.name, case.title, case.unit, case.at_most)
        samplers: dict[str, Sampler] = {}
        expected: Any = None
        for name in sorted(case.runs, key=lambda name: name != REFERENCE):
            if name not in present:
                continue
            try:
                call = _prepared(case, present[name], inputs)
                if case.measures_itself:
                    samplers[name] = call
                    continue
                result = _as_arrays(call())
                expected = expected or result
                compare(result, expected, workload.tolerance)
                samplers[name] = _stopwatch(call, effort.sample)
            except Exception as error:
                line.failures[name] = f"{type(error).__name__}: {error}"
        # bytes do not depend on what else runs
        once = case.unit is Unit.BYTES
        line.best = alternate(_in_order(samplers, present), Effort(1, 0) if once else effort)
        yield line


def _prepared(case: Case, peer: Peer, inputs: tuple[Any, ...]) -> Callable[[], Any]:
    """Return the call to measure, with everything that is not part of the work done."""
    work = partial(case.runs[peer.name], peer.namespace, *map(peer.give, inputs))
    if case.measures_itself:
        return work
    finish = peer.finish
    return lambda: finish(work())


def _in_order(samplers: Mapping[str, Sampler], peers: Iterable[str]) -> dict[str, Sampler]:
    return {name: samplers[name] for name in peers if name in samplers}


def _as_arrays(result: Any) -> list[Any]:
    parts = result if isinstance(result, tuple) else (result,)
    return [np.array(part) for part in parts]


def compare(actual: list[Any], expected: list[Any], tolerance: float) -> None:
    """Raise AssertionError where results differ by more than `tolerance` of the largest element."""
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.shape == theirs.shape, f"shape {ours.shape} instead of {theirs.shape}"
        worst = float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))
        assert worst <= tolerance, f"off by {worst:.1e} of the largest element"


def _stopwatch(call: Callable[[], Any], shortest: float) -> Sampler:
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


def alternate(samplers: Mapping[str, Sampler], effort: Effort) -> dict[str, float]:
    """Return the least that each sampler gave, in rounds where each has its turn.

    Every other round runs backwards, so that nobody always follows the same neighbour. Garbage collection stays on, as
    it is for users, but does not look at what was there before.
    """
    best = dict.fromkeys(samplers, math.inf)
    gc.collect()
    gc.freeze()
    start = perf_counter()
    done = 0
    while samplers and (done < effort.rounds or perf_counter() - start < effort.seconds):
        order = list(samplers)
        for name in reversed(order) if done % 2 else order:
            best[name] = min(best[name], samplers[name]())
        done += 1
    gc.unfreeze()
    return best
