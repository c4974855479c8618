"""Observers: what stands beside the executor's loop, and sees each step before and after it runs.

An observer is a generator over the steps of a run: it yields each to the loop, and goes on when the loop wants the
next one. What stands behind its last `yield` comes after the last step, and only if none failed. The loop knows nothing
of observers, and where there are none it walks over the steps themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import repeat
from time import perf_counter, perf_counter_ns
from typing import Any

from tensorframe import config
from tensorframe.backends.base import Program
from tensorframe.backends.budget import Budget, OneBlock
from tensorframe.backends.registry import backend_of
from tensorframe.graph.device import Device
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.execution import events
from tensorframe.runtime.execution.events import Moment, tell, tell_device_times
from tensorframe.runtime.execution.throttling import Seconds, paced
from tensorframe.runtime.progress.monitor import under_way
from tensorframe.runtime.progress.phases import Compute
from tensorframe.schedule.plan import Plan, Step, StepKind

# A slot whose memory a result may take over, and what says whether the value there owns its memory.
Donor = tuple[int, Callable[[Any], bool]]

# A step, ready to run: its place, its program, what takes the inputs out of the slots, buffers for a step without
# donors, donors, where the results go (a number if there is one), and the slots to free. A plain tuple: the loop
# over these is all that small plans cost besides their programs.
Action = tuple[
    int,
    Program,
    Callable[[list[Any]], Sequence[Any]],
    tuple[None, ...],
    tuple[Donor | None, ...] | None,
    int | tuple[int, ...],
    tuple[int, ...],
]
Actions = Generator[Action, None, None]
Observer = Callable[["Runner", Plan, Iterable[Action]], Actions]


class Need(NamedTuple):
    """What a plan takes of a memory: bytes beside its leaves, the step at which it has taken them, and what stays.

    `kept` are the bytes of its results, where the rest is free again as soon as it has run.
    """

    budget: Budget | OneBlock
    nbytes: int
    step: int
    kept: int = 0


@dataclass(slots=True)
class Runner:
    """What runs a plan: its steps with their programs, and whether none of these makes NumPy warn.

    `rest` are the values of the slots behind the leaves before the first step: literals, and None. `waits`
    says that a step may be over before its device has done the work, `long` that all of it may take a while.
    `observers` are those of every run: of the first, when kernels may be compiled, others than of the rest. `alone` is
    the program of a plan that is one call of it with the leaves, once that has run; `is_new` before the first run,
    and `often` if it is a recorded function's.
    `needs` are the bytes that it takes of each memory, if these are enough to be looked at: see `memory_admission.py`.
    `looks_up` says that devices are to be asked for indices out of bounds after all steps: see checks/indices.py.
    `chunked` are devices whose results are settled at the end: see deferred_tasks.py. `seconds` are what a run took on
    devices that work on their own: see throttling.py.
    """

    actions: tuple[Action, ...]
    quiet: bool
    rest: tuple[Any, ...]
    waits: bool
    long: bool
    observers: tuple[Observer, ...]
    alone: Program | None = None
    is_new: bool = True
    often: bool = False
    looks_up: bool = False
    needs: tuple[Need, ...] = ()
    chunked: tuple[Device, ...] = ()
    seconds: Seconds = field(default_factory=dict)


def observed(
    runner: Runner, plan: Plan, checked: bool, stamps: list[int] | None
) -> Sequence[Actions]:
    """Return the steps of a run as each of its observers hands them on, the outermost last; to be closed afterwards."""
    stages: list[Actions] = []
    last: Iterable[Action] = runner.actions
    for observer in _observers(runner, checked=checked):
        last = observer(runner, plan, last)
        stages.append(last)
    if stamps is not None:
        last = waited(stamps, plan, last) if runner.waits else stamped(stamps, last)
        stages.append(last)
    return stages


def _observers(runner: Runner, *, checked: bool) -> tuple[Observer, ...]:
    """Return those that a plan always has, and those of who looks now; but who takes times."""
    observers = runner.observers
    if checked:
        options = config.get()
        looks = {validated: options.validate, without_nan: options.check_nan}
        observers = (*[look for look, wanted in looks.items() if wanted], *observers)
    if events.listeners:
        observers = (*(observers if runner.observers else (*observers, shown)), told)
    return observers


def stamped(stamps: list[int], actions: Iterable[Action]) -> Actions:
    """Note the time before the first step and after each one."""
    note, clock = stamps.append, perf_counter_ns
    note(clock())
    for action in actions:
        yield action
        note(clock())


def waited(stamps: list[int], plan: Plan, actions: Iterable[Action]) -> Actions:
    """Do what `stamped` does, on devices that work on their own: each step's work is waited for.

    Afterwards collectors are told what devices themselves have counted for their steps.
    """
    devices = [step.device for step in plan.steps]
    waits = [partial(backend_of(device).synchronize, device) for device in devices]
    clocks = {device: backend_of(device).clock(device) for device in dict.fromkeys(devices)}
    with ExitStack() as stack:
        for entered in filter(None, clocks.values()):
            stack.enter_context(entered)
        stamps.append(perf_counter_ns())
        for action, device, wait in zip(actions, devices, waits, strict=True):
            yield action
            wait()
            stamps.append(perf_counter_ns())
            if (clock := clocks[device]) is not None:
                clock.lap()
        nothing = repeat(None)
        counted = {device: iter(clock.laps()) for device, clock in clocks.items() if clock}
    if counted:
        tell_device_times([next(counted.get(device, nothing)) for device in devices])


def shown(runner: Runner, plan: Plan, actions: Iterable[Action]) -> Actions:
    """Count steps for displays of progress, and let no device fall far behind in a long one."""
    with under_way(Compute(plan)) as compute:
        counted = compute.counted(actions)
        yield from paced(counted, plan, runner.seconds) if runner.waits and runner.long else counted


class ListenerError(BaseException):
    """A listener has failed, which is no failure of the step that it heard of."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def told(_runner: Runner, plan: Plan, actions: Iterable[Action]) -> Actions:
    """Tell listeners of each step, which keeps the time that it took."""
    _tell(Moment.PLAN_STARTED, plan)
    for index, action in enumerate(actions):
        _tell(Moment.STEP_STARTED, plan, index)
        began = perf_counter()
        yield action
        plan.steps[index].seconds = perf_counter() - began
        _tell(Moment.STEP_FINISHED, plan, index)
    _tell(Moment.PLAN_FINISHED, plan)


