"""Memory admission: what a plan needs of each memory is compared with what is left, before its first step.

What does not fit is refused, with what helps.
A plan that fits pays one comparison with the credit of the memory's budget. A small one pays none: see `LIGHT`.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, NoReturn

from tensorframe.backends.budget import LIGHT, PYTHONS, Budget, OneBlock, when_limited
from tensorframe.backends.registry import backend_of, capabilities
from tensorframe.errors import DeviceError, OutOfMemoryError
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.execution.failures import Recorded, explain, shown_step
from tensorframe.runtime.execution.observers import Need, Runner
from tensorframe.schedule.plan import Plan, StepKind, human_bytes
from tensorframe.site import describe

# Whether what is computed here is a tile of a plan that does not fit.
_in_a_tile: ContextVar[bool] = ContextVar("tensorframe_in_a_tile", default=False)
# Suggestions where memory does not suffice.
_DROP_AND_MOVE = (
    "del tensors that are not needed any more: those listed are held by references",
    "a cluster, or a device with more memory: tfr.estimate(t).peak says how much it takes",
)
# Tensors that a message lists.
_LISTED = 5


def needs_of(plan: Plan) -> tuple[Need, ...]:
    """Return what a plan takes of each memory that has a budget; nothing for a light plan."""
    if sum(plan.peak.values()) < LIGHT:
        return ()
    from tensorframe.schedule.peak import growth  # planning is loaded by the first plan

    needs = []
    moved = _moved_from_blocks(plan)
    for device, (nbytes, step) in growth(plan).items():
        able = capabilities(device)
        if nbytes < LIGHT or able.chunked:  # tasks of blocks are compared when they are known
            continue
        budget = backend_of(device).budget(device)
        if budget is not None:
            beside = PYTHONS if able.host_memory else 0
            need = nbytes + moved.get(budget, 0) + beside
            # devices that work on their own are not done when a run is
            needs.append(Need(budget, need, step, _kept(plan) if able.host_memory else need))
    return (*needs, *_too_large(plan))


def _kept(plan: Plan) -> int:
    """Return the bytes of results in host memory."""
    results = [plan.slots[slot] for slot in {*plan.outputs}]
    return sum([slot.nbytes for slot in results if capabilities(slot.device).host_memory])


def _moved_from_blocks(plan: Plan) -> dict[Budget | None, int]:
    """Return the bytes of blocks, by memory, that a plan copies elsewhere: they are there until all are joined."""
    moved: dict[Budget | None, int] = {}
    for step in plan.steps:
        if step.kind is StepKind.TRANSFER:
            slot = plan.slots[step.inputs[0]]
            if capabilities(slot.device).chunked:
                budget = backend_of(slot.device).budget(slot.device)
                moved[budget] = moved.get(budget, 0) + slot.nbytes
    return moved


def _too_large(plan: Plan) -> list[Need]:
    """Return the largest value on each device where one is larger than the device's buffers may be."""
    bounds: dict[Device, OneBlock | None] = {}
    most: dict[Device, Need] = {}
    for index, step in enumerate(plan.steps):
        for slot in [] if step.is_view else [plan.slots[slot] for slot in step.outputs]:
            if slot.device not in bounds:
                bounds[slot.device] = largest_block(slot.device)
            bound, before = bounds[slot.device], most.get(slot.device)
            if bound is not None and not bound.admits(slot.nbytes):
                if before is None or before.nbytes < slot.nbytes:
                    most[slot.device] = Need(bound, slot.nbytes, index, slot.nbytes)
    return list(most.values())


def largest_block(device: Device) -> OneBlock | None:
    """Return the bound on a device's buffers; None where they may take all of its memory."""
    budget = backend_of(device).budget(device)
    largest = None if budget is None else budget.largest()
    return None if budget is None or largest is None else OneBlock(budget, largest)


def fits(runner: Runner) -> bool:
    """Whether what the plan takes is within the credit of each budget; it is taken from there. Else see `admit`."""
    needs = runner.needs
    for need in needs:
        if need.nbytes > need.budget.credit:
            return False
    for need in needs:
        need.budget.credit -= need.nbytes
        need.budget.reused = 0
    return True


def give_back(runner: Runner) -> None:
    """Give back to the credit what a run has not taken for good: scratch memory, and results in pooled memory.

    Not within a limit of the user's: scratch memory stays in the pool, and counts there.
    """
    for budget, nbytes, _, kept in runner.needs:
        if kept < nbytes and budget.chosen is None:
            budget.credit += nbytes - kept + min(budget.reused, kept)


def admit(runner: Runner, plan: Plan, slots: list[Any], recorded: Recorded) -> bool:
    """Decide on a plan that is not within the credit; return whether all of it has run, tile by tile.

    False where it fits after all. OutOfMemoryError, before the first step, where it does not and cannot be cut. `slots`
    are its leaves, which grow to all values if it runs here.
    """
    for need in runner.needs:
        try:
            fitting = need.budget.admits(need.nbytes)
        except KeyboardInterrupt as error:
            explain(error, plan, need.step, recorded)
        if not fitting:
            # loaded by the first plan that does not fit
            from tensorframe.runtime.streaming.out_of_core import stream_in_place

            if _in_a_tile.get():  # smaller tiles of a tile would be no end
                refuse(need, plan, recorded, Blocked("it is a tile already"))
            token = _in_a_tile.set(True)
            try:
                blocked = stream_in_place(plan, slots, recorded)
            finally:
                _in_a_tile.reset(token)
            if blocked is None:
                return True
            refuse(need, plan, recorded, blocked)
    return False


