"""Failures: the errors that users get when a step of a plan fails, runs out of memory, or is interrupted."""

from __future__ import annotations

from functools import lru_cache
from typing import NoReturn, Protocol

from tensorframe.backends.registry import capabilities, info_of
from tensorframe.dtypes import DType
from tensorframe.errors import CancelledError, KernelError, OutOfMemoryError, TensorFrameError
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.graph.shape import Shape
from tensorframe.schedule.plan import Plan, Step, human_bytes
from tensorframe.site import Site, describe


class Recorded(Protocol):
    """What the plan was made from, for messages."""

    def site(self, origin: int) -> Site | None:
        """Return the line that recorded the node at a place of the captured order."""


def explain(error: BaseException, plan: Plan, index: int, recorded: Recorded) -> NoReturn:
    """Raise what the user should see: the op, shapes, dtypes and device, and the line that recorded it."""
    step = plan.steps[index]
    location = describe(recorded.site(step.origin))
    what = shown_step(plan, step)
    if isinstance(error, CancelledError):
        raise error
    if isinstance(error, KeyboardInterrupt):
        message = f"interrupted in step {index + 1} of {len(plan.steps)}; no tensor is changed"
        cancelled = CancelledError(message, location=location)
        cancelled.step = what
        raise cancelled from None
    if isinstance(error, TensorFrameError):
        if error.step is None:  # what was handed over before knows its own line
            error.step, error.location = what, location or error.location
        if isinstance(error, KernelError) and not error.suggestions:
            error.suggestions = _instead_of(step)
        raise error
    if isinstance(error, MemoryError):
        need = sum(plan.slots[slot].nbytes for slot in step.outputs)
        raise _out_of_memory(error, what, need, step.device, location) from error
    if isinstance(error, Exception):
        message = f"{step.name} failed on {step.device}: {type(error).__name__}: {error}"
        failed = KernelError(message, suggestions=_instead_of(step), location=location)
        failed.step = what
        raise failed from error
    raise error


def explain_leaf(error: MemoryError, leaf: Node) -> NoReturn:
    """Raise what the user should see where the values that a plan begins with find no memory."""
    location = describe(leaf.site)
    raise _out_of_memory(error, step_of(leaf), leaf.nbytes, leaf.device, location) from error


def locate(error: TensorFrameError, node: Node) -> None:
    """Have what went wrong with the values of a node name the line that recorded it, unless it names another step."""
    if error.step is None:
        error.step, error.location = step_of(node), describe(node.site) or error.location


def step_of(node: Node) -> str:
    """Return what an error calls the step that makes one node."""
    return _step_of(node.op.name, node.dtype, node.shape, node.device)


@lru_cache(1024)
def _step_of(name: str, dtype: DType, shape: Shape, device: Device) -> str:
    """Return its text: every result that is handed over has one, and to write it takes 20 us."""
    return f"{name} -> {dtype}{list(shape)} on {device}"


def shown_step(plan: Plan, step: Step) -> str:
    """Return a step with the shapes and dtypes of what it reads and makes, and its device."""
    operands = ", ".join(str(plan.slots[slot]) for slot in step.inputs)
    made = ", ".join(str(plan.slots[slot]) for slot in step.outputs)
    return f"{step.name}: {operands} -> {made} on {step.device}"


def _out_of_memory(
    error: MemoryError, what: str, need: int, device: Device, location: str | None
) -> OutOfMemoryError:
    message = f"out of memory: the result takes {human_bytes(need)}"
    there = info_of(device).total_memory
    if there is not None:
        message += f", {device} has {human_bytes(there)}"
    said = str(error).strip().partition("\n")[0]
    # NumPy says no more than the shape; pools of devices name their limits
    if said and not type(error).__module__.startswith("numpy"):
        message += f" ({said})"
    hints = (
        "work on parts of the data: slice the inputs and compute part by part",
        "a smaller dtype",
        "tfr.estimate(t).peak, which says what a compute takes before it runs",
    )
    refused = OutOfMemoryError(message, suggestions=hints, location=location)
    refused.step = what
    return refused


def _instead_of(step: Step) -> tuple[str, ...]:
    """Return what leads on from a step that failed: who can run it instead, and how to find out what is wrong."""
    hints = ["tfr.verify(t), which runs it on every backend and says which one is off"]
    if step.device.backend != "numpy":
        hints.append('tfr.use_backend("numpy") around it all: no compiled kernel runs there')
    hints.append("TENSORFRAME_VALIDATE=1, which compares every kernel with its ops run one by one")
    if not capabilities(step.device).host_memory:
        hints.append("tfr.doctor(), which says what is wrong with drivers")
    return tuple(hints)
