"""Scheduling for memory: groups run in the order that keeps the fewest bytes alive, as a greedy choice sees it."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from tensorframe.graph.node import Node
from tensorframe.schedule.fusion.group import Group


def least_live_bytes_first(groups: Sequence[Group]) -> list[Group]:
    """Return `groups` in a runnable order: of those that are ready, the one that frees most (or adds least) goes first.

    What is made of leaves alone, such as the elements of a quantised matrix, waits for the first group that reads it:
    it frees nothing, so it never takes less memory to have it earlier. Ties keep the recorded order, so equal
    structures give equal plans.
    """
    return _Order(groups).order()


class _Order:
    """One choice after the other, each among the groups that nothing else has to run before."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._groups = groups
        self._made_by = {
            node: number for number, group in enumerate(groups) for node in group.nodes
        }
        self._users: dict[Node, int] = {}
        for group in groups:
            for source in group.inputs:
                self._users[source] = self._users.get(source, 0) + 1
        self._sources = [
            sorted({self._made_by[node] for node in group.inputs if node in self._made_by})
            for group in groups
        ]
        self._late = self._those_that_wait()
        self._done = [False] * len(groups)
        self._result: list[Group] = []

    def _those_that_wait(self) -> list[bool]:
        """Return which groups run no sooner than the first one that reads their result.

        They are made of leaves, of a view of such a group, or of at most half as many bytes that such groups give:
        between them nothing takes more memory than their result does.
        """
        read = {number for sources in self._sources for number in sources}
        late = [False] * len(self._groups)
        for number, (group, sources) in enumerate(zip(self._groups, self._sources, strict=True)):
            if number in read and all(late[source] for source in sources):
                made = sum(node.nbytes for node in group.inputs if node in self._made_by)
                is_view = group.sink.op.alias and len(sources) <= 1
                late[number] = is_view or 2 * made <= group.sink.nbytes
        return late

    def order(self) -> list[Group]:
        """Return the groups in their order."""
        waiting: list[int] = []
        followers: list[list[int]] = [[] for _ in self._groups]
        for number, sources in enumerate(self._sources):
            needed = [source for source in sources if not self._late[source]]
            waiting.append(len(needed))
            for source in needed:
                followers[source].append(number)
        ready = [
            (self._added_bytes(number), number)
            for number, count in enumerate(waiting)
            if not count and not self._late[number]
        ]
        heapq.heapify(ready)
        while ready:
            _, number = heapq.heappop(ready)
            self._run(number)
            for follower in followers[number]:
                waiting[follower] -= 1
                if waiting[follower] == 0:
                    heapq.heappush(ready, (self._added_bytes(follower), follower))
        return self._result

    def _run(self, number: int) -> None:
        """Append a group after what it waited for, which is no recursion: chains of views may be long."""
        waiting = [number]
        while waiting:
            last = waiting[-1]
            missing = [source for source in self._sources[last] if not self._done[source]]
            if missing:
                waiting += reversed(missing)
                continue
            waiting.pop()
            if not self._done[last]:
                self._done[last] = True
                self._result.append(self._groups[last])
                for node in self._groups[last].inputs:
                    self._users[node] -= 1

    def _added_bytes(self, number: int) -> int:
        """Bytes that running the group adds: its result, less the inputs that nobody needs afterwards.

        An input that is still to be made is freed at once, or added, if others need it as well.
        """
        group = self._groups[number]
        added = 0 if group.sink.op.alias else group.sink.nbytes
        for node in group.inputs:
            if node.storage is not None:
                continue
            is_last = self._users[node] == 1
            source = self._made_by.get(node)
            if source is not None and not self._done[source]:
                added += 0 if is_last else node.nbytes
            elif is_last:
                added -= node.nbytes
        return added
