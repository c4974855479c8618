"""Records: what was collected as plain data, a row for each thing that ran, and where the time went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tensorframe.backends.limits import Limits, limits_of
from tensorframe.backends.spans import Work
from tensorframe.graph.device import Device
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.runtime.execution.events import Source
from tensorframe.runtime.profiling.collection import Collection
from tensorframe.runtime.profiling.tallies import Made, PlanTally, Tally
from tensorframe.schedule.plan import Plan, Step, StepKind
from tensorframe.site import Site, describe


@dataclass(frozen=True, slots=True)
class Record:
    """One kernel, library call, transfer or small graph of one line, with all of its calls.

    Bytes and operations are those of one call, as the plan counts them: what it has to read and write at least, and
    what each op's row says that it costs.
    """

    kind: str
    """"kernel", "library", "transfer", "view" or "small": a graph that ran op by op, without a plan."""
    name: str
    """The ops; of a small graph, the last one."""
    device: str
    """Where it ran; of transfers, `from -> to`."""
    line: str
    """The user's line that recorded it, such as `analysis.py, line 3`; empty where nothing is known."""
    source: str
    """The text of that line."""
    calls: int
    seconds: float
    """All calls together."""
    fastest: float
    slowest: float
    device_seconds: float | None = None
    """What the device itself counted for the kernels of all calls, by events of OpenCL and CUDA and timestamps of
    WebGPU: the rest of `seconds` is launching and waiting. None where it did not, as for NVIDIA's libraries."""
    bytes_read: float = 0
    bytes_written: float = 0
    flops: float = 0.0
    limit: Limits | None = field(default=None, repr=False)
    """What the device does at best, if it was calibrated."""

    @property
    def mean(self) -> float:
        """Seconds of a call."""
        return self.seconds / self.calls

    @property
    def bytes_per_second(self) -> float | None:
        """Bytes read and written; of transfers, bytes moved. None where bytes are not counted."""
        return _rate(self.bytes_read + self.bytes_written, self.mean)

    @property
    def flops_per_second(self) -> float | None:
        """Floating-point operations; None where there are none."""
        return _rate(self.flops, self.mean)

    @property
    def share_of_limit(self) -> float | None:
        """The shortest time that the device's limits allow for this, by the mean time that it took: the roofline.

        More than 1 where data are in caches, which are faster than the memory that was calibrated. None without
        limits, and for what computes nothing.
        """
        if self.limit is None or self.kind not in ("kernel", "library"):
            return None
        least = max(
            self.limit.seconds_of_bytes(self.bytes_read, self.bytes_written),
            self.flops / self.limit.flops,
        )
        return _rate(least, self.mean)


def _rate(amount: float, seconds: float) -> float | None:
    return amount / seconds if amount and seconds > 0 else None


@dataclass(frozen=True, slots=True)
class MadeKernel:
    """A kernel that was compiled, or taken from disk."""

    name: str
    compiler: str
    from_disk: bool
    seconds: float
    step: str
    """The ops of the step that needed it; empty where that is not known."""
    line: str


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """A device's memory, or that of the host as far as plans know it, in bytes."""

    device: str
    peak: int
    """The most that tensors of the device had at once; of the host, the most that one plan needs, inputs included."""
    is_planned: bool
    """Whether `peak` is what plans say, rather than what was measured."""
    allocations: int | None = None
    """Blocks that the device allocated; the others were used again."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Where the seconds of a profile went. All threads' work is added up, but for `seconds` and `outside`."""

    seconds: float
    """From the beginning of the block to its end."""
    outside: float
    """Those in which the profile's own thread was not computing: Python between, and recording."""
    steps: dict[str, float]
    """By kind: kernels, library calls, transfers, views, small graphs. Without making kernels."""
    opening: float
    """Finding devices and getting them ready, when they are first used: drivers load, and kernels are tried."""
    opened: tuple[str, ...]
    """The devices, and backends, that this was for."""
    planning: float
    """Making plans, and looking at their regions."""
    making: float
    """Laying out, compiling and loading kernels."""
    overhead: float
    """What is left: capturing graphs, looking plans up, keeping results."""
    runs: int
    """Of plans."""
    small_runs: int
    unfinished: int
    """Runs that broke off with an error."""
    plans_made: int
    plans_found: int
    """Runs whose plan was in the cache."""
    replays: int
    """Runs of jitted functions, which need not look."""
    results: int
    """Bytes of all results."""
    threads: int
    """That computed something."""
    waited: bool
    """Whether a device that works on its own was waited for after each step."""

    @property
    def accounted(self) -> float:
        """The seconds of all parts: `seconds`, and what other threads have done meanwhile."""
        parts = (self.opening, self.planning, self.making, self.overhead, self.outside)
        return sum(self.steps.values()) + sum(parts)


def records_of(collection: Collection) -> tuple[Record, ...]:
    """Return a record for each thing that ran, the longest first."""
    records: dict[tuple[object, ...], Record] = {}
    for record in _every(collection):
        key = (
            *(record.kind, record.name, record.device, record.line, record.source),
            *(record.bytes_read, record.bytes_written, record.flops),
        )
        records[key] = _joined(records[key], record) if key in records else record
    return tuple(sorted(records.values(), key=lambda record: -record.seconds))


def _every(collection: Collection) -> Iterator[Record]:
    for plan in collection.plans:
        for step, tally in zip(plan.plan.steps, plan.steps, strict=True):
            if tally.calls:
                yield _of_step(plan.plan, step, tally)
    for small in collection.small:
        if small.tally.calls:
            yield _record("small", small.op.name, str(small.device), small.tally)
    for (name, where), tally in collection.copies.items():
        yield replace(
            _record("transfer", name, where, tally), bytes_written=tally.nbytes / tally.calls
        )