def _tell(moment: Moment, plan: Plan, index: int | None = None) -> None:
    try:
        tell(moment, plan, index)
    except Exception as error:
        raise ListenerError(error) from error


def validated(_runner: Runner, plan: Plan, actions: Iterable[Action]) -> Actions:
    """Have the results of each region compared with those of its ops, run one by one."""
    for action, step in zip(actions, plan.steps, strict=True):
        yield _checked(action, step, _validate)


def without_nan(_runner: Runner, plan: Plan, actions: Iterable[Action]) -> Actions:
    """Have the results of each step looked through for NaNs."""
    from tensorframe.runtime.checks.nan import check_nan  # few processes use it

    for action, step in zip(actions, plan.steps, strict=True):
        yield _checked(action, step, check_nan)


def _validate(step: Step, inputs: Sequence[Any], results: Sequence[Any]) -> None:
    from tensorframe.runtime.checks.validation import validate  # few processes use it

    validate(step.region, inputs, results)


def _checked(
    action: Action, step: Step, check: Callable[[Step, Sequence[Any], Sequence[Any]], None]
) -> Action:
    """Return the action with its results checked; inputs are read again for that, so none is overwritten."""
    index, program, take, blank, _, target, frees = action

    def run_and_check(inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        results = program(inputs, buffers)
        if step.kind is not StepKind.TRANSFER:
            check(step, inputs, results)
        return results

    return index, run_and_check, take, blank, None, target, frees
