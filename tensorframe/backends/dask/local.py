"""Graphs that run in threads of this process: for tasks of a millisecond, Dask's scheduler would take a tenth more.

Of the tasks whose operands are there, the one that Dask's order has first begins first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextvars import copy_context
from copy import copy
from heapq import heapify, heappop, heappush
from threading import Thread
from typing import Any, TypeAlias

from dask._task_spec import convert_legacy_graph, cull  # of which there are no public names
from dask.order import order
from dask.task_spec import DataNode, Task

from tensorframe.forks import new_condition

Key: TypeAlias = Any


class Graph:
    """Tasks in order, the values that they begin with, and which results are wanted."""

    def __init__(self, nodes: Mapping[Key, Any], wanted: Sequence[Sequence[Key]]) -> None:
        self.wanted = wanted
        graph = convert_legacy_graph(dict(nodes))
        reached = cull(graph, [key for keys in wanted for key in keys])
        self.values = {key: node.value for key, node in reached.items() if type(node) is DataNode}
        tasks = {key: node for key, node in reached.items() if key not in self.values}
        needs = {
            key: [source for source in task.dependencies if source not in self.values]
            for key, task in tasks.items()
        }
        if any(needs.values()):
            place = order(reached)
            self.sequence = sorted(tasks, key=place.__getitem__)
        else:  # any order will do: that of the blocks
            self.sequence = [key for key in graph if key in tasks]
        self.tasks = [tasks[key] for key in self.sequence]
        self.place = {key: number for number, key in enumerate(self.sequence)}
        self.missing = [len(needs[key]) for key in self.sequence]
        self.dependents: dict[Key, list[int]] = {}
        for key in self.sequence:
            for source in needs[key]:
                self.dependents.setdefault(source, []).append(self.place[key])
        self.users = Counter({key: len(own) for key, own in self.dependents.items()})
        self.users.update([key for keys in wanted for key in keys])

    def beginning_with(self, values: Mapping[Key, Any]) -> Graph:
        """Return the same tasks, which begin with other values."""
        graph = copy(self)
        graph.values = dict(values)
        return graph

    def calling(self, function: Any, other: Any) -> Graph:
        """Return the same tasks, of which those that call a function call another one."""
        graph = copy(self)
        graph.tasks = [
            Task(task.key, other, *task.args)
            if isinstance(task, Task) and task.func is function
            else task
            for task in self.tasks
        ]
        return graph

    def freed(self, place: int, users: Counter[Key]) -> list[Key]:
        """Return the results that nobody needs any more when a task is done, whose operands are counted off."""
        freed = []
        for source in self.tasks[place].dependencies:
            if source in self.place:
                users[source] -= 1
                if not users[source]:
                    freed.append(source)
        return freed


class Run:
    """A graph that runs."""

    def __init__(self, graph: Graph, workers: int) -> None:
        self.graph = graph
        self._workers = min(workers, len(graph.tasks))
        self._values = dict(graph.values)
        self._users = graph.users.copy()
        self._missing = list(graph.missing)
        self._ready = [place for place, count in enumerate(self._missing) if not count]
        heapify(self._ready)
        self._left = len(graph.tasks)
        self._error: BaseException | None = None
        self._changed = new_condition()

    def blocks(self) -> list[list[Any]]:
        """Return the wanted results, with this thread and others at work."""
        for _ in range(self._workers - 1):
            Thread(target=copy_context().run, args=(self._work,), daemon=True).start()
        self._work()
        if self._error is not None:
            raise self._error
        return [[self._values[key] for key in keys] for keys in self.graph.wanted]

    def may_begin(self, place: int) -> bool:
        """Whether a task may begin that is the first of those that are ready."""
        return True

    def begun(self, place: int) -> None:
        """Note that a task runs."""

    def ended(self, place: int, freed: Sequence[Key]) -> None:
        """Note that a task has run, and which results are gone."""

    def result(self, made: Any) -> Any:
        """Return what a task gave as it is kept."""
        return made

    def _work(self) -> None:
        while (place := self._next()) is not None:
            try:
                task = self.graph.tasks[place]
                operands = {key: self._values[key] for key in task.dependencies}
                made = self.result(task(operands))
                del operands
                self._done(place, made)
                del made
            except BaseException as error:  # who waits for the results raises it
                with self._changed:
                    self._error = self._error or error
                    self._changed.notify_all()

    def _next(self) -> int | None:
        """Return the place of the task to begin now, when there is one; None at the end."""
        with self._changed:
            while self._left and self._error is None:
                if self._ready and self.may_begin(self._ready[0]):
                    place = heappop(self._ready)
                    self.begun(place)
                    return place
                self._changed.wait()
            return None

    def _done(self, place: int, made: Any) -> None:
        graph = self.graph
        key = graph.sequence[place]
        with self._changed:
            self._values[key] = made
            freed = graph.freed(place, self._users)
            for source in freed:
                del self._values[source]
            for dependent in graph.dependents.get(key, ()):
                self._missing[dependent] -= 1
                if not self._missing[dependent]:
                    heappush(self._ready, dependent)
            self._left -= 1
            self.ended(place, freed)
            if self._workers > 1:
                self._changed.notify_all()
