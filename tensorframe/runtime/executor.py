"""The executor: runs a plan's steps in order, frees what nobody needs any more, and explains what fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from tensorframe import config
from tensorframe.backends.numpy.creation import generate
from tensorframe.backends.registry import backend_of, capabilities
from tensorframe.backends.transfer import move
from tensorframe.errors import CancelledError, KernelError, OutOfMemoryError, TensorFrameError
from tensorframe.graph.node import Node
from tensorframe.graph.references import IN_ONE_LIST, references
from tensorframe.runtime.events import Moment, tell
from tensorframe.runtime.validate import validate
from tensorframe.schedule.capture import Capture
from tensorframe.schedule.plan import Plan, Step, StepKind
from tensorframe.site import describe


def run(plan: Plan, request: Capture) -> list[Any]:
    """Return the handles of the plan's outputs, computed from the request's leaves."""
    slots: list[Any] = [None] * len(plan.slots)
    for slot, leaf in enumerate(request.leaves):
        slots[slot] = leaf_handle(leaf)
    for slot, value in plan.literals.items():
        slots[slot] = value
    if not plan.programs:
        plan.programs = [None] * len(plan.steps)
    tell(Moment.PLAN_STARTED, plan)
    with np.errstate(all="ignore"):
        for at, step in enumerate(plan.steps):
            tell(Moment.STEP_STARTED, plan, at)
            try:
                _run_step(plan, at, step, slots)
            except BaseException as error:  # told apart in _explain, which always raises
                _explain(error, plan, at, request)
            for slot in step.frees:
                slots[slot] = None
            tell(Moment.STEP_FINISHED, plan, at)
    tell(Moment.PLAN_FINISHED, plan)
    return [slots[slot] for slot in plan.outputs]


def leaf_handle(leaf: Node) -> Any:
    """Return the handle of a leaf's values: its storage, a number, or what its source gives now."""
    if leaf.storage is not None:
        return leaf.storage.handle
    array = generate(leaf)
    if not leaf.shape and not isinstance(array, np.ndarray):
        return array
    backend = backend_of(leaf.device)
    if capabilities(leaf.device).host_memory:
        storage = backend.wrap(leaf.device, array)
    else:
        storage = backend.upload(leaf.device, array)
    if leaf.op.costly:  # a file is read once: it may be another one the next time
        leaf.settle(storage)
    return storage.handle


def _run_step(plan: Plan, at: int, step: Step, slots: list[Any]) -> None:
    if step.kind is StepKind.TRANSFER:
        (source,) = step.inputs
        handle = move(slots[source], plan.slots[source].device, step.device)
        slots[step.outputs[0]] = handle
        return
    program = plan.programs[at]
    if program is None:
        program = plan.programs[at] = backend_of(step.device).compile(step.region, step.device)
    buffers = [None if donor is None else _buffer(slots, donor) for donor in step.donors]
    inputs = [slots[slot] for slot in step.inputs]
    results = program(inputs, buffers)
    if config.get().validate:
        validate(step.region, [slots[slot] for slot in step.inputs], results)
    for slot, result in zip(step.outputs, results, strict=True):
        slots[slot] = result


def _buffer(slots: list[Any], donor: int) -> Any | None:
    """Return the donor's memory if nobody else can see it: no view of it, no tensor that holds it."""
    if config.get().validate:
        return None
    if references(slots, donor) > IN_ONE_LIST:
        return None
    array = slots[donor]
    owned = isinstance(array, np.ndarray) and array.flags.owndata and array.flags.writeable
    return array if owned else None


def _explain(error: BaseException, plan: Plan, at: int, request: Capture) -> NoReturn:
    """Raise what the user should see: the op, shapes, dtypes and device, and the line that recorded it."""
    step = plan.steps[at]
    site = request.order[step.origin].site if step.origin >= 0 else None
    location = describe(site)
    operands = ", ".join(str(plan.slots[slot]) for slot in step.inputs)
    made = ", ".join(str(plan.slots[slot]) for slot in step.outputs)
    what = f"{step.name}: {operands} -> {made} on {step.device}"
    if isinstance(error, CancelledError):
        raise error
    if isinstance(error, KeyboardInterrupt):
        message = (
            f"interrupted in step {at + 1} of {len(plan.steps)} ({what}); no tensor is changed"
        )
        raise CancelledError(message, location=location) from None
    if isinstance(error, TensorFrameError):
        error.location = location or error.location
        raise error
    if isinstance(error, MemoryError):
        need = sum(plan.slots[slot].nbytes for slot in step.outputs)
        hints: Sequence[str] = (
            "work on parts of the data: slice the inputs and compute part by part",
            "a smaller dtype such as float32 or float16",
        )
        message = f"out of memory in {what}: {need} bytes for the result"
        raise OutOfMemoryError(message, suggestions=hints, location=location) from error
    if isinstance(error, Exception):
        message = f"{what} failed: {type(error).__name__}: {error}"
        raise KernelError(message, location=location) from error
    raise error
