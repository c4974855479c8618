"""Launch replays: recorded functions on devices, whose launches are given to the device again without the plan.

As on the host (`bound_replay.py`), values get memory of their own when a function has been replayed a few times. Only
arguments change: small ones are copied to where kernels read them, and donated ones, which are written over, have to be
the same buffer in every call, referenced by nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.engine import KernelBackend
from tensorframe.backends.device.memory import Block
from tensorframe.backends.device.recorded import Recording, can_be_copied, fill, new_like
from tensorframe.backends.registry import backend_of
from tensorframe.errors import IndexingError
from tensorframe.forks import new_lock
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.graph.references import referenced
from tensorframe.runtime.execution.throttling import handing_over
from tensorframe.runtime.replays.bound_replay import Arguments, Leaves, are_seen_elsewhere
from tensorframe.schedule.plan import Plan, StepKind

# Replays before memory is allocated for good; twice as many whenever arguments do not match what was recorded.
_REPLAYS = 8
# Steps from which there is something to gain, bytes that may stay for each, and those of an argument that is copied.
_FEWEST, _EACH, _COPIED = 4, 1 << 17, 1 << 16

_LOST = "an index is out of bounds, and what it was made of has been written over since"
_HINT = "call the function without donate=True once: the error names the index and its line then"

# runs the plan on its slots, and returns the outputs
Perform = Callable[[list[Any]], list[Any]]


def device_to_record(plan: Plan, given: Arguments) -> Device | None:
    """Return the device of a plan whose launches may be given again; None where that cannot be, or gains nothing.

    Numbers and random draws are part of a launch, so none may change; launches of vendor libraries do not go through
    the queue.
    """
    devices = {step.device for step in plan.steps}
    computing = [step for step in plan.steps if not step.is_view]
    made = sum(plan.slots[output].nbytes for step in computing for output in step.outputs)
    written = sum(plan.slots[plan.outputs[output]].nbytes for output in given.written.values())
    if (
        len(devices) != 1
        or given.others
        or len(computing) < _FEWEST
        or made - written > _EACH * len(computing)
        or any(step.kind is StepKind.TRANSFER for step in plan.steps)
    ):
        return None
    (device,) = devices
    backend = backend_of(device)
    if not isinstance(backend, KernelBackend):
        return None
    calls = any(step.kind is StepKind.LIBRARY for step in plan.steps)
    return None if calls and backend.has_libraries else device


def _without_waiting(perform: Perform, slots: list[Any]) -> list[Any]:
    """Run a plan whose launches are recorded: its queue is locked, so another thread could not wait for the device."""
    token = handing_over.set(True)
    try:
        return perform(slots)
    finally:
        handing_over.reset(token)


class LaunchReplay:
    """The launches of a recorded function's plan, once it has been replayed so often that this pays."""

    def __init__(self, plan: Plan, given: Arguments, device: Device) -> None:
        self._plan, self._given, self._device = plan, given, device
        self._lock = new_lock()
        self._patience = self._left = _REPLAYS
        self._recording: Recording | None = None
        # by place, where arguments are copied to; buffer and layout of what is written over
        self._copies: list[tuple[int, DeviceArray]] = []
        self._written: list[tuple[int, Any, tuple[Any, ...]]] = []

    def run(self, values: list[Any], leaves: Leaves, perform: Perform) -> list[Any] | None:
        """Return the outputs for the arguments of a call; None, and nothing is done, where the plan runs as usual."""
        if self._recording is None and (not self._patience or self._left > 1):
            self._left -= 1
            return None
        if not self._lock.acquire(blocking=False):
            return None  # another thread uses that memory
        try:
            if self._recording is None:
                return self._recorded(values, leaves, perform)
            outputs = self._repeated(self._recording, values, leaves, perform)
            if outputs is not None:
                for place, output in self._given.written.items():
                    outputs[output] = values[place]
            return outputs
        finally:
            self._lock.release()

    @property
    def is_there(self) -> bool:
        """Whether calls are replayed already."""
        return self._recording is not None

    def run_in_place(
        self, values: list[Any], nodes: list[Node], leaves: Leaves, perform: Perform
    ) -> list[Any] | None:
        """Return the outputs but those that are written over arguments, which the only references to `nodes` keep.

        None where that does not hold, or an index is out of bounds, which the plan reports.
        """
        if not self._lock.acquire(blocking=False):
            return None
        try:
            if self._recording is None or are_seen_elsewhere(nodes):
                return None
            return self._repeated(self._recording, values, leaves, perform, by_storage=1)
        finally:
            self._lock.release()

    def _repeated(
        self,
        recording: Recording,
        values: list[Any],
        leaves: Leaves,
        perform: Perform,
        *,
        by_storage: int = 0,
    ) -> list[Any] | None:
        """Launch everything again, and return copies of outputs, without those that are written over.

        None, and nothing is launched, where arguments moved, or an index is out of bounds, which the plan reports.
        """
        if self._fits(recording, values, by_storage):
            try:
                outputs = recording.run([(values[place], own) for place, own in self._copies])
            except BaseException:
                self.release()  # a flag may be set that has not been read
                raise
            if outputs is not None:
                return outputs
            if self._written:
                self.release()
                perform(leaves(values))  # reports which index it is, unless that was written over
                raise IndexingError(_LOST, suggestions=(_HINT,))
        self.release()
        return None

    def _recorded(self, values: list[Any], leaves: Leaves, perform: Perform) -> list[Any] | None:
        """Run the plan, with copies of arguments, and keep what the queue was given if that can be given again."""
        tensors, _, written = self._given
        self._patience *= 2
        self._left = self._patience
        copied = [(slot, place) for slot, place in tensors if place not in written]
        if not all(_is_small(values[place]) for _, place in copied):
            return None
        if not all(can_be_copied(values[place]) for place in written):
            return None
        opened = self._backend.open_device(self._device)
        slots = leaves(values)
        self._copies, self._written = [], []
        for slot, place in copied:
            own = new_like(opened.pool, values[place])
            with opened.queue.lock:
                fill(opened.queue, values[place], own)
            slots[slot] = own
            self._copies.append((place, own))
        for place in written:
            self._written.append((place, values[place].block.buffer, _layout(values[place])))
            values[place] = None  # or a step would find another reference to it
        recording = Recording(opened.queue, opened.pool, lambda: _without_waiting(perform, slots))
        outputs = list(recording.outputs)
        if not recording.is_complete or not self._can_be_kept(outputs):
            self._patience = 0
            recording.release()
            return outputs
        self._recording = recording
        for output in written.values():
            recording.outputs[output] = None
        copies = recording.copies()
        return [own if copy is None else copy for own, copy in zip(outputs, copies, strict=True)]

    @property
    def _backend(self) -> KernelBackend:
        backend = backend_of(self._device)
        assert isinstance(backend, KernelBackend)
        return backend

    def _can_be_kept(self, outputs: list[Any]) -> bool:
        """Whether what is written over is where it was, and all else can be copied."""
        by_output = {
            self._given.written[place]: (buffer, layout) for place, buffer, layout in self._written
        }
        for number, output in enumerate(outputs):
            if number not in by_output:
                if not can_be_copied(output):
                    return False
                continue
            buffer, layout = by_output[number]
            if (
                output.block is None
                or output.block.buffer is not buffer
                or _layout(output) != layout
            ):
                return False
        return True

    def _fits(self, recording: Recording, values: list[Any], by_storage: int) -> bool:
        """Whether arguments have the recorded layouts, and nothing else references what is written over.

        `by_storage` is how often their own storage refers to them.
        """
        if not recording.is_usable:
            return False
        for place, _ in self._copies:  # loops, since generators take twice as long
            if not can_be_copied(values[place]):
                return False
        blocks = [_block_in(values[place], *where) for place, *where in self._written]
        if not all(blocks) or referenced(blocks, [(index, 1) for index in range(len(blocks))]):
            return False
        return not referenced(values, [(place, by_storage) for place, *_ in self._written])

    def release(self) -> None:
        """Free the memory."""
        if self._recording is not None:
            self._recording.release()
        self._recording = None
        self._copies, self._written = [], []


def _is_small(value: Any) -> bool:
    return can_be_copied(value) and bool(value.nbytes <= _COPIED)


def _block_in(value: Any, buffer: Any, layout: tuple[Any, ...]) -> Block | None:
    """Return the memory of an array with this layout in a buffer that was not handed out to the user."""
    if type(value) is DeviceArray and _layout(value) == layout:
        block = value.block
        if block is not None and block.buffer is buffer and block.is_ours:
            return block
    return None


def _layout(array: DeviceArray) -> tuple[Any, ...]:
    return array.shape, array.strides, array.offset
