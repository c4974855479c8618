"""Columns: a picture much higher than wide goes on beside itself, as text does in a newspaper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import add

Point = tuple[float, float]

_GUTTER = 34.0  # between columns, besides the lanes of lines
_LANE = 8.0
_MARGIN = 14.0  # above the first and below the last row of a column, where lines turn
_MOST_TURNING = 12  # lines from one column to the next; what hangs together more is not cut
_LEAST_FILLED, _MOST_FILLED = 0.8, 1.2  # of its share of the height: where a column may end
_LEAST_HEIGHT = 2200.0  # what is lower is read well enough by scrolling


@dataclass(slots=True)
class Column:
    """Consecutive rows: the top of each, how far they are moved to the right, and where they end."""

    number: int
    tops: dict[int, float] = field(default_factory=dict)
    right: float = 0.0
    end: float = 0.0
    foot: float = 0.0  # where the last row ends, and lines that go on turn
    head: float = 0.0


def fold(
    extents: Sequence[tuple[float, float]],
    heights: Sequence[float],
    gaps: Sequence[float],
    crossed: Sequence[int],
    aspect: float,
) -> list[Column]:
    """Return the rows in columns, such that the whole is about `aspect` times as wide as high; one column if that is 0.

    `extents` are the left and right ends of rows, `gaps` the room below each, `crossed` how many lines go through it.
    """
    total = sum(heights) + sum(gaps[:-1])
    cuts = _cuts(extents, heights, gaps, crossed, total, aspect) if total > _LEAST_HEIGHT else []
    columns: list[Column] = []
    right = 0.0
    margin = _MARGIN if cuts else 0.0
    for number, (first, last) in enumerate(zip([0, *cuts], [*cuts, len(heights)], strict=True)):
        lanes = crossed[first - 1] if first else 0
        right += _GUTTER + _LANE * lanes if first else 0.0
        left = min(extents[row][0] for row in range(first, last))
        column = Column(number, right=right - left)
        # lines turn above and below: room for as many as there are
        y = margin + _LANE * max([crossed[cut - 1] for cut in cuts], default=0)
        column.head = y
        for row in range(first, last):
            column.tops[row] = y
            y += heights[row] + gaps[row]
        column.foot = y - gaps[last - 1]
        column.end = right = column.right + max(extents[row][1] for row in range(first, last))
        columns.append(column)
    return columns


def foot_of(columns: Sequence[Column]) -> float:
    """Return where everything ends, lines that turn below the last rows included."""
    foot = max(column.foot for column in columns)
    return foot + columns[0].head if columns[1:] else foot


def _cuts(
    extents: Sequence[tuple[float, float]],
    heights: Sequence[float],
    gaps: Sequence[float],
    crossed: Sequence[int],
    total: float,
    aspect: float,
) -> list[int]:
    """Return the rows that begin a column: near equal parts, where few lines have to turn."""
    if not aspect:
        return []
    width = sum(right - left for left, right in extents) / len(extents) * 1.25 + _GUTTER
    count = round((aspect * total / width) ** 0.5)
    if count < 2:
        return []
    tops = [0.0, *accumulate(map(add, heights, gaps))]
    cuts: list[int] = []
    best: tuple[float, int] | None = None
    began = 0.0
    for row in range(1, len(heights)):
        filled = (tops[row] - began) / (total / count)
        if filled >= _LEAST_FILLED and crossed[row - 1] <= _MOST_TURNING:
            # each line that turns is worth a cut a little further away
            cost = abs(filled - 1.0) + 0.06 * crossed[row - 1]
            best = min(best, (cost, row)) if best else (cost, row)
        if filled > _MOST_FILLED and best:
            cuts.append(best[1])
            began = tops[best[1]]
            best = None
    return cuts


def turn(
    start: Point, end: Point, column: Column, following: Column, lane: int, lanes: int
) -> tuple[Point, ...]:
    """Return the corners of a line from the foot of one column, through the gutter, to the head of the next."""
    low = column.foot + _MARGIN + _LANE * lane
    # lanes are nested: what turns first below turns last above
    gutter = column.end + _GUTTER / 2 + _LANE * lane
    high = following.head - _MARGIN - _LANE * (lanes - 1 - lane)
    return (
        start,
        (start[0], low),
        (gutter, low),
        (gutter, high),
        (end[0], high),
        end,
    )