class Blocked(NamedTuple):
    """Why a plan does not run tile by tile instead, and how it would with a sink; empty where nothing is to say."""

    why: str = ""
    with_sink: str = ""


def refuse(need: Need, plan: Plan, recorded: Recorded, blocked: Blocked | None = None) -> NoReturn:
    """Raise what the user should see of a plan that does not fit; of one without a step, the caller names the line."""
    step = plan.steps[need.step] if plan.steps else None  # files are read, and no more
    blocked = blocked or Blocked()
    why = f"; it does not run tile by tile: {blocked.why}" if blocked.why else ""
    message = (
        f"out of memory: {need.budget.why_not(need.nbytes)}; nothing has run{why}"
        f"{_held_in_words(need.budget)}"
    )
    refused = OutOfMemoryError(
        message,
        suggestions=_helps(plan, blocked),
        location=None if step is None else describe(recorded.site(step.origin)),
    )
    refused.step = None if step is None else shown_step(plan, step)
    refused.outgrown = isinstance(need.budget, OneBlock)
    raise refused


def refuse_small(node: Node, budget: Budget, need: int) -> NoReturn:
    """Raise what the user should see of an evaluation that is too small for a plan, and has no room either."""
    message = f"out of memory: {budget.why_not(need)}; nothing has run{_held_in_words(budget)}"
    raise OutOfMemoryError(message, suggestions=_DROP_AND_MOVE, location=describe(node.site))


def _helps(plan: Plan, blocked: Blocked) -> Sequence[str]:
    """Return what helps, the surest first."""
    sink = f"tfr.save(path, t): {blocked.with_sink}" if blocked.with_sink else ""
    wide = any(slot.dtype.name in ("float64", "complex128", "int64") for slot in plan.slots)
    smaller = "float32 instead of float64" if wide else "a smaller dtype"
    return (
        *([sink] if sink else []),
        "another axis, or parts of the data: slice the inputs and compute part by part",
        smaller,
        *_DROP_AND_MOVE,
    )


def _held_in_words(budget: Budget | OneBlock) -> str:
    """Return which tensors have the most bytes of a memory, and where they were recorded."""
    held = held_tensors(budget)
    if not held:
        return ""
    total = sum(size for size, _ in held)
    lines = [f"  {_named(size, node)}" for size, node in held[:_LISTED]]
    if len(held) > _LISTED:
        rest = sum(size for size, _ in held[_LISTED:])
        lines.append(f"  {human_bytes(rest)} in {len(held) - _LISTED} more")
    return "\n".join([f"\n  tensors that are held: {human_bytes(total)}", *lines])


def _named(size: int, node: Node) -> str:
    where = describe(node.site)
    made = f", {where}" if where else ""
    from tensorframe.variables import variables_of  # only for messages

    name = "".join(f"{variable} " for variable in variables_of(node.site)[:1])
    return f"  {human_bytes(size)}: {name}{node.dtype}{list(node.shape)}{made}"


def _count_light() -> None:
    """Have light evaluations counted, too, as long as the host's memory has a limit."""
    from tensorframe.runtime.execution.small_admissions import watcher  # few programs set one

    watcher.wake()


when_limited.append(_count_light)


def held_tensors(budget: Budget | OneBlock) -> list[tuple[int, Node]]:
    """Return the computed tensors in a memory with the bytes of each, the largest first; of views of one, the first."""
    seen: dict[int, tuple[int, Node]] = {}
    budgets: dict[Device, Budget | None] = {}
    # objects refer to their class: without a list of all that there are, which takes memory when there is none
    for node in gc.get_referrers(Node):
        if type(node) is not Node or node.storage is None:
            continue
        device = node.device
        if device not in budgets:
            budgets[device] = _budget_of(device)
        if budgets[device] is budget:
            key, size = _memory_of(node)
            known = seen.get(key)
            if known is None or known[0] < size:
                seen[key] = (size, node)
    return sorted(seen.values(), key=lambda entry: -entry[0])


def _budget_of(device: Device) -> Budget | None:
    """Return what counts a device's memory; None where nothing does, or its backend is not there any more."""
    try:
        return backend_of(device).budget(device)
    except DeviceError:
        return None


def _memory_of(node: Node) -> tuple[int, int]:
    """Return what identifies the memory behind a computed node, and how many bytes of it the node refers to."""
    handle = node.storage.handle
    block = getattr(handle, "block", None)  # of an array of a device
    if block is not None:
        return id(block), block.nbytes
    base = handle
    while getattr(base, "base", None) is not None and hasattr(base.base, "nbytes"):
        base = base.base
    return id(base), getattr(base, "nbytes", node.nbytes)