def _record(kind: str, name: str, device: str, tally: Tally) -> Record:
    line, source = line_of(tally.site)
    times = (tally.total * 1e-9, tally.fastest * 1e-9, tally.slowest * 1e-9)
    is_counted = tally.counted == tally.calls > 0
    on_device = tally.on_device * 1e-9 if is_counted else None
    return Record(kind, name, device, line, source, tally.calls, *times, on_device)


def _of_step(plan: Plan, step: Step, tally: Tally) -> Record:
    kind = kind_of(step)
    moves = step.kind is StepKind.TRANSFER
    return replace(
        _record(kind, step.name, where(plan, step), tally),
        bytes_read=0 if moves else step.bytes_read,
        bytes_written=step.bytes_written,
        flops=step.flops,
        limit=None if moves else limits_of(step.device),
    )


def _joined(record: Record, other: Record) -> Record:
    mine, theirs = record.device_seconds, other.device_seconds
    return replace(
        record,
        calls=record.calls + other.calls,
        seconds=record.seconds + other.seconds,
        fastest=min(record.fastest, other.fastest),
        slowest=max(record.slowest, other.slowest),
        device_seconds=None if mine is None or theirs is None else mine + theirs,
    )


def kind_of(step: Step) -> str:
    """Return the kind of a step's record; what only hands memory on is a view."""
    if step.is_view or (step.kind is StepKind.TRANSFER and not step.bytes_written):
        return "view"
    return {StepKind.REGION: "kernel"}.get(step.kind, step.kind.value)


def where(plan: Plan, step: Step) -> str:
    """Return the device of a step; of transfers, both."""
    if step.kind is not StepKind.TRANSFER:
        return str(step.device)
    return f"{plan.slots[step.inputs[0]].device} -> {step.device}"


def line_of(site: Site | None) -> tuple[str, str]:
    """Return where a line is, with the last part of its file's path, and its text."""
    place, _, source = (describe(site) or "").partition(":   ")
    return place.replace("\\", "/").rpartition("/")[2], source


def made_of(collection: Collection) -> tuple[MadeKernel, ...]:
    """Return the kernels that were made, those that took longest first."""
    made = [_made(kernel, collection.ahead) for kernel in collection.made]
    return tuple(sorted(made, key=lambda kernel: -kernel.seconds))


def _made(made: Made, ahead: Mapping[str, int]) -> MadeKernel:
    span = made.span
    # who needed it may have waited for less than it took
    seconds = max(span.ended - span.began, ahead.get(span.name, 0)) * 1e-9
    from_disk = span.work is Work.LOAD
    return MadeKernel(span.name, span.where, from_disk, seconds, made.name, line_of(made.site)[0])


def memory_of(collection: Collection) -> tuple[DeviceMemory, ...]:
    """Return what devices have counted, and for the others what plans know."""
    memory = {
        name: DeviceMemory(name, counts.peak, is_planned=False, allocations=counts.allocations)
        for name, counts in collection.memory.items()
    }
    planned: dict[Device, int] = {}
    for tally in collection.plans:
        for device, size in tally.plan.peak.items():
            planned[device] = max(planned.get(device, 0), size)
    for device, size in planned.items():
        memory.setdefault(str(device), DeviceMemory(str(device), size, is_planned=True))
    return tuple(memory.values())


def summary_of(collection: Collection, now: int) -> Summary:
    """Return where the time went until `now`, in nanoseconds, or the end."""
    plans, spent = collection.plans, collection.spent
    steps = _by_kind(collection)
    planning = spent[Work.PLAN] + spent[Work.PREPARE]
    making = sum(spent[work] for work in (Work.LAYOUT, Work.COMPILE, Work.AHEAD, Work.LOAD))
    total = (collection.ended or now) - collection.began
    own = collection.threads.get(collection.owner)
    return Summary(
        seconds=total * 1e-9,
        outside=max(total - (own.total if own else 0), 0) * 1e-9,
        steps={kind: time * 1e-9 for kind, time in steps.items()},
        opening=spent[Work.OPEN] * 1e-9,
        opened=tuple(collection.opened),
        planning=planning * 1e-9,
        making=making * 1e-9,
        overhead=sum(tally.around for tally in plans) * 1e-9,
        runs=sum(tally.runs for tally in plans),
        small_runs=sum(small.tally.calls for small in collection.small),
        unfinished=sum(tally.unfinished for tally in plans),
        plans_made=collection.counts[Work.PLAN],
        plans_found=_runs(plans, Source.EVALUATED) - sum(tally.planned for tally in plans),
        replays=_runs(plans, Source.REPLAYED),
        results=sum(_results(tally) for tally in plans),
        threads=len(collection.threads),
        waited=any(tally.plan.runner is not None and tally.plan.runner.waits for tally in plans),
    )


def _by_kind(collection: Collection) -> dict[str, int]:
    """Return the nanoseconds of each kind of record."""
    seconds = dict.fromkeys(("kernel", "library", "transfer", "view", "small"), 0)
    for plan in collection.plans:
        for step, tally in zip(plan.plan.steps, plan.steps, strict=True):
            seconds[kind_of(step)] += tally.total
    seconds["small"] = sum(small.tally.total for small in collection.small)
    seconds["transfer"] += collection.spent[Work.TRANSFER]
    return seconds


def _runs(plans: Iterable[PlanTally], source: Source) -> int:
    return sum(tally.runs for tally in plans if tally.source is source)


def _results(tally: PlanTally) -> int:
    """Return the bytes of the results of all runs that were finished."""
    plan = tally.plan
    return (tally.runs - tally.unfinished) * sum(plan.slots[slot].nbytes for slot in plan.outputs)
