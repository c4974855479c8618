"""Settling: on devices whose programs only add tasks, those of a whole plan run at its end, each once.

Tasks are named after their step, and after the line that recorded it, which plans that several lines share do not know:
a run does. So a task that fails is explained as its step is on other devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from os.path import basename
from typing import Any

from tensorframe.backends.budget import NoRoomError
from tensorframe.backends.provenance import Provenance, known
from tensorframe.backends.registry import backend_of
from tensorframe.cells import cell_of
from tensorframe.graph.device import Device
from tensorframe.runtime.failures import Recorded, explain
from tensorframe.runtime.fitting import Blocked, refuse
from tensorframe.runtime.observers import Action, Need
from tensorframe.schedule.plan import Plan
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
    with known(provenance):
        perform(_located(actions, plan, recorded, provenance), slots, plan, recorded)
        for device in devices:
            outputs = [
                slot for slot in dict.fromkeys(plan.outputs) if plan.slots[slot].device is device
            ]
            try:
                settled = backend_of(device).settle(device, [slots[slot] for slot in outputs])
            except BaseException as error:  # distinguished in explain, which always raises
                step = provenance.step_of(str(getattr(error, "key", "")))
                if step is None:
                    step = max([i for i, other in enumerate(plan.steps) if other.device is device])
                if isinstance(error, NoRoomError):
                    refuse(Need(error.budget, error.need, step), plan, recorded, _SAVED)
                explain(error, plan, step, recorded)
            for slot, handle in zip(outputs, settled, strict=True):
                slots[slot] = handle


def _located(
    actions: Iterable[Action], plan: Plan, recorded: Recorded, provenance: Provenance
) -> Iterator[Action]:
    """Note what each step is before it runs."""
    for action in actions:
        step = plan.steps[action[0]]
        site = recorded.site(step.origin)
        provenance.step, provenance.ops, provenance.line = action[0], step.name, ""
        if site is not None:
            file, line = line_of(site)
            provenance.line = f"{cell_of(file) or basename(file)}:{line}"
        yield action
