"""Bound replays: when a recorded function runs on memory that stays, and how a call's arguments get there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np

from tensorframe.forks import new_lock
from tensorframe.graph.node import Node
from tensorframe.graph.references import referenced
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.execution.failures import Recorded
from tensorframe.runtime.execution.observers import Runner
from tensorframe.runtime.replays.bound_plan import BoundPlan
from tensorframe.schedule.plan import Plan

# Replays before memory is taken for good; twice as many whenever arguments turn out to be others.
_REPLAYS = 8
# Bytes of an argument that is copied to where kernels read it.
_COPIED = 1 << 16

# what gives the leaves of a plan for the arguments of a call
Leaves = Callable[[list[Any]], list[Any]]


class Arguments(NamedTuple):
    """Where the leaves of a plan come from, by slot: the place among the values of a call.

    `others` are leaves that a call makes itself, such as numbers and what is drawn. `written` are the places of
    arguments whose memory is written over, and the number of the output that is to be there.
    """

    tensors: Sequence[tuple[int, int]]
    others: Sequence[int]
    written: Mapping[int, int]


class BoundReplay:
    """A recorded function's plan on memory that stays, once it has been replayed so often that this pays."""

    def __init__(self, plan: Plan, runner: Runner, recorded: Recorded, given: Arguments) -> None:
        self._plan, self._runner, self._recorded, self._given = plan, runner, recorded, given
        self._lock = new_lock()
        # of values that stay, and of replays before they do; 0 where they never will
        self._bound: BoundPlan | None = None
        self._patience = self._left = _REPLAYS
        # slot, place and strides of what is copied; slot and place of what is the same array in every call
        self._copied: list[tuple[int, int, tuple[int, ...]]] = []
        self._same: list[tuple[int, int]] = []
        # by place, how many refer to such an array: the list of values aside, only what is bound
        self._counts: list[tuple[int, int]] = []
        self._is_in_place = False  # whether all that is written over is where it is expected

    @property
    def is_there(self) -> bool:
        """Whether calls run on memory that stays by now."""
        return self._bound is not None

    def run(self, values: list[Any], leaves: Leaves) -> list[Any] | None:
        """Return the outputs for the arguments of a call; None, and nothing is done, where the plan runs as usual.

        `leaves` gives the leaves of the plan.
        """
        if self._bound is None:
            self._left = max(self._left - 1, 0)
            if self._left or not self._patience:
                return None
        with self._alone() as is_alone:
            if not is_alone:
                return None
            if self._bound is None:
                return self._begun(values, leaves)
            if not self._fits(values):
                self._forget()
                return None
            return self._run(self._bound, values, leaves)

    def run_in_place(
        self, values: list[Any], leaves: Leaves, nodes: list[Node]
    ) -> list[Any] | None:
        """Return the outputs but those that are written over arguments, which the only references to `nodes` keep.

        None, and nothing is done, where they are not, or there are others.
        """
        with self._alone() as is_alone:
            bound = self._bound
            if not is_alone or bound is None or not self._is_in_place:
                return None
            if are_seen_elsewhere(nodes) or not self._fits(values, by_storage=1):
                return None
            outputs = self._run(bound, values, leaves)
            for output in self._given.written.values():
                outputs[output] = None
            return outputs

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Say whether no other thread is in that memory, and let none in."""
        is_alone = self._lock.acquire(blocking=False)
        try:
            yield is_alone
        finally:
            if is_alone:
                self._lock.release()

    def _run(self, bound: BoundPlan, values: list[Any], leaves: Leaves) -> list[Any]:
        self._fill_in(bound, values, leaves)
        bound.run()
        return self._outputs(bound)

    def _begun(self, values: list[Any], leaves: Leaves) -> list[Any] | None:
        """Run the plan on memory of its own, which stays if that pays."""
        tensors, others, written = self._given
        self._patience *= 2
        self._left = self._patience
        is_large = any(
            values[place].nbytes > _COPIED for _, place in tensors if place not in written
        )
        if is_large or referenced(values, [(place, 0) for place in written]):
            return None
        self._same = [(slot, place) for slot, place in tensors if place in written]
        self._copied = [
            (slot, place, values[place].strides) for slot, place in tensors if place not in written
        ]
        varying = [*[slot for slot, *_ in self._copied], *others]
        own = [slot for slot, _ in self._same]
        bound = BoundPlan(self._plan, self._runner, self._recorded, leaves(values), varying, own)
        if bound.pays:
            self._bound = bound
            # by views, for example
            self._counts = [(place, _others(values, place)) for _, place in self._same]
            by_place = {place: bound.slots[slot] for slot, place in self._same}
            self._is_in_place = all(
                bound.slots[self._plan.outputs[output]] is by_place.get(place)
                for place, output in written.items()
            )
        else:
            self._patience = 0
        return self._outputs(bound)

    def _fits(self, values: list[Any], *, by_storage: int = 0) -> bool:
        """Whether arguments lie as those did for which calls are prepared, and nobody else sees what is written over.

        `by_storage` is how often their own storage refers to them.
        """
        assert self._bound is not None
        slots = self._bound.slots
        for _, place, strides in self._copied:  # loops, since generators take twice as long
            if values[place].strides != strides:
                return False
        for slot, place in self._same:
            if values[place] is not slots[slot]:
                return False
        return not referenced(values, [(place, more + by_storage) for place, more in self._counts])

    def _fill_in(self, bound: BoundPlan, values: list[Any], leaves: Leaves) -> None:
        slots = bound.slots
        for slot, place, _ in self._copied:
            np.copyto(slots[slot], values[place])
        if self._given.others:
            given = leaves(values)
            for slot in self._given.others:
                if type(slots[slot]) is np.ndarray:
                    np.copyto(slots[slot], given[slot])
                else:
                    slots[slot] = given[slot]

    def _outputs(self, bound: BoundPlan) -> list[Any]:
        """Return the outputs: arguments that were written over, and copies of all others."""
        slots = bound.slots
        written = {id(slots[slot]) for slot, _ in self._same}
        return [
            slots[slot] if id(slots[slot]) in written else slots[slot].copy()
            for slot in self._plan.outputs
        ]

    def release(self) -> None:
        """Give the memory back, so that the plan can write over its arguments as usual."""
        with self._alone() as is_alone:
            if is_alone and self._bound is not None:
                self._forget()

    def _forget(self) -> None:
        self._bound = None
        self._copied, self._same, self._counts = [], [], []


def are_seen_elsewhere(nodes: list[Node]) -> bool:
    """Whether more than a tensor each, and this list, refer to nodes, or more than a node to their storage."""
    storages = [node.storage for node in nodes]
    by_owners = [(index, 1) for index in range(len(nodes))]
    return bool(referenced(nodes, by_owners) or referenced(storages, by_owners))


def _others(values: list[Any], place: int) -> int:
    """Return how many refer to a value beside the list."""
    return next(more for more in count() if not referenced(values, [(place, more)]))
