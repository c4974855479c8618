"""Bound plans: the plan of a recorded function on memory that stays where it is, so that kernels follow each other.

A step of a language model is 200 small kernels, each of which takes less than Python needs to call it. When a recorded
function has been replayed a few times, its values get memory of their own for good, and calls of kernels are prepared
with all addresses: a replay fills in the arguments, and one compiled loop makes the calls. What has no kernel runs
between them as it does elsewhere, and its results are copied to where they are expected. The bits are the same: they
are the same kernels on operands that lie as they did.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from tensorframe.backends.bound import Bound, Calls, NativeCall, bound
from tensorframe.backends.registry import backend_of, capabilities
from tensorframe.backends.silence import silenced
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.execution.failures import Recorded, explain
from tensorframe.runtime.execution.observers import Action, Donor, Runner
from tensorframe.runtime.progress.monitor import is_displayed, under_way
from tensorframe.runtime.progress.phases import Compute, effort
from tensorframe.schedule.plan import Plan, Step, StepKind

Array = np.ndarray[Any, Any]

# Bytes of values that may stay in memory, for each step: where more is moved, Python's share of the time is small.
_EACH = 1 << 17
# Steps from which there is something to gain.
_FEWEST = 4
# Effort after which Python hears of Ctrl-C, and shows how far a long plan is: some ten milliseconds. That takes up to a
# tenth of one each time, since what Python needs has left the cache by then.
_UNHEARD = 1 << 28


class _Stop(NamedTuple):
    """A place where the calls of kernels stop for the interpreter, and the one where they go on.

    There is a step to be made, unless it is only time to hear of Ctrl-C. With a flag, it is one that a kernel has left
    to the step's program.
    """

    step: int
    after: int
    flag: Array | None = None
    is_rest: bool = False


def may_bind(plan: Plan, runner: Runner) -> bool:
    """Whether the values of a plan may stay in memory, and there is something to gain."""
    computing = sum(not step.is_view for step in plan.steps)
    return (
        computing >= _FEWEST
        and not runner.chunked
        and sum(_made(plan)) <= _EACH * computing
        and all(step.kind is not StepKind.TRANSFER for step in plan.steps)
        and all(capabilities(step.device).host_memory for step in plan.steps)
    )


def _made(plan: Plan) -> Iterator[int]:
    """Yield the bytes that results take: none where they are views, or written over something else."""
    for step in plan.steps:
        if not step.is_view:
            for output, donor in zip(step.outputs, step.donors, strict=True):
                yield plan.slots[output].nbytes if donor is None else 0


class BoundPlan:
    """A plan whose values have their memory, and the calls of its kernels.

    To make one is a run of the plan. `slots` are the leaves of that run; those that are `varying` are others in every
    call, those `donated` are arrays that are written over, and the same ones in every call.
    """

    def __init__(
        self,
        plan: Plan,
        runner: Runner,
        recorded: Recorded,
        slots: list[Any],
        varying: Collection[int],
        donated: Collection[int],
    ) -> None:
        self._plan, self._recorded, self._runner = plan, recorded, runner
        slots += runner.rest
        self.slots = slots
        for slot in varying:
            if isinstance(slots[slot], np.ndarray):
                slots[slot] = np.array(slots[slot], copy=True, order="K")
        given = range(plan.leaves, len(plan.slots))
        self._constant = {*range(plan.leaves), *[slot for slot in given if slot in plan.literals]}
        self._constant.difference_update(varying, donated)
        self._queue: list[NativeCall | None] = []
        self._stops: dict[int, _Stop] = {}
        self._effort = 0.0
        self._native = 0
        index = 0
        try:
            for index, action in enumerate(runner.actions):
                self._bind(plan.steps[index], action)
        except BaseException as error:  # distinguished in explain, which always raises
            explain(error, plan, index, recorded)
        self._calls: Calls | None = _prepared(plan, self._queue)

    @property
    def pays(self) -> bool:
        """Whether most steps are calls of kernels."""
        made = sum(not step.is_view for step in self._plan.steps)
        return self._calls is not None and 2 * self._native >= made

    # --- binding

    @silenced
    def _bind(self, step: Step, action: Action) -> None:
        """Make the results of a step, and note what makes them in later calls, unless they stay the same."""
        _, program, take, blank, donors, _, _ = action
        inputs = take(self.slots)
        if self._constant.issuperset(step.inputs):
            self._put(step, program(inputs, blank))
            self._constant.update(step.outputs)
        elif step.is_view and _are_views(results := program(inputs, blank), inputs):
            self._put(step, results)
        else:
            buffers = blank if donors is None else self._buffers(donors)
            if not self._is_native(step, action, inputs, buffers):
                self._put(step, _owned(program(inputs, buffers), inputs, buffers))
                self._stop(action[0])
            self._rest(step, action[0])

    def _is_native(
        self, step: Step, action: Action, inputs: Sequence[Any], buffers: Sequence[Array | None]
    ) -> bool:
        """Make the results of a step by calls of kernels, and queue these; False where none have the same bits."""
        index, program, _, blank, _, _, _ = action
        known = bound(program, inputs, buffers) if self._numbers_are_known(step) else None
        if known is None:
            return False
        # what is written over an argument is too large to be made twice
        is_new = all(buffer is None for buffer in buffers)
        expected = program(inputs, blank) if is_new else None
        flagged = self._first_run(step, known)
        self._put(step, known.outputs)
        if expected is not None and not all(map(_same_bits, expected, known.outputs)):
            return False
        first, after = len(self._queue), len(self._queue) + len(known.calls)
        self._queue += known.calls
        self._stops.update(
            (place, _Stop(index, after, call.flag))
            for place, call in enumerate(known.calls, first)
            if call.flag is not None
        )
        self._native += 1
        if flagged is not None:
            self._make(_Stop(index, after, flagged))
        return True

    def _first_run(self, step: Step, known: Bound) -> Array | None:
        """Make the calls; return the flag that was set, if one was."""
        calls = backend_of(step.device).prepared_calls(known.calls)
        assert calls is not None
        reached = calls.run(0)
        return known.calls[reached].flag if reached < len(known.calls) else None

    def _put(self, step: Step, results: Sequence[Any]) -> None:
        for slot, result in zip(step.outputs, results, strict=True):
            self.slots[slot] = result

    def _numbers_are_known(self, step: Step) -> bool:
        """Whether numbers among a step's operands are known: kernels are given them by value."""
        numbers = [slot for slot in step.inputs if self._plan.slots[slot].shape == ()]
        return self._constant.issuperset(numbers)

    def _buffers(self, donors: Sequence[Donor | None]) -> tuple[Array | None, ...]:
        return tuple([self._buffer(donor) for donor in donors])

    def _buffer(self, donor: Donor | None) -> Array | None:
        """Return memory that a result may take over: not what stays the same."""
        if donor is None:
            return None
        slot, reusable = donor
        array = self.slots[slot]
        return array if slot not in self._constant and reusable(array) else None

    def _stop(self, index: int, *, is_rest: bool = False) -> None:
        place = len(self._queue)
        self._stops[place] = _Stop(index, place + 1, is_rest=is_rest)
        self._queue.append(None)

    def _rest(self, step: Step, index: int) -> None:
        """Have the calls stop for a moment where there have been many."""
        self._effort += effort(step)
        if self._effort > _UNHEARD:
            self._effort = 0.0
            self._stop(index, is_rest=True)

    # --- runs

    def run(self) -> None:
        """Make all results of what is in the slots; what fails is explained as it is elsewhere."""
        calls, count, step = self._calls, len(self._queue), 0
        assert calls is not None
        try:
            with self._shown() as compute:
                place = calls.run(0)
                while place < count:
                    stop = self._stops[place]
                    step = stop.step
                    if compute is not None:
                        compute.reach(step)
                    if not stop.is_rest:
                        self._make(stop)
                    place = calls.run(stop.after)
        except BaseException as error:  # distinguished in explain, which always raises
            explain(error, self._plan, step, self._recorded)

    def _shown(self) -> AbstractContextManager[Compute | None]:
        seen = self._runner.long and is_displayed()
        return under_way(Compute(self._plan)) if seen else _NOT_SHOWN

    @silenced
    def _make(self, stop: _Stop) -> None:
        """Make the results of a step by its program, and write them to where they are expected."""
        if stop.flag is not None:
            stop.flag[0] = False
        _, program, take, blank, donors, _, _ = self._runner.actions[stop.step]
        slots = self.slots
        # what a kernel has left to its program may have to read operands a second time
        own = donors is None or stop.flag is not None
        results = program(take(slots), blank if own or donors is None else self._buffers(donors))
        for slot, result in zip(self._plan.steps[stop.step].outputs, results, strict=True):
            if result is not slots[slot]:
                np.copyto(slots[slot], result)


_NOT_SHOWN = nullcontext()


def _prepared(plan: Plan, queue: Sequence[NativeCall | None]) -> Calls | None:
    for step in plan.steps:
        calls = backend_of(step.device).prepared_calls(queue)
        if calls is not None:
            return calls
    return None


def _same_bits(result: Any, other: Array) -> bool:
    """Whether arrays have the same bytes, and lie alike."""
    array = np.asarray(result)
    return array.strides == other.strides and array.tobytes("K") == other.tobytes("K")


def _are_views(results: Sequence[Any], inputs: Sequence[Any]) -> bool:
    """Whether results are the memory of the operand, whatever is written there."""
    return all(np.may_share_memory(result, inputs[0]) for result in results)


def _owned(results: Sequence[Any], inputs: Sequence[Any], buffers: Sequence[Any]) -> list[Array]:
    """Return results as arrays with memory of their own, or that of a buffer."""
    return [
        result
        if any(result is buffer for buffer in buffers)
        else np.array(result, copy=_is_shared(result, inputs) or None, order="K")
        for result in results
    ]


def _is_shared(result: Any, inputs: Sequence[Any]) -> bool:
    return any(
        isinstance(operand, np.ndarray) and np.may_share_memory(result, operand)
        for operand in inputs
    )
