"""Deferred tasks: on devices whose programs only add tasks, those of a whole plan run at its end, each once.

Where a value moves to another device before, its tasks run then, with those of results, and of other values that move,
as far as they are there: what several of them need would run twice.

Tasks are named after their step, and after the line that recorded it, which plans that several lines share do not know:
a run does. So a task that fails is explained as its step is on other devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from os.path import basename
from typing import Any

from tensorframe.backends.budget import NoRoomError
from tensorframe.backends.provenance import Provenance, known
from tensorframe.backends.registry import backend_of
from tensorframe.cells import cell_of
from tensorframe.graph.device import Device
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.execution.failures import Recorded, explain
from tensorframe.runtime.execution.memory_admission import Blocked, refuse
from tensorframe.runtime.execution.observers import Action, Need
from tensorframe.schedule.plan import Plan, StepKind
from tensorframe.site import line_of

# Of results in blocks that do not fit, those that are saved need not be there all at once.
_SAVED = Blocked(with_sink="block by block")

Perform = Callable[[Iterable[Action], list[Any], Plan, Recorded], None]


def perform_and_settle(
    perform: Perform,
    actions: Iterable[Action],
    slots: list[Any],
    plan: Plan,
    recorded: Recorded,
    devices: tuple[Device, ...],
    *,
    watched: bool,
) -> None:
    """Run all steps, then the tasks of those outputs of the plan that live on `devices`."""
    provenance = Provenance(alone=len(plan.steps) == 1 and not watched)
    settling = _Settling(slots, plan, recorded, provenance)
    with known(provenance):
        perform(_located(actions, settling, devices), slots, plan, recorded)
        for device in devices:
            settling.settle(device, _outputs_on(device, plan))


class _Settling(NamedTuple):
    """A run whose results are settled."""

    slots: list[Any]
    plan: Plan
    recorded: Recorded
    provenance: Provenance

    def settle(self, device: Device, values: Sequence[int]) -> None:
        """Run the tasks of some slots, each once."""
        plan, slots = self.plan, self.slots
        try:
            settled = backend_of(device).settle(device, [slots[slot] for slot in values])
        except BaseException as error:  # distinguished in explain, which always raises
            step = self.provenance.step_of(str(getattr(error, "key", "")))
            if step is None:
                step = max([i for i, other in enumerate(plan.steps) if other.device is device])
            if isinstance(error, NoRoomError):
                refuse(Need(error.budget, error.need, step), plan, self.recorded, _SAVED)
            explain(error, plan, step, self.recorded)
        for slot, handle in zip(values, settled, strict=True):
            slots[slot] = handle

    def settle_before(self, moved: int) -> None:
        """Run the tasks of a value that is about to move, with those of results, and of what moves later."""
        plan, slots = self.plan, self.slots
        device = plan.slots[moved].device
        moving = [step.inputs[0] for step in plan.steps if step.kind is StepKind.TRANSFER]
        wanted = [moved, *_outputs_on(device, plan), *moving]
        made = [
            slot for slot in wanted if plan.slots[slot].device is device and slots[slot] is not None
        ]
        self.settle(device, list(dict.fromkeys(made)))


def _outputs_on(device: Device, plan: Plan) -> list[int]:
    return [slot for slot in dict.fromkeys(plan.outputs) if plan.slots[slot].device is device]


def _located(
    actions: Iterable[Action], settling: _Settling, devices: tuple[Device, ...]
) -> Iterator[Action]:
    """Note what each step is before it runs, and settle what it moves."""
    plan, provenance = settling.plan, settling.provenance
    for action in actions:
        step = plan.steps[action[0]]
        site = settling.recorded.site(step.origin)
        provenance.step, provenance.ops, provenance.line = action[0], step.name, ""
        if site is not None:
            file, line = line_of(site)
            provenance.line = f"{cell_of(file) or basename(file)}:{line}"
        if step.kind is StepKind.TRANSFER and plan.slots[step.inputs[0]].device in devices:
            settling.settle_before(step.inputs[0])
        yield action
