"""Iterations of a loop: where one ends in a graph that the loop recorded, and how many nodes later the next one will.

A loop that only records leaves a graph whose lines have a period. Where one value is all that later turns need, a turn
ends with it. Computed there, each turn is the same small graph again, for which its line has a guard before long.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from types import CodeType
from typing import Final

from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind, Op
from tensorframe.quick_dataclasses import dataclass
from tensorframe.quick_tuples import NamedTuple
from tensorframe.site import Site

# Nodes that are computed at once, at least, if a turn has fewer: looking for them takes as long as some do.
_WORTHWHILE: Final = 48
# Nodes of a turn at most: guards are of few more.
_LONGEST: Final = 88
# Nodes that are to be alike, turn by turn, before the next ones are expected to be: a loop within a loop has fewer.
_ALIKE: Final = 3 * _LONGEST

# the op of a node, and where it was recorded
_Line = tuple[Op, Site | None]


@dataclass(frozen=True, slots=True)
class Turn:
    """The line that ends a turn, or so many turns as are computed at once, and the serial numbers that these take."""

    op: Op
    code: CodeType
    offset: int
    serials: int

    def ends_with(self, node: Node) -> bool:
        """Whether a node that was just recorded is such an end."""
        site = node.site
        return (
            node.op is self.op
            and site is not None
            and site[0] is self.code
            and site[1] == self.offset
        )


class Known(NamedTuple):
    """Turns, and the serial number with which one of them ended."""

    turn: Turn
    end: int


def last_turn(order: Sequence[Node], needed: Sequence[Node]) -> Known | None:
    """Return the turns of a graph in the order of its recording; later nodes need those in `needed`.

    None if its lines have no period, or more than one value goes from turn to turn. The last nodes are those of a turn
    that has not ended, and some of it may be missing: what is alike lies before as many as a turn may have.
    """
    order = order[-_ALIKE - _LONGEST :]
    stop = len(order) - _LONGEST
    if stop < _ALIKE:
        return None
    period = _period([(node.op, node.site) for node in order[:stop]])
    place = None if period is None else _end(order, needed, stop, period)
    if period is None or place is None:
        return None
    end = order[place]
    if end.op.kind is not Kind.MAP or end.site is None:
        return None
    serials = end.serial - order[place - period].serial
    turns = max(_WORTHWHILE // period, 1)
    return Known(Turn(end.op, *end.site, serials * turns), end.serial)


def _period(lines: Sequence[_Line]) -> int | None:
    """Return the least number of nodes after which the lines come again."""
    last = lines[-1]
    for period in range(1, _LONGEST + 1):
        if lines[-1 - period] == last and lines[period:] == lines[:-period]:
            return period
    return None


def _end(order: Sequence[Node], needed: Sequence[Node], stop: int, period: int) -> int | None:
    """Return the last place before `stop` whose node is all of the turns so far that nodes behind it need."""
    count = len(order)
    first = stop - 2 * period  # what is older is the same in all turns
    last_use = dict.fromkeys(order[first:], -1)
    for place, node in enumerate(order[first:], first):
        for source in node.inputs:
            if source in last_use:
                last_use[source] = place
    last_use |= dict.fromkeys(needed, count)
    changes = [0] * (
        count + 1
    )  # how many more values are alive behind a place than behind the one before
    for place, node in enumerate(order[first:], first):
        if last_use[node] > place:
            changes[place] += 1
            changes[last_use[node]] -= 1
    alive = list(accumulate(changes))
    for place in range(stop - 1, stop - period - 1, -1):
        if alive[place] == 1 and last_use[order[place]] > place:
            return place
    return None
