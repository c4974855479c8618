"""Workloads of fresh processes on empty caches: the first calls, and what compiling takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.beginning import marks
from tests.benchmarks.fresh import output
from tests.benchmarks.goals import OURS, REFERENCE, Goal, at_most, faster, no_slower, within
from tests.benchmarks.workload import Case, Workload, Yardstick
from tests.benchmarks.workloads.elementwise import BLACK_SCHOLES, EXPRESSION
from tests.benchmarks.workloads.encoder import ENCODER
from tests.benchmarks.workloads.programs import (
    ALL_COMPILED,
    ALL_PRINTED,
    COMPILED,
    COMPILING,
)
from tests.benchmarks.workloads.rows import LAYER_NORM, SOFTMAX

CONTESTANTS = (OURS, REFERENCE, "JAX", "torch", "torch.compile")
CALLS = (1, 10, 100)


def _called(workload: Workload, peer: str, value: Callable[[tuple[float, ...]], float]) -> Any:
    """Return a run that makes a number of the marks of a process that calls the first case of a workload."""
    calls = 5 if workload is ENCODER else max(CALLS)
    return lambda _: value(marks(workload.name, workload.cases[0].title, peer, calls))


def _first(workload: Workload, calls: int) -> Case:
    title = workload.cases[0].title
    numbered = f"{calls} calls" if calls > 1 else "1 call"
    runs = {
        peer: _called(workload, peer, lambda done: done[calls - 1])
        for peer in CONTESTANTS
        if peer in workload.cases[0].runs
    }
    return Case(f"{title}: import, {numbered}", runs, (no_slower(),), measures_itself=True, turns=1)


FIRST_CALLS = Workload(
    "W15",
    "Importing the library in a fresh process with empty caches, and the first 1, 10 and 100 calls of W1, W2, W6 and "
    "W5; NumPy was imported before, for everybody.",
    tuple(
        _first(workload, calls)
        for workload in (EXPRESSION, SOFTMAX, LAYER_NORM, BLACK_SCHOLES)
        for calls in CALLS
    ),
)

# Another checkout of tensorframe to compare with.
BASELINE = os.environ.get("TENSORFRAME_BASELINE", "")
_EARLIER = "the baseline"


def _printed(program: str, root: str = "") -> float:
    """Return the number that a program prints in a process of its own, with empty caches."""
    with TemporaryDirectory() as caches:
        return float(output(["-c", program], caches, root=root).splitlines()[-1])


def _compared(title: str, program: str, seconds: float, times: float) -> Case:
    """Return the case of a program, with one goal: so many times faster than the baseline, or else so many seconds."""
    runs = {OURS: lambda _: _printed(program)}
    if not BASELINE:
        return Case(title, runs, (at_most(seconds),), measures_itself=True, turns=5)
    goal = faster(times, than=_EARLIER)
    earlier = Yardstick(_EARLIER, OURS, lambda _: _printed(program, BASELINE))
    return Case(title, runs, (goal,), (earlier,), measures_itself=True, turns=5)


_ALL = "compiling all four"
_PRINTING = Case(
    "printing all four for LLVM",
    {OURS: lambda _: _printed(ALL_PRINTED)},
    (within(0.15, of=_ALL),),
    (Yardstick(_ALL, OURS, lambda _: _printed(ALL_COMPILED)),),
    measures_itself=True,
    turns=5,
)

_TIMED = f"""
from time import perf_counter
start = perf_counter()
{COMPILED}
print(perf_counter() - start)
"""

COMPILATION = Workload(
    "W16",
    "Compiling a kernel in a process that has compiled another one before: the first call less the best of the next "
    "ten, on arrays so small that the kernel itself takes next to nothing; and the first compiled result of a fresh "
    "process, imports included. TENSORFRAME_BASELINE names another checkout to compare with.",
    (
        *(
            _compared(f"compiling {name}", program, 0.04, 6.0)
            for name, program in COMPILING.items()
        ),
        _PRINTING,
        _compared("first compiled result", _TIMED, 0.4, 2.5),
    ),
)


def _between(done: tuple[float, ...], first: int, last: int) -> float:
    """Return the mean seconds of calls, counted from one."""
    before = done[first - 2] if first > 1 else 0.0
    return (done[last - 1] - before) / (last - first + 1)


def _encoder_case(title: str, calls: range, goals: Iterable[Goal]) -> Case:
    value = partial(_between, first=calls[0], last=calls[-1])
    runs = {peer: _called(ENCODER, peer, value) for peer in (OURS, "torch")}
    return Case(title, runs, tuple(goals), measures_itself=True, turns=1)


COLD_ENCODER = Workload(
    "W17",
    "The encoder of W11 in a fresh process with empty caches: the first call with importing the library and reading "
    "the weights, the second, and the mean of the three after it.",
    (
        _encoder_case("encoder, import and call 1", range(1, 2), ()),
        _encoder_case("encoder, call 2", range(2, 3), (no_slower("torch"),)),
        _encoder_case("encoder, calls 3 to 5", range(3, 6), (no_slower("torch"),)),
    ),
)
