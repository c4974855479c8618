"""The executor: runs a plan's steps in order, frees dead values, and explains what fails.

There is one loop over the steps. Progress, times and checks are observers beside it
(`observers.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from time import perf_counter, perf_counter_ns
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends.base import Program, is_quiet, quiet
from tensorframe.backends.collector import paused
from tensorframe.backends.registry import backend_of, capabilities
from tensorframe.backends.silence import SILENT, begin, end, silenced
from tensorframe.backends.spans import Work, tell_span
from tensorframe.backends.transfer import is_shared, move
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind
from tensorframe.graph.references import IN_ONE_LIST, references
from tensorframe.runtime.execution import events
from tensorframe.runtime.execution.failures import Recorded, explain
from tensorframe.runtime.execution.memory_admission import admit, fits, give_back, needs_of
from tensorframe.runtime.execution.observers import (
    Action,
    Actions,
    Donor,
    ListenerError,
    Runner,
    observed,
    shown,
)
from tensorframe.runtime.progress.monitor import can_take_long, is_displayed, under_way
from tensorframe.runtime.progress.phases import Preparing
from tensorframe.schedule.plan import Plan, Step, StepKind

# runs steps on the slots of a plan
Perform = Callable[[Iterable[Action], list[Any], Plan, Recorded], None]

# What a program of one result without a donor is given to write to.
BLANK = (None,)
# ops whose kernels may set a mark: at an index out of bounds, or a matrix that cannot be factorised
_MARKING = frozenset({Kind.GATHER, Kind.SCATTER, Kind.LIBRARY})


def run(plan: Plan, slots: list[Any], recorded: Recorded, stamps: list[int] | None = None) -> None:
    """Run every step. `slots` holds the leaves; it grows to all values of the plan, the outputs among them."""
    runner = runner_of(plan, recorded)
    slots += runner.rest
    execute(runner, slots, plan, recorded, checked=config.get().checked, stamps=stamps)


def run_alone(program: Program, leaves: list[Any], plan: Plan, recorded: Recorded) -> Any:
    """Return what a plan of one call gives: see `Runner.alone`."""
    try:
        (value,) = program(leaves, BLANK)
    except BaseException as error:  # distinguished in explain, which always raises
        explain(error, plan, 0, recorded)
    return value


def execute(
    runner: Runner,
    slots: list[Any],
    plan: Plan,
    recorded: Recorded,
    *,
    checked: bool,
    stamps: list[int] | None = None,
    fitted: bool = False,
) -> None:
    """Run every step on the slots of a plan; `checked` has results looked at, as the options say.

    A plan that does not fit into memory is refused before, unless it is `fitted` already. `stamps`, if it is given,
    gets the time before the first step and after each one.
    """
    # what is compiled in the first run stays
    is_counted = bool(runner.needs) and not runner.is_new
    if runner.needs and not (fitted or fits(runner)) and admit(runner, plan, slots, recorded):
        return
    asked = checked or stamps is not None or bool(events.listeners)
    perform: Perform = _perform
    if runner.looks_up and not asked:
        from tensorframe.runtime.checks.indices import checking  # for devices alone

        perform = checking(_perform)
    if asked or runner.chunked or (runner.observers and _is_observed(runner)):
        looking = observed(runner, plan, checked, stamps)
        _observed(perform, runner, looking, slots, plan, recorded, watched=asked)
    elif runner.quiet:
        perform(runner.actions, slots, plan, recorded)
    else:
        token = begin(SILENT)
        try:
            perform(runner.actions, slots, plan, recorded)
        finally:
            end(token)
    if is_counted:
        give_back(runner)


def _is_observed(runner: Runner) -> bool:
    """Whether its observers see a run: those of a long one that ran before need not count where nobody looks."""
    return runner.waits or runner.observers != (shown,) or is_displayed()


def _observed(
    perform: Perform,
    runner: Runner,
    looking: Sequence[Actions],
    slots: list[Any],
    plan: Plan,
    recorded: Recorded,
    *,
    watched: bool,
) -> None:
    """Run every step as observers hand it on, the last of which asks the others; `watched` by who asked for that."""
    # another thread may have settled the runner since: then there are no observers
    actions = looking[-1] if looking else runner.actions
    try:
        if runner.is_new:
            runner.is_new = False
            from tensorframe.runtime.execution.precompilation import (
                foresee_all,  # loaded by the first plan
            )

            programs = [program for _, program, *_ in runner.actions]
            foresee_all(programs, plan, slots, often=runner.often)
        if runner.chunked:
            from tensorframe.runtime.execution.deferred_tasks import perform_and_settle

            perform_and_settle(
                perform, actions, slots, plan, recorded, runner.chunked, watched=watched
            )
        elif runner.quiet:
            perform(actions, slots, plan, recorded)
        else:
            with np.errstate(all="ignore"):
                perform(actions, slots, plan, recorded)
    except ListenerError as failed:
        raise failed.error from None
    finally:
        for observer in looking:
            observer.close()


def _looks_up(step: Step) -> bool:
    """Whether a step's kernels may set a mark, for which devices are asked when all steps have run."""
    return any(op.op.kind in _MARKING for op in step.region.ops)


def runner_of(plan: Plan, recorded: Recorded) -> Runner:
    """Return what runs the plan, each step compiled by the backend of its device; the plan keeps it."""
    runner: Runner | None = plan.runner
    return _prepared(plan, recorded) if runner is None else runner


