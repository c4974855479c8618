"""Plans: steps over numbered slots as plain data, with their statistics, printable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from tensorframe.backends.registry import backend_of, capabilities
from tensorframe.dtypes import DType
from tensorframe.graph.device import Device
from tensorframe.graph.networks import new_network
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.quick_tuples import NamedTuple
from tensorframe.schedule.fallback import Fallback
from tensorframe.schedule.plan_methods import PlanMethods

if TYPE_CHECKING:
    import networkx


class StepKind(Enum):
    """What a step does."""

    REGION = "region"
    LIBRARY = "library"
    TRANSFER = "transfer"


# What the steps are called in texts.
_WORDS = {
    StepKind.REGION: "kernel",
    StepKind.LIBRARY: "library call",
    StepKind.TRANSFER: "transfer",
}


class Slot(NamedTuple):
    """A value of the plan: what it is, not where."""

    shape: Shape
    dtype: DType
    device: Device

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        count = self.dtype.itemsize
        for size in self.shape:
            count *= size
        return count

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(slots=True)
class Step:
    """One thing to do: `region` on the values in `inputs`, giving `outputs`.

    `frees` are slots that are dead afterwards; `donors` gives, for each output, a slot whose memory it may
    take over. `refusals` says for input slots why what made them is not fused. `origins` are the places in the captured
    order of the nodes that its outputs were recorded as, and `origin` is that of the node that represents this step in
    messages; -1 where there is none. `names` are those of the ops, or of the users' functions that these are part of.
    """

    kind: StepKind
    device: Device
    region: Region
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    origin: int
    origins: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    frees: tuple[int, ...] = ()
    donors: tuple[int | None, ...] = ()
    refusals: dict[int, str] = field(default_factory=dict)
    bytes_read: int = 0
    bytes_written: int = 0
    flops: float = 0.0
    backward: int = 0  # how many of the ops were recorded for a gradient
    fallbacks: tuple[Fallback, ...] = ()  # ops that were recorded for another device
    seconds: float | None = (
        None  # of the last run that measured it: transfers, and all steps while somebody listens
    )

    @property
    def direction(self) -> str:
        """Whether the step is part of a gradient: `backward`, `forward and backward`, or empty."""
        if not self.backward:
            return ""
        return "backward" if self.backward == len(self.region.ops) else "forward and backward"

    @property
    def is_view(self) -> bool:
        """Whether the step is a view: the same bytes with another shape or strides."""
        return all(op.op.alias for op in self.region.ops)

    @property
    def name(self) -> str:
        """The ops, in short."""
        names = list(self.names) or [op.op.name for op in self.region.ops]
        if len(names) > 6:
            names = [*names[:3], f"... {len(names) - 5} more ...", *names[-2:]]
        return " ".join(names)


@dataclass(slots=True)
class Plan(PlanMethods):
    """Steps in order; slots 0 to `leaves - 1` are given, `literals` are numbers that passes made."""

    slots: list[Slot]
    leaves: int
    literals: dict[int, Any]
    steps: list[Step]
    outputs: tuple[int, ...]
    runner: Any = None  # the compiled steps, once it has run
    outlook: Any = None  # what may be worth storing besides: see runtime/materialization.py
    peak: dict[Device, int] = field(default_factory=dict)
    consumers: Any = None  # of each node, once its values were named: see schedule/consumers.py
    names: dict[int, str] = field(default_factory=dict)  # slots that the program has names for
    descriptions: dict[int, str] = field(default_factory=dict)  # the others, by op and line
    stream: str = (
        ""  # its stream, if it does not fit into memory: see runtime/streaming/out_of_core.py
    )

    def name_of(self, slot: int) -> str:
        """Return what a value is called: the program's variable, else its op and line (`schedule/naming.py`).

        A plan that nobody named, as passes make it, has numbers: `%4`.
        """
        return self.names.get(slot) or self.descriptions.get(slot) or f"%{slot}"

    def _of(self, kind: StepKind) -> Iterator[Step]:
        return (step for step in self.steps if step.kind is kind)

    @property
    def kernels(self) -> int:
        """Regions that compute something; views do not count."""
        return sum(not step.is_view for step in self._of(StepKind.REGION))

    @property
    def library_calls(self) -> int:
        """Calls of a library function: products, sorts, decompositions."""
        return sum(1 for _ in self._of(StepKind.LIBRARY))

    @property
    def transfers(self) -> int:
        """Copies between devices."""
        return sum(1 for _ in self._of(StepKind.TRANSFER))

    @property
    def bytes_transferred(self) -> int:
        """Bytes that cross from device to device."""
        return sum(step.bytes_written for step in self._of(StepKind.TRANSFER))

    @property
    def fallbacks(self) -> int:
        """Ops that run on another device than they were recorded for, since that cannot do them."""
        return sum(len(step.fallbacks) for step in self.steps)

    @property
    def bytes_read(self) -> int:
        """Bytes that the steps read from memory."""
        return sum(step.bytes_read for step in self.steps)

    @property
    def bytes_written(self) -> int:
        """Bytes that the steps write to memory."""
        return sum(step.bytes_written for step in self.steps)

    @property
    def flops(self) -> float:
        """Floating-point operations, by the cost that each row states."""
        return sum(step.flops for step in self.steps)

    def graph(self) -> networkx.DiGraph[int]:
        """Return the steps as a networkx DiGraph, with an edge for each value that passes between two."""
        graph = new_network()
        made_by: dict[int, int] = {}
        for index, step in enumerate(self.steps):
            graph.add_node(index, label=step.name, kind=step.kind.value, device=str(step.device))
            for slot in step.inputs:
                if slot in made_by:
                    graph.add_edge(made_by[slot], index, bytes=self.slots[slot].nbytes)
            made_by.update(dict.fromkeys(step.outputs, index))
        return graph

    def __str__(self) -> str:
        lines = [self.headline, *([f"  {self.stream}"] if self.stream else [])]
        from tensorframe.schedule.columns import cells  # most plans are never shown

        columns = cells(self.steps)
        for index, (step, notes) in enumerate(zip(self.steps, self.notes(), strict=True)):
            extra = {name: column[index] for name, column in columns.items() if column[index]}
            lines.append(f"  {_summary(index, step, self, extra)}")
            lines += [f"       {note}" for note in notes]
        return "\n".join(lines)

    def notes(self) -> list[list[str]]:
        """Return what else is to say of each step: ops recorded for other devices, and why inputs are not fused."""
        # these are never part of a kernel, or cost nothing
        never = {
            slot
            for step in self.steps
            if step.is_view or step.kind is StepKind.TRANSFER
            for slot in step.outputs
        }
        notes = []
        for step in self.steps:
            runs = not step.is_view and step.kind is not StepKind.TRANSFER
            refusals = step.refusals if runs else {}
            unfused = [
                f"{self.name_of(slot)} is not fused: {reason}"
                for slot, reason in refusals.items()
                if slot not in never
            ]
            notes.append([*map(str, step.fallbacks), *_bottleneck(step), *unfused])
        return notes

    @property
    def headline(self) -> str:
        """The figures of the whole plan in a line."""
        peak = ", ".join(f"{human_bytes(size)} on {device}" for device, size in self.peak.items())
        return (
            f"plan: {_count(self.kernels, 'kernel')}, {_count(self.library_calls, 'library call')}, "
            f"{_count(self.transfers, 'transfer')}{self._fallen()}; reads {human_bytes(self.bytes_read)}, "
            f"writes {human_bytes(self.bytes_written)}, {self.flops:.3g} flops; peak {peak or '0 B'}"
        )

    def _fallen(self) -> str:
        return f", {_count(self.fallbacks, 'fallback')}" if self.fallbacks else ""

    __repr__ = __str__


def _bottleneck(step: Step) -> list[str]:
    """Return why a step does not run in blocks where others of its device do."""
    if step.kind is StepKind.TRANSFER or not capabilities(step.device).chunked:
        return []
    reason = backend_of(step.device).bottleneck(step.region, step.device)
    return [] if reason is None else [reason]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _summary(index: int, step: Step, plan: Plan, extra: Mapping[str, str]) -> str:
    slots = plan.slots
    made = ", ".join(f"{plan.name_of(slot)} {slots[slot]}" for slot in step.outputs)
    used = ", ".join(map(plan.name_of, step.inputs))
    moved = f"{human_bytes(step.bytes_read)} -> {human_bytes(step.bytes_written)}"
    if step.kind is StepKind.TRANSFER:
        moved = human_bytes(step.bytes_written) if step.bytes_written else "the same memory"
    if step.region.ops[0].op.kind is Kind.CONTRACT:
        moved += f", {step.flops:.3g} flops"
    if step.seconds is not None:
        moved += f", {step.seconds * 1e3:.3g} ms"
    moved += "".join([f", {name} {cell}" for name, cell in extra.items()])
    way = f", {step.direction}," if step.direction else ""
    what = f"{'view' if step.is_view else _WORDS[step.kind]}{way}"
    where = f"on {step.device}"
    if step.kind is StepKind.TRANSFER:
        where = f"from {slots[step.inputs[0]].device} to {step.device}"
    return f"{index}: {what} {where}: {step.name}({used}) -> {made}   [{moved}]"


def human_bytes(count: float) -> str:
    """Return a byte count for people: 1536 -> `1.5 KiB`."""
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    power = 0
    while count >= 1024 and power < len(units) - 1:
        count /= 1024
        power += 1
    return f"{count:.3g} {units[power]}" if count < 999.5 else f"{count:.0f} {units[power]}"


def is_library(kind: Kind) -> bool:
    """Whether a backend's library runs ops of this kind, rather than a region."""
    return kind in (Kind.LIBRARY, Kind.CONTRACT)
