"""Estimates: what computing tensors takes, known from their plan before anything runs or is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tensorframe.backends import limits
from tensorframe.backends.dry.engine import IMAGINED
from tensorframe.backends.entries import INTERFACES, entry_of
from tensorframe.backends.registry import resolve_device
from tensorframe.errors import DeviceError, DTypeError
from tensorframe.frontend.diagnostics.pages import Page
from tensorframe.frontend.diagnostics.tables import human_seconds
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trials.relocation import described, holds_values, relocated
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.runtime.eager.views import views_computed
from tensorframe.runtime.evaluate import plan_of
from tensorframe.runtime.execution.leaves import as_run
from tensorframe.schedule.capture import capture
from tensorframe.schedule.plan import Plan, Slot, StepKind, human_bytes

__all__ = ["Estimate", "estimate"]


@dataclass(frozen=True, repr=False)
class Estimate(Page):
    """What a computation takes, in bytes and operations.

    Found before anything runs, from shapes and dtypes alone: what is read, written and held at the
    peak.
    """

    peak: dict[Device, int]
    """The most bytes that live at once on each device: inputs, results, what lies between, and what steps need."""
    inputs: dict[Device, int]
    """How many of these the inputs have, which are there already."""
    results: dict[Device, int]
    """The bytes of the results' elements; one that is a view may take less memory, or none of its own."""
    bytes_read: int
    """What the steps read from memory."""
    bytes_written: int
    """What they write to memory."""
    bytes_moved: int
    """What crosses from device to device; nothing does between devices that share memory."""
    flops: float
    """Floating-point operations, by the cost that each op's row states."""
    kernels: int
    library_calls: int
    transfers: int
    seconds: float | None = None
    """The shortest time that it takes by what `tfr.calibrate` measured; None where a device was not measured."""

    def __repr__(self) -> str:
        lines = [f"peak      {line}" for line in self._peaks()] or ["peak      0 B"]
        lines += [
            f"reads     {human_bytes(self.bytes_read)}",
            f"writes    {human_bytes(self.bytes_written)}",
            f"moves     {human_bytes(self.bytes_moved)} between devices",
            f"computes  {operations(self.flops)}",
            f"runs      {', '.join(self._steps())}",
        ]
        lines += (
            [] if self.seconds is None else [f"takes     {human_seconds(self.seconds)} at best"]
        )
        return "\n".join(lines)

    def _steps(self) -> Iterable[str]:
        yield _count(self.kernels, "kernel")
        yield _count(self.library_calls, "library call")
        yield _count(self.transfers, "transfer")

    def _peaks(self) -> Iterable[str]:
        for device, size in self.peak.items():
            inputs, results = self.inputs.get(device, 0), self.results.get(device, 0)
            shares = f"inputs {human_bytes(inputs)}, results {human_bytes(results)}"
            yield f"{human_bytes(size)} on {device} ({shares})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def operations(count: float) -> str:
    """Return a number of operations for people: 3.1e9 -> `3.1 Gflop`."""
    for prefix in ("", "K", "M", "G", "T"):
        if count < 1000:
            return f"{count:.3g} {prefix}flop"
        count /= 1000
    return f"{count:.3g} Pflop"


def estimate(*tensors: Tensor, device: str | Device | None = None) -> Estimate:
    """Return what computing `tensors` together takes: nothing is computed, compiled, allocated or moved.

    With `device`, the estimate is for a run with all operands on that device. The device need not be available: its
    kernels are then assumed to do what compiled kernels do on this machine.

    `peak` is an upper bound. It counts inputs, intermediates, results, and the workspace of each step, such as copies
    for functions of NumPy and LAPACK, buffers of threads, and memory for sorting. Where either engine of the cpu may
    run a step, the engine that takes more counts. Python's own objects, compilers, and memory that is pooled for later
    tensors do not count.

    DeviceError if no backend has that name. DTypeError if an argument is not a tensor.

    >>> x = tfr.ones((1000, 1000)) * tfr.arange(1000.0)
    >>> tfr.estimate(tfr.sum(tfr.exp(x.compute()), axis=1))
    peak      3.82 MiB on cpu (inputs 3.81 MiB, results 3.91 KiB)
    reads     3.81 MiB
    writes    3.91 KiB
    moves     0 B between devices
    computes  11 Mflop
    runs      1 kernel, 0 library calls, 0 transfers
    >>> tfr.estimate(x @ x.T, device="cuda").peak[tfr.Device("cuda")] == 2 * x.nbytes
    True
    """
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise DTypeError(
                f"estimate: takes tensors, got {type(tensor).__name__}",
                suggestions=("tfr.estimate(*tensors) where they are in a list",),
            )
    roots = [tensor.node for tensor in tensors]
    if device is not None:
        return estimate_on(capture(as_run(roots)).wanted, device)
    if len(roots) == 1:
        views_computed(roots[0].inputs)  # which move no byte, and are leaves of the plan that runs
    return _of_plan(plan_of(capture(as_run(roots))))


def estimate_on(
    roots: Sequence[Node], device: str | Device, is_leaf: Callable[[Node], bool] = holds_values
) -> Estimate:
    """Return what computing nodes takes if their leaves were on a device, which need not be here."""
    from tensorframe.schedule.pipeline import make_plan  # loads what a plain import can do without

    there, stand_in = _target(device)
    moved = relocated(roots, stand_in, partial(described, device=stand_in), is_leaf)
    return _of_plan(make_plan(capture(moved, keep_held=False)), {stand_in: there})


def _target(device: str | Device) -> tuple[Device, Device]:
    """Return the device a user means, and the one that plans are made for: a dry one if it is not here."""
    try:
        there = resolve_device(device)
    except DeviceError:
        there = Device(device)
        if there.backend not in INTERFACES and entry_of(there.backend) is None:
            raise
        return there, IMAGINED
    return there, there


def _of_plan(plan: Plan, names: Mapping[Device, Device] | None = None) -> Estimate:
    """Return what a plan takes; `names` says which devices others stand in for."""
    known = names or {}
    results = {slot: plan.slots[slot] for slot in plan.outputs if slot >= plan.leaves}
    return Estimate(
        peak={known.get(device, device): size for device, size in plan.peak.items()},
        inputs=_by_device(plan.slots[: plan.leaves], known),
        results=_by_device(results.values(), known),
        bytes_read=plan.bytes_read,
        bytes_written=plan.bytes_written,
        bytes_moved=plan.bytes_transferred,
        flops=plan.flops,
        kernels=plan.kernels,
        library_calls=plan.library_calls,
        transfers=plan.transfers,
        seconds=_seconds(plan, known),
    )


def _seconds(plan: Plan, names: Mapping[Device, Device]) -> float | None:
    """Return the time that the steps take, one after the other, if each goes as fast as its device can."""
    total = 0.0
    for step in plan.steps:
        device = names.get(step.device, step.device)
        ends = [device]
        if step.kind is StepKind.TRANSFER:
            ends.append(plan.slots[step.inputs[0]].device)
        nbytes = step.bytes_read + step.bytes_written
        times = [limits.seconds(end, nbytes, step.flops) for end in ends if nbytes or step.flops]
        if None in times:
            return None
        total += max([time for time in times if time is not None], default=0.0)
    return total


def _by_device(slots: Iterable[Slot], names: Mapping[Device, Device]) -> dict[Device, int]:
    sizes: dict[Device, int] = {}
    for slot in slots:
        device = names.get(slot.device, slot.device)
        sizes[device] = sizes.get(device, 0) + slot.nbytes
    return sizes