def _prepared(plan: Plan, recorded: Recorded) -> Runner:
    began = perf_counter_ns()
    with under_way(Preparing(plan)) as preparing, paused():
        programs = [
            _compiled(plan, index, step, recorded)
            for index, step in enumerate(preparing.counted(plan.steps))
        ]
    actions = [
        _action(index, step, program, plan)
        for index, (step, program) in enumerate(zip(plan.steps, programs, strict=True))
    ]
    rest = tuple([plan.literals.get(slot) for slot in range(plan.leaves, len(plan.slots))])
    silent = [
        step.is_view or is_quiet(program)
        for step, program in zip(plan.steps, programs, strict=True)
    ]
    waits = not all(capabilities(step.device).host_memory for step in plan.steps)
    runner = plan.runner = Runner(
        tuple(actions), all(silent), rest, waits, can_take_long(plan), (shown, _settled)
    )
    runner.looks_up = waits and any(map(_looks_up, plan.steps))
    runner.needs = needs_of(plan)
    runner.chunked = _chunked(plan) if waits else ()
    tell_span(Work.PREPARE, f"{len(actions)} steps", "", began)
    return runner


def _chunked(plan: Plan) -> tuple[Device, ...]:
    """Return the devices whose results are settled at the end of a plan."""
    devices = dict.fromkeys([step.device for step in plan.steps])
    return tuple([device for device in devices if capabilities(device).chunked])


def _compiled(plan: Plan, index: int, step: Step, recorded: Recorded) -> Program:
    if step.kind is StepKind.TRANSFER:
        (source,) = step.inputs
        return quiet(_mover(step, plan.slots[source].device))
    try:
        return backend_of(step.device).compile(step.region, step.device)
    except BaseException as error:  # distinguished in explain, which always raises
        explain(error, plan, index, recorded)


def _mover(step: Step, source: Device) -> Program:
    """Return what moves a value to the step's device; it keeps the time where something moves."""
    target = step.device
    if is_shared(source, target):
        return lambda inputs, _: (inputs[0],)

    def run(inputs: Sequence[Any], _: Sequence[Any | None]) -> Sequence[Any]:
        began = perf_counter()
        handle = move(inputs[0], source, target)
        step.seconds = perf_counter() - began
        return (handle,)

    return run


def _action(index: int, step: Step, program: Program, plan: Plan) -> Action:
    blank = (None,) * len(step.outputs)
    return (
        index,
        program,
        _taker(step.inputs),
        blank,
        None if step.donors == blank else tuple([_donor(slot, plan) for slot in step.donors]),
        step.outputs[0] if len(step.outputs) == 1 else step.outputs,
        step.frees,
    )


def _donor(slot: int | None, plan: Plan) -> Donor | None:
    return None if slot is None else (slot, backend_of(plan.slots[slot].device).reusable)


def _taker(slots: tuple[int, ...]) -> Callable[[list[Any]], Sequence[Any]]:
    """Return what takes the values of `slots` out of a list, without a loop in Python."""
    if len(slots) > 1:
        return itemgetter(*slots)
    # itemgetter of one position gives no sequence, but of a slice it does
    return itemgetter(slice(slots[0], slots[0] + 1) if slots else slice(0))


def _perform(actions: Iterable[Action], slots: list[Any], plan: Plan, recorded: Recorded) -> None:
    index = 0
    try:
        for index, program, take, blank, donors, target, frees in actions:  # noqa: B007 - explain needs `index`
            results = (
                program(take(slots), blank)
                if donors is None
                else _reusing_memory(program, take, donors, slots)
            )
            if isinstance(target, int):
                slots[target] = results[0]
            else:
                _store(slots, target, results)
            del results  # or the next step would find its donors referred to
            for slot in frees:
                slots[slot] = None
    except BaseException as error:  # distinguished in explain, which always raises
        explain(error, plan, index, recorded)


def _settled(runner: Runner, plan: Plan, actions: Iterable[Action]) -> Actions:
    """Finish the first run, then set the observers of later ones."""
    yield from actions
    runner.observers = (shown,) if runner.long else ()
    if not runner.long and not runner.chunked:
        runner.alone = _alone(plan)


def _alone(plan: Plan) -> Program | None:
    """Return the program of a plan that has one step, and makes one value of leaves and literals."""
    if len(plan.steps) != 1 or len(plan.outputs) != 1:  # equal roots have one slot
        return None
    (step,) = plan.steps
    if len(step.outputs) != 1 or not set(step.donors) <= {None}:
        return None
    runner: Runner = plan.runner
    program = runner.actions[0][1]
    if step.inputs != tuple(range(plan.leaves)):
        program = _with_literals(program, _taker(step.inputs), runner.rest)
    if (
        not plan.leaves and step.is_view
    ):  # a number seen many times: the same memory serves every call
        seen = program((), BLANK)
        return lambda _leaves, _buffers: seen
    return program if runner.quiet else silenced(program)


def _with_literals(
    program: Program, take: Callable[[list[Any]], Sequence[Any]], rest: Sequence[Any]
) -> Program:
    """Return a program of the leaves alone."""

    def run(leaves: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        return program(take([*leaves, *rest]), buffers)

    return run


def _reusing_memory(
    program: Program,
    take: Callable[[list[Any]], Sequence[Any]],
    donors: Sequence[Donor | None],
    slots: list[Any],
) -> Sequence[Any]:
    # buffers before inputs, which refer to what a buffer may take over
    buffers = [_buffer(slots, donor) for donor in donors]
    return program(take(slots), buffers)


def _store(slots: list[Any], targets: Sequence[int], results: Sequence[Any]) -> None:
    for slot, result in zip(targets, results, strict=True):
        slots[slot] = result


def _buffer(slots: list[Any], donor: Donor | None) -> Any | None:
    """Return the donor's memory if nothing else refers to it: no view of it, no tensor."""
    if donor is None:
        return None
    slot, reusable = donor
    if references(slots, slot) > IN_ONE_LIST:
        return None
    handle = slots[slot]
    return handle if reusable(handle) else None
