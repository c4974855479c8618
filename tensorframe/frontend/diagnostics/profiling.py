"""Profiles: where the time of a block of code went, kernel by kernel, by the lines that recorded them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from time import perf_counter_ns
from types import TracebackType
from typing import TYPE_CHECKING

from tensorframe.errors import ArgumentError
from tensorframe.frontend.diagnostics.pages import Page
from tensorframe.frontend.diagnostics.tables import human_seconds, shorten, table
from tensorframe.schedule.plan import human_bytes

if TYPE_CHECKING:
    from tensorframe.runtime.profiling.collection import Collection
    from tensorframe.runtime.profiling.records import DeviceMemory, MadeKernel, Record, Summary
    from tensorframe.runtime.profiling.timeline import Slice
    from tensorframe.schedule.plan import Plan

__all__ = ["Profile", "profile"]

_WIDEST = 44  # characters of a kernel's ops
_ROWS = 20  # of the table that is printed; `records` has all of them

CALIBRATE = (
    "tfr.calibrate() measures each device once: then this shows how near to its limits kernels are"
)

WAITED = (
    "devices that work on their own were waited for after each step: without a profile they do not"
    " keep Python waiting"
)


class Profile(Page):
    """What `tfr.profile()` returns: a context manager, and afterwards what ran inside it.

    It prints as a table, and is one with a timeline in notebooks; `records` holds a row for each kernel, library call,
    transfer and small graph, `summary` where the time went, `kernels_made` what was compiled or taken from disk, and
    `memory` what devices had in use. All of these may be asked for inside the block too.
    """

    def __init__(self, timeline: int = 100_000) -> None:
        if not isinstance(timeline, int) or timeline < 0:
            raise ArgumentError(f"profile: timeline is a number of steps, got {timeline!r}")
        self._limit = timeline
        self._collection: Collection | None = None

    def __enter__(self) -> Profile:
        from tensorframe.runtime.profiling.collection import (
            Collection,  # of what only profiles need
        )

        if self._collection is not None:
            hint = "with tfr.profile() as another: ..."
            raise ArgumentError("profile: one can be entered once", suggestions=(hint,))
        self._collection = Collection(self._limit)
        self._collection.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._collection is not None:
            self._collection.end()

    def _collected(self) -> Collection:
        if self._collection is None:
            hint = "with tfr.profile() as p: ..."
            raise ArgumentError("profile: nothing has run inside it yet", suggestions=(hint,))
        self._collection.add_up()
        self._collection.look_at_memory()
        return self._collection

    @property
    def records(self) -> tuple[Record, ...]:
        """A row for each thing that ran, all calls of one line added up exactly, the longest first."""
        from tensorframe.runtime.profiling.records import records_of

        return records_of(self._collected())

    @property
    def summary(self) -> Summary:
        """Where the time went, in seconds, and how many plans ran."""
        from tensorframe.runtime.profiling.records import summary_of

        return summary_of(self._collected(), perf_counter_ns())

    @property
    def kernels_made(self) -> tuple[MadeKernel, ...]:
        """The kernels that were compiled, or taken from disk, and the lines that needed them."""
        from tensorframe.runtime.profiling.records import made_of

        return made_of(self._collected())

    @property
    def memory(self) -> tuple[DeviceMemory, ...]:
        """The most memory in use: devices with memory of their own count it, of the host plans say it."""
        from tensorframe.runtime.profiling.records import memory_of

        return memory_of(self._collected())

    @property
    def plans(self) -> tuple[tuple[Plan, int], ...]:
        """The plans that ran, each with how often it did."""
        plans: dict[int, tuple[Plan, int]] = {}
        for tally in self._collected().plans:
            _, runs = plans.get(id(tally.plan), (tally.plan, 0))
            plans[id(tally.plan)] = (tally.plan, runs + tally.runs)
        return tuple(plans.values())

    @property
    def slices(self) -> tuple[Slice, ...]:
        """The steps, and what was told beside them, one by one in time, as far as they were kept."""
        from tensorframe.runtime.profiling.timeline import slices_of

        return tuple(slices_of(self._collected()))

    @property
    def dropped(self) -> int:
        """How many runs `slices` and the trace leave out, since there were more steps than `timeline`."""
        return self._collected().dropped

    @property
    def kept_until(self) -> float | None:
        """Seconds from the beginning after which `slices` ends; None where it has everything."""
        cut = self._collected().cut
        return None if cut is None else (cut - self._collected().began) * 1e-9

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a trace in Chrome's format to a file: https://ui.perfetto.dev opens it, in the browser alone."""
        import json

        from tensorframe.runtime.profiling.trace import chrome_trace

        about = {"summary": self._headline(), "left out": self.dropped}
        trace = chrome_trace(self.slices, about)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace, file)

    def __repr__(self) -> str:
        if self._collection is None:
            return "<profile: nothing has run inside it yet>"
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        records, made = self.records, self.kernels_made
        yield self._headline()
        yield table([("", *row) for row in time_rows(self.summary)], right={2, 3})
        if records:
            shown = records[:_ROWS]
            rows = [HEADINGS, *[cells(record) for record in shown]]
            if all(record.device_seconds is None for record in shown):
                rows = [(*row[:_ON_DEVICE], *row[_ON_DEVICE + 1 :]) for row in rows]
            yield ""
            yield table(rows, right=range(_FIRST_NUMBER, len(rows[0])))
        if len(records) > _ROWS:
            yield f"and {len(records) - _ROWS} more in .records"
        if made:
            yield ""
            yield table([("", *made_cells(kernel)) for kernel in made[:_ROWS]], right={3})
        yield from ["", *map(memory_line, self.memory)] if self.memory else []
        yield from ["", *self.notes()] if self.notes() else []

    def _headline(self) -> str:
        figures = self.summary
        runs = [_count(figures.runs, "plan run")] if figures.runs else []
        runs += [_count(figures.small_runs, "small graph")] if figures.small_runs else []
        return f"profile: {human_seconds(figures.seconds)}, {', '.join(runs) or 'nothing computed'}"

    def notes(self) -> list[str]:
        """Return what a reader has to know of the numbers."""
        lines, summary = [], self.summary
        if any(
            record.limit is None and record.kind in ("kernel", "library") for record in self.records
        ):
            lines.append(CALIBRATE)
        if self.dropped:
            kept = f"{self._limit:,}"
            lines.append(f"the timeline shows the first {kept} steps; the sums are those of all")
        if summary.unfinished:
            broken = _count(summary.unfinished, "run")
            lines.append(f"{broken} broke off with an error: steps done until then are counted")
        if summary.threads > 1:
            lines.append(f"the work of {summary.threads} threads is added up")
        if summary.waited:
            lines.append(WAITED)
        return lines


