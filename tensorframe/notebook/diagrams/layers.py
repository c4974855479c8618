"""Layers: the row that each box of a picture stands in, and the order within rows, so that lines cross little.

The first two steps of Sugiyama, Tagawa and Toda (1981). What is drawn is a value on its way from the box that makes it
to all that use it, a net: its lines share one trunk of joints, one in every row that it passes, so a value that is used
everywhere costs a line and not a hundred.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise

# Lines and joints that sweeps look at in all; pictures beyond get fewer sweeps, and stay quick.
_EFFORT = 240_000
_MOST_SWEEPS = 16


@dataclass(frozen=True, slots=True)
class Net:
    """A value: the node that it comes from, and those that it goes to."""

    source: int
    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A piece of a net between one row and the next."""

    upper: int
    lower: int
    net: int


@dataclass(slots=True)
class Rows:
    """Nodes and joints, in rows from top to bottom. Numbers from `count` on are joints."""

    count: int
    rows: list[list[int]]
    links: list[Link]

    def is_joint(self, node: int) -> bool:
        """Whether a number is a joint of a net's trunk rather than a node."""
        return node >= self.count


def ranks(count: int, nets: Sequence[Net]) -> list[int]:
    """Return the row of each node: below everything that it uses, and as near to its users as costs no longer lines."""
    before: list[list[int]] = [[] for _ in range(count)]
    behind: list[list[Net]] = [[] for _ in range(count)]
    into: list[list[Net]] = [[] for _ in range(count)]
    for net in nets:
        behind[net.source].append(net)
        for target in net.targets:
            before[target].append(net.source)
            into[target].append(net)
    order = list(TopologicalSorter(dict(enumerate(before))).static_order())
    rank = [0] * count
    for node in order:
        rank[node] = max((rank[source] + 1 for source in before[node]), default=0)
    for node in reversed(order):
        users = [rank[target] for net in behind[node] for target in net.targets]
        if users and min(users) - 1 > rank[node]:
            reached = min(users) - 1
            longer = sum(
                max(rank[target] for target in net.targets) < reached for net in into[node]
            )
            if longer <= len(behind[node]) and (longer < len(behind[node]) or not into[node]):
                rank[node] = reached
    return rank


def split_wide(rank: Sequence[int], widths: Sequence[float], most: float) -> list[int]:
    """Return rows none of which is much wider than `most`: what does not fit stands in further rows below."""
    members: dict[int, list[int]] = {}
    for node, row in enumerate(rank):
        members.setdefault(row, []).append(node)
    rows = [0] * len(rank)
    number = -1
    for row in sorted(members):
        total = sum(widths[node] for node in members[row])
        share = total / max(1, round(total / most))  # rows of about the same width
        number += 1
        used = 0.0
        for node in members[row]:
            if used and used + widths[node] / 2 > share:
                number += 1
                used = 0.0
            used += widths[node]
            rows[node] = number
    return rows


def rows_of(rank: Sequence[int], nets: Sequence[Net]) -> Rows:
    """Return the nodes in their rows, with a joint wherever a net passes a row on its way further down."""
    count = len(rank)
    rows: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
    for node, row in enumerate(rank):
        rows[row].append(node)
    links: list[Link] = []
    following = count
    for number, net in enumerate(nets):
        trunk = {rank[net.source]: net.source}
        last = max((rank[target] for target in net.targets), default=0)
        for row in range(rank[net.source] + 1, last):
            trunk[row] = following
            rows[row].append(following)
            links.append(Link(trunk[row - 1], following, number))
            following += 1
        ends = dict.fromkeys(net.targets)
        links += [Link(trunk[rank[target] - 1], target, number) for target in ends]
    return Rows(count, rows, links)


def uncross(rows: Rows, *, keep_first: bool = False) -> None:
    """Reorder each row by the mean place of its neighbours, down and up in turn, and keep the best order.

    `keep_first` leaves the first row as it is given.
    """
    above, below = neighbours(rows)
    best = [list(row) for row in rows.rows]
    fewest = _crossings(best, below)
    size = len(above) + len(rows.links)
    for sweep in range(min(_MOST_SWEEPS, max(2, _EFFORT // max(size, 1)))):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        sequence = range(len(rows.rows)) if downwards else range(len(rows.rows) - 1, -1, -1)
        fixed: dict[int, float] = {}
        for number in sequence:
            row = rows.rows[number]
            if not (number == 0 and keep_first):
                _sort(row, above if downwards else below, fixed)
            for place, node in enumerate(row):
                fixed[node] = (place + 0.5) / len(row)
        crossings = _crossings(rows.rows, below)
        if crossings < fewest:
            fewest = crossings
            best = [list(row) for row in rows.rows]
    rows.rows = best


def neighbours(rows: Rows) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return what each node or joint is linked with in the row above, and in the row below."""
    above: dict[int, list[int]] = {node: [] for row in rows.rows for node in row}
    below: dict[int, list[int]] = {node: [] for node in above}
    for link in rows.links:
        above[link.lower].append(link.upper)
        below[link.upper].append(link.lower)
    return above, below


def main_links(rows: Rows) -> dict[int, Link]:
    """Return for each node or joint the link that it hangs on: the only one from above, sources beside it aside.

    A layer of a network hangs on the layer before it, and its weights stand beside.
    """
    above, _ = neighbours(rows)
    arriving: dict[int, list[Link]] = {node: [] for node in above}
    for link in rows.links:
        arriving[link.lower].append(link)
    links_of = {}
    for node, links in arriving.items():
        hanging = [link for link in links if above[link.upper]] if links[1:] else links
        if len(hanging) == 1:
            links_of[node] = hanging[0]
    return links_of


def _sort(row: list[int], linked: dict[int, list[int]], fixed: dict[int, float]) -> None:
    wanted = {}
    for place, node in enumerate(row):
        others = linked[node]
        # without a neighbour there is no reason to move
        wanted[node] = (
            sum(fixed[other] for other in others) / len(others)
            if others
            else (place + 0.5) / len(row)
        )
    row.sort(key=wanted.__getitem__)


def _crossings(rows: Sequence[Sequence[int]], below: dict[int, list[int]]) -> int:
    """Return how many pairs of links cross: inversions of the lower ends, in the order of the upper ones."""
    total = 0
    for upper, lower in pairwise(rows):
        place = {node: index for index, node in enumerate(lower)}
        seen: list[int] = []
        for node in upper:
            ends = sorted(place[other] for other in below[node])
            for end in ends:
                total += len(seen) - bisect_left(seen, end + 1)
            for end in ends:
                insort(seen, end)
    return total
