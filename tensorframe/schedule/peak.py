"""Peak memory, from liveness: how many bytes live at once on each device while a plan runs, known before it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.views import VIEWS, is_view, viewed
from tensorframe.backends.registry import backend_of
from tensorframe.backends.transfer import is_shared
from tensorframe.graph.device import Device
from tensorframe.graph.region import Region
from tensorframe.graph.shape import strides_of
from tensorframe.ops.movement import RESHAPE
from tensorframe.schedule.plan import Plan, Step, StepKind


def peak_bytes(plan: Plan) -> dict[Device, int]:
    """Return the most bytes that live at once on each device while the plan runs, its inputs included.

    Memory is freed with the last value that is in it: views look into that of their operand, some results take over
    an operand's, and a copy between devices that share memory is none. What a step takes for itself is what its backend
    says (`Backend.scratch`).
    """
    peak: dict[Device, int] = {}
    for live in live_bytes(plan):
        for device, size in live.items():
            peak[device] = max(peak.get(device, 0), size)
    return peak


def growth(plan: Plan) -> dict[Device, tuple[int, int]]:
    """Return, for each memory that grows while the plan runs, by how many bytes at most, and at which step.

    What the plan begins with is there already. Devices of host memory share one, which the first of them stands for.
    """
    most: dict[Device, tuple[int, int]] = {}
    before: dict[Device, int] = {}
    memory: dict[Device, Device] = {}
    for index, live in enumerate(live_bytes(plan), start=-1):
        held: dict[Device, int] = {}
        for device, size in live.items():
            home = memory.get(device) or memory.setdefault(device, _memory_of(device, memory))
            held[home] = held.get(home, 0) + size
        before = before or dict(held)
        for home, size in held.items():
            more = size - before.get(home, 0)
            if more > most.get(home, (0, -1))[0]:
                most[home] = (more, index)
    return most


def _memory_of(device: Device, known: dict[Device, Device]) -> Device:
    """Return the device that stands for a device's memory."""
    shared = (home for home in known.values() if home is device or is_shared(home, device))
    return next(shared, device)


def live_bytes(plan: Plan) -> Iterator[dict[Device, int]]:
    """Yield the bytes that live on each device before the first step, and then while each step runs.

    It is one dict, which changes between two of them.
    """
    memory, layouts = _Memory(plan), _Layouts(plan)
    for slot in range(plan.leaves):
        memory.take(slot, plan.slots[slot].nbytes)
    yield memory.live
    for step in plan.steps:
        seen = layouts.seen(step) if step.is_view else None
        for slot, donor in zip(step.outputs, step.donors, strict=True):
            if seen is not None or _stays(plan, step):
                memory.share(slot, step.inputs[0])
            elif donor is not None and memory.is_alone(donor) and _writes_over(step):
                memory.share(slot, donor)
            else:
                memory.take(slot, _size(plan, step, slot))
        own = _scratch(step, layouts)
        memory.live[step.device] = memory.live.get(step.device, 0) + own
        yield memory.live
        memory.live[step.device] -= own
        for slot in step.frees:
            memory.drop(slot)


def memory_of_views(plan: Plan) -> dict[int, int]:
    """Return the slots that look at another's memory, and at whose; views whose elements are copied are none."""
    layouts, roots = _Layouts(plan), dict[int, int]()
    for step in plan.steps:
        if step.is_view and layouts.seen(step) is not None:
            (source, *_) = step.inputs
            roots |= dict.fromkeys(step.outputs, roots.get(source, source))
    return roots


def _scratch(step: Step, layouts: _Layouts) -> int:
    """Return the bytes that a step takes while it runs, beside its operands and results."""
    if step.is_view or step.kind is StepKind.TRANSFER:
        return 0
    backend = backend_of(step.device)
    own = backend.scratch(step.region, step.device)
    copied = layouts.copied(step)
    return own + copied if copied and backend.copies_reshaped(step.region, step.device) else own