HEADINGS = (
    "ops",
    "",
    "device",
    "line",
    "calls",
    "total",
    "mean",
    "on device",
    "min",
    "GB/s",
    "GFLOP/s",
    "limit",
)
_FIRST_NUMBER = HEADINGS.index("calls")
_ON_DEVICE = HEADINGS.index("on device")


def cells(record: Record) -> tuple[str, ...]:
    """Return the cells of a record under `HEADINGS`."""
    on_device = record.device_seconds
    rate, flops, share = record.bytes_per_second, record.flops_per_second, record.share_of_limit
    return (
        shorten(record.name, _WIDEST),
        record.kind,
        record.device,
        record.line,
        f"{record.calls:,}",
        *[human_seconds(seconds) for seconds in (record.seconds, record.mean)],
        "" if on_device is None else human_seconds(on_device / record.calls),
        human_seconds(record.fastest),
        "" if rate is None else f"{rate / 1e9:.3g}",
        "" if flops is None else f"{flops / 1e9:.3g}",
        "" if share is None else f"{share:.0%}",
    )


def time_rows(summary: Summary) -> list[tuple[str, str, str, str]]:
    """Return where the time went: what, seconds, the share of the whole, and what there is to say of it."""
    names = {
        "kernel": "kernels",
        "library": "library calls",
        "transfer": "transfers",
        "view": "views",
        "small": "small graphs",
    }
    parts = [(names[kind], seconds, "") for kind, seconds in summary.steps.items()]
    parts[-1] = (*parts[-1][:2], "op by op, without a plan" if summary.small_runs else "")
    parts += [
        ("opening devices", summary.opening, ", ".join(summary.opened)),
        ("planning", summary.planning, _plans(summary)),
        ("making kernels", summary.making, ""),
        ("overhead", summary.overhead, "capturing, looking plans up, keeping results"),
        ("outside", summary.outside, "Python between, and recording"),
    ]
    return [
        (name, human_seconds(seconds), f"{seconds / summary.accounted:.1%}", note)
        for name, seconds, note in parts
        if seconds > 0
    ]


def _plans(summary: Summary) -> str:
    said = [_count(summary.plans_made, "plan") + " made"] if summary.plans_made else []
    said += [f"{summary.plans_found:,} found in the cache"] if summary.plans_found else []
    said += [f"{summary.replays:,} replayed by jit"] if summary.replays else []
    return ", ".join(said)


def made_cells(kernel: MadeKernel) -> tuple[str, str, str, str, str]:
    """Return the cells of a kernel that was made."""
    how = "from disk" if kernel.from_disk else "compiled"
    step = shorten(kernel.step, _WIDEST)
    return how, kernel.compiler, human_seconds(kernel.seconds), step or kernel.name, kernel.line


def memory_line(memory: DeviceMemory) -> str:
    """Return what is known of a device's memory."""
    if memory.is_planned:
        return f"memory of {memory.device}: {human_bytes(memory.peak)} for the largest plan, inputs included"
    asked = _count(memory.allocations or 0, "block")
    return (
        f"memory of {memory.device}: {human_bytes(memory.peak)} in use at most, {asked} allocated"
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def profile(*, timeline: int = 100_000) -> Profile:
    """Return a context manager that times everything that tensorframe computes inside it, in all threads.

    Afterwards it prints as a table: for each kernel, library call and transfer the line that recorded it, the number
    of runs, their time, bytes and operations per second, and the fraction of the device's limits (see `calibrate`)
    that this is; also the time for opening devices, planning, compiling and outside tensorframe, and memory.
    `records`, `summary`, `kernels_made` and `memory` hold the same as data, and `save` writes a trace for
    https://ui.perfetto.dev.

    Sums are exact however long the block runs. Single steps, for the timeline and the trace, are kept for the first
    `timeline` of them. Anything but a number raises ArgumentError. Devices that work on their own (OpenCL,
    WebGPU, CUDA) are waited for after each step, so that its time is that of its work: without a profile, steps of
    such devices overlap with Python, and the whole takes less. Profiles may be nested; an error in the block leaves
    what ran until then.

    >>> x = tfr.linspace(0.0, 1.0, 100_000).compute()
    >>> with tfr.profile() as p:
    ...     y = (tfr.sin(x) * x + 1).compute()
    >>> [(one.kind, one.name, one.calls, one.bytes_written) for one in p.records]
    [('kernel', 'sin multiply add', 1, 400000)]
    >>> p
    profile: ...
    """
    return Profile(timeline)
