"""Within memory: tasks that run in this process, whose results may not all fit into its memory at once.

Where they fit, they run as they come. Otherwise they run in one order, whose peak is known before: one after the other
where there is no more room, and as far as there is, tasks that come later run early beside the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.backends.budget import LIGHT, PYTHONS, NoRoomError
from tensorframe.backends.dask.arrays import Array, block_keys
from tensorframe.backends.dask.local import Graph, Key, Run
from tensorframe.backends.dask.sizes import Sizes, beside
from tensorframe.backends.dask.tasks import owned
from tensorframe.backends.host_pool import pool


def run_within_memory(arrays: Sequence[Array], workers: int) -> list[list[Any]] | None:
    """Return the blocks of arrays; None where all that their tasks give fits, so that any scheduler may run them.

    NoRoomError, before the first task, where not even one task after the other fits.
    """
    sizes, budget = Sizes(arrays), pool.budget
    if has_room(sizes.at_once(workers)):
        return None
    tasks = SizedGraph(sizes, [list(block_keys(array)) for array in arrays])
    peak, task = tasks.peak()
    if not budget.admits(peak + PYTHONS):
        raise NoRoomError(budget, peak + PYTHONS, str(task))
    room = int(min(budget.room(), 1 << 62)) - budget.statistics.pooled
    return OrderedRun(tasks, workers, room - peak - PYTHONS).blocks()


def has_room(most: int) -> bool:
    """Whether there is room for so many bytes of tasks as it is; nothing is given up for them."""
    return most < LIGHT or pool.budget.admits_as_it_is(most + PYTHONS)


class SizedGraph(Graph):
    """A graph with the bytes of what each task gives, and takes beside while it runs."""

    def __init__(self, sizes: Sizes, wanted: list[list[Key]]) -> None:
        layer = dict(sizes.tasks())
        super().__init__({key: sizes.layers[name][key] for key, name in layer.items()}, wanted)
        held = {key: sizes.gives(key, layer[key], None, 0) for key in self.values}
        self.beside: list[int] = []
        for key, task in zip(self.sequence, self.tasks, strict=True):
            operands = sum([held[source] for source in task.dependencies])
            held[key] = sizes.gives(key, layer[key], task, operands)
            self.beside.append(beside(task, operands))
        self.size = [held[key] for key in self.sequence]

    def peak(self) -> tuple[int, Key]:
        """Return the most bytes that live at once if one task runs after the other, and during which one."""
        users = self.users.copy()
        live = most = worst = 0
        for place, size in enumerate(self.size):
            live += size
            if live + self.beside[place] > most:
                most, worst = live + self.beside[place], place
            for source in self.freed(place, users):
                live -= self.size[self.place[source]]
        return most, self.sequence[worst]


class OrderedRun(Run):
    """A graph that runs in order, and whose tasks that run early take `spare` bytes at most, with what they give.

    Of what lives, all else would live as well if one task ran after the other.
    """

    graph: SizedGraph

    def __init__(self, graph: SizedGraph, workers: int, spare: int) -> None:
        super().__init__(graph, workers)
        self._spare = spare
        self._first = 0  # the first that has not run
        self._over: set[int] = set()  # those that have
        self._early: dict[int, int] = {}  # bytes of those that come later, and run, or have run

    def may_begin(self, place: int) -> bool:
        """Whether a task is the next one, or there is room for it early."""
        early = sum(self._early.values())
        return place == self._first or early + self._bytes(place) <= self._spare

    def _bytes(self, place: int) -> int:
        return self.graph.size[place] + self.graph.beside[place]

    def begun(self, place: int) -> None:
        """Note whether a task runs early."""
        if place != self._first:
            self._early[place] = self._bytes(place)

    def ended(self, place: int, freed: Sequence[Key]) -> None:
        """Note what a task leaves, and which is the next one now."""
        if place in self._early:
            self._early[place] = self.graph.size[place]
        for source in freed:
            self._early.pop(self.graph.place[source], None)
        self._over.add(place)
        while self._first in self._over:
            self._over.discard(self._first)
            self._first += 1
        # the next one counts where it would if one ran after the other, even while it runs
        self._early.pop(self._first, None)
        for other in [other for other in self._early if other < self._first]:
            del self._early[other]

    def result(self, made: Any) -> Any:
        """Return what a task gave apart from its operands: as long as a view lives, so does all that it is of."""
        return owned(made)