class _Layouts:
    """Where the elements of values lie in memory, as far as views have them lie elsewhere than in C order."""

    def __init__(self, plan: Plan) -> None:
        self._slots = plan.slots
        self._known: dict[int, DeviceArray] = {}

    def seen(self, step: Step) -> Sequence[DeviceArray] | None:
        """Return what a view looks at; None where strides cannot say it, so that elements are copied."""
        (source, *_) = step.inputs
        slot = self._slots[source]
        array = self._known.get(source) or DeviceArray(
            None, slot.dtype, slot.shape, strides_of(slot.shape)
        )
        if not is_view(step.region):
            return (array,)  # a part of several results, or what waits for others
        views = viewed(step.region, array)
        if views is not None:
            self._known.update(zip(step.outputs, views, strict=True))
        return views

    def copied(self, step: Step) -> int:
        """Return the bytes that a step copies to reshape operands because these do not lie in C order."""
        region = step.region
        there = {v: self._known[slot] for v, slot in enumerate(step.inputs) if slot in self._known}
        if not there or all(op.op is not RESHAPE for op in region.ops):
            return 0
        in_order = {
            value: DeviceArray(None, array.dtype, array.shape, strides_of(array.shape))
            for value, array in there.items()
        }
        return max(_copied(region, there) - _copied(region, in_order), 0)


def _copied(region: Region, arrays: dict[int, DeviceArray]) -> int:
    """Return the bytes of what a region reshapes of some of its inputs where strides cannot say it."""
    arrays, copied = dict(arrays), 0
    for value, op in enumerate(region.ops, start=len(region.inputs)):
        if op.op not in VIEWS or op.inputs[0] not in arrays:
            continue
        views = viewed(region.part(op.inputs, [value], [value]), arrays[op.inputs[0]])
        if views is None:
            copied += prod(op.shape) * op.dtype.itemsize
        else:
            (arrays[value],) = views
    return copied


def _stays(plan: Plan, step: Step) -> bool:
    if step.kind is not StepKind.TRANSFER:
        return False
    return is_shared(plan.slots[step.inputs[0]].device, step.device)


def _writes_over(step: Step) -> bool:
    """Whether the program of the step writes into the buffers that it is given."""
    return backend_of(step.device).writes_over(step.region, step.device)


def _size(plan: Plan, step: Step, slot: int) -> int:
    """Return the bytes of an output: of a call that gives several tensors, of all of them."""
    region, last = step.region, step.region.ops[-1]
    if last.op.parts == 1:
        return plan.slots[slot].nbytes
    if last.op.results is not None:
        shapes = tuple(map(region.shape_of, last.inputs))
        results = last.op.results(shapes, region.dtype_of(last.inputs[0]), *last.attrs)
        return sum(prod(shape) * dtype.itemsize for shape, dtype in results)
    taken = {
        step.region.ops[0].attrs: plan.slots[step.outputs[0]].nbytes
        for step in plan.steps
        if step.is_view and slot in step.inputs
    }
    return max(plan.slots[slot].nbytes, sum(taken.values()))


class _Memory:
    """Which slots are in which block of memory, and how many bytes live on each device."""

    def __init__(self, plan: Plan) -> None:
        self._slots = plan.slots
        self._block: dict[int, int] = {}  # slot -> the slot that the block was taken for
        self._users: dict[int, int] = {}
        self._bytes: dict[int, int] = {}
        self.live: dict[Device, int] = {}

    def take(self, slot: int, nbytes: int) -> None:
        device = self._slots[slot].device
        self._block[slot], self._users[slot], self._bytes[slot] = slot, 1, nbytes
        self.live[device] = self.live.get(device, 0) + nbytes

    def share(self, slot: int, other: int) -> None:
        block = self._block.get(other)
        if block is None:  # a number of the plan has no memory, and views repeat it
            self.take(slot, self._slots[slot].dtype.itemsize)
            return
        self._block[slot] = block
        self._users[block] += 1

    def drop(self, slot: int) -> None:
        block = self._block.pop(slot, None)
        if block is None:
            return
        self._users[block] -= 1
        if not self._users[block]:
            self.live[self._slots[block].device] -= self._bytes[block]

    def is_alone(self, slot: int) -> bool:
        return self._users.get(self._block.get(slot, -1)) == 1
