"""Timing: one computation on several devices, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensorframe.errors import ArgumentError, KernelError
from tensorframe.frontend.diagnostics.pages import Page
from tensorframe.frontend.diagnostics.tables import human_seconds, reason, table
from tensorframe.frontend.trials.differences import Difference, difference
from tensorframe.frontend.trials.relocation import REFERENCE
from tensorframe.frontend.trials.subjects import (
    Backends,
    Prepared,
    Subject,
    asked_for,
    device_called,
    device_name,
    subject_of,
    values_of,
)
from tensorframe.frontend.trials.verification import changing
from tensorframe.graph.device import Device
from tensorframe.schedule.plan import human_bytes

__all__ = ["Benchmark", "bench"]

Array = np.ndarray[Any, Any]

# seconds that the rounds of one backend take together, if nothing else is said, and how many there are at least
_ENOUGH, _FEWEST, _MOST = 0.3, 3, 1000


@dataclass
class TimedBackend:
    """What came of one backend: the seconds of its runs, or the error that kept it from being timed."""

    backend: str
    first: float | None = None
    """Seconds of the first run: it plans, and compiles what this process has not compiled before."""
    seconds: list[float] = field(default_factory=list)
    """Of each later run."""
    nbytes: int = 0
    """What goes in and comes out."""
    difference: Difference | None = None
    """From the reference's results."""
    error: BaseException | None = None

    @property
    def best(self) -> float | None:
        """Seconds of the fastest run."""
        return min(self.seconds, default=None)

    @property
    def median(self) -> float | None:
        """Seconds of the run in the middle."""
        return float(np.median(self.seconds)) if self.seconds else None

    @property
    def bytes_per_second(self) -> float | None:
        """Bytes of inputs and results by the seconds of the fastest run."""
        return self.nbytes / self.best if self.best else None


@dataclass(frozen=True, repr=False)
class Benchmark(Page):
    """The backends of a benchmark, the reference first; indexed by name.

    Each entry has the times of all rounds; printed it is a table of medians and ratios to the
    reference.
    """

    backends: tuple[TimedBackend, ...]

    def speed(self, backend: str | Device) -> float | None:
        """Return how many times as fast as the reference a backend is, by their best runs."""
        own, reference = self[backend].best, self.backends[0].best
        return reference / own if own and reference else None

    def __iter__(self) -> Iterator[TimedBackend]:
        return iter(self.backends)

    def __getitem__(self, backend: str | Device) -> TimedBackend:
        return next(timed for timed in self.backends if timed.backend == device_name(backend))

    def __repr__(self) -> str:
        rows = [("backend", "first", "best", "median", "rate", "speed", "ulp", "")]
        return table(rows + [row_of(self, timed) for timed in self.backends])


def row_of(benchmark: Benchmark, timed: TimedBackend) -> tuple[str, ...]:
    """Return the cells of a backend, a dash where there is nothing to say, and a note at the end."""
    times = [
        "-" if seconds is None else human_seconds(seconds)
        for seconds in (timed.first, timed.best, timed.median)
    ]
    rate = "-" if timed.bytes_per_second is None else f"{human_bytes(timed.bytes_per_second)}/s"
    speed = benchmark.speed(timed.backend)
    ulp = "-" if timed.difference is None else f"{timed.difference.ulp:g}"
    note = reason(timed.error) if timed.error else ""
    return (timed.backend, *times, rate, "-" if speed is None else f"{speed:.3g}x", ulp, note)


def bench(
    expr: Any, /, *args: Any, backends: Backends = None, rounds: int | None = None, **kwargs: Any
) -> Benchmark:
    """Run a computation on several backends, and return the times that it takes, in one table.

    `expr`, its arguments and `backends` are as in `verify`. Leaves and arguments are on each backend before a clock
    starts; of a tensor, computing is timed, of a function the call and computing what it returns. A run ends when the
    device is done. The results of the first runs are compared with the NumPy engine's: what differs by more than
    rounding is not timed. Then the backends take turns, `rounds` times, by default for 0.3 seconds each.

    Each row has the seconds of the first run, which plans and compiles what this process has not planned and compiled
    before, of the best and the median of the others, the bytes of inputs and results per second at best, the speed
    as a multiple of the NumPy engine's, and the largest difference from its results in units in the last place. What
    fails on a backend is in its row. Errors are those of `verify`.

    >>> x = tfr.linspace(0.0, 1.0, 10_000)
    >>> times = tfr.bench(tfr.sin(x) + 1, backends=["numpy", "cpu"], rounds=3)
    >>> [(one.backend, len(one.seconds)) for one in times]
    [('numpy', 3), ('cpu', 3)]
    >>> times
    backend  first  best  median  rate  speed  ulp
    numpy ...
    cpu ...
    """
    if rounds is not None and (not isinstance(rounds, int) or rounds < 1):
        raise ArgumentError(f"bench: rounds is a positive integer, got {rounds!r}")
    subject = subject_of("bench", expr, args, kwargs)
    rows, ready = _checked(subject, asked_for("bench", backends))
    _take_turns(ready, rounds)
    return Benchmark(tuple(rows))


def _checked(
    subject: Subject, names: Sequence[str]
) -> tuple[list[TimedBackend], list[tuple[TimedBackend, Prepared]]]:
    """Return a row for each backend, its first run done, and those that can be timed, prepared."""
    rows: list[TimedBackend] = []
    ready: list[tuple[TimedBackend, Prepared]] = []
    expected: list[Array] = []
    for name in names:
        row = TimedBackend(name)
        rows.append(row)
        try:
            prepared = subject.on(device_called(name))
            nodes, row.first = prepared.run()
            values = values_of(nodes)
            expected = expected or values
            row.nbytes = subject.input_bytes + sum(value.nbytes for value in values)
            row.difference = difference(values, expected, prepared.labels())
        except Exception as error:  # whatever a backend does is its own row's matter
            if name == str(REFERENCE):
                raise
            row.error = error
            continue
        if name == str(REFERENCE) and prepared.is_function:
            _refuse_what_changes(prepared, expected)
        if row.difference.agrees:
            ready.append((row, prepared))
        else:
            off = row.difference
            row.error = KernelError(
                f"{off.result}{list(off.index or ())} is {off.value}, not {off.expected}: not timed"
            )
    return rows, ready


def _refuse_what_changes(prepared: Prepared, expected: list[Array]) -> None:
    again = values_of(prepared.run()[0])
    try:
        same = not difference(again, expected, [""] * len(again)).ulp
    except ValueError:  # not even the same shapes
        same = False
    if not same:
        raise changing("bench")


def _take_turns(ready: list[tuple[TimedBackend, Prepared]], rounds: int | None) -> None:
    """Time one run of each backend after the other, in one direction and then in the other."""
    spent, done = 0.0, 0
    while ready and not _is_enough(done, spent / len(ready), rounds):
        for row, prepared in ready.copy():
            try:
                _, seconds = prepared.run()
            except Exception as error:
                row.error = error
                ready.remove((row, prepared))
                continue
            row.seconds.append(seconds)
            spent += seconds
        ready.reverse()
        done += 1


def _is_enough(done: int, spent: float, rounds: int | None) -> bool:
    if rounds is not None:
        return done >= rounds
    return done >= _MOST or (done >= _FEWEST and spent >= _ENOUGH)
