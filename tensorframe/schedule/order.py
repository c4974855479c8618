"""Scheduling for memory: groups run in the order that keeps the fewest bytes alive, as a greedy choice sees it."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from tensorframe.graph.node import Node
from tensorframe.schedule.group import Group


def least_live_bytes_first(groups: Sequence[Group]) -> list[Group]:
    """Return `groups` in a runnable order: of those that are ready, the one that frees most (or adds least) goes first.

    Ties keep the recorded order, so equal structures give equal plans.
    """
    made_by: dict[Node, int] = {
        node: number for number, group in enumerate(groups) for node in group.nodes
    }
    users: dict[Node, int] = {}
    for group in groups:
        for source in group.inputs:
            users[source] = users.get(source, 0) + 1
    waiting = [len({made_by[s] for s in group.inputs if s in made_by}) for group in groups]
    followers: list[set[int]] = [set() for _ in groups]
    for number, group in enumerate(groups):
        for source in group.inputs:
            if source in made_by:
                followers[made_by[source]].add(number)
    ready = [
        (_added_bytes(groups[number], users), number)
        for number in range(len(groups))
        if waiting[number] == 0
    ]
    heapq.heapify(ready)
    order = []
    while ready:
        _, number = heapq.heappop(ready)
        order.append(groups[number])
        for source in groups[number].inputs:
            users[source] -= 1
        for follower in sorted(followers[number]):
            waiting[follower] -= 1
            if waiting[follower] == 0:
                heapq.heappush(ready, (_added_bytes(groups[follower], users), follower))
    return order


def _added_bytes(group: Group, users: dict[Node, int]) -> int:
    """Bytes that running the group adds: its result, less the inputs that nobody needs afterwards."""
    added = 0 if group.sink.op.alias else group.sink.nbytes
    freed = sum(
        source.nbytes for source in group.inputs if users[source] == 1 and source.storage is None
    )
    return added - freed
