"""Placing: ordered rows of cells become coordinates, and the links between them curves that meet no cell.

A link leaves its cell straight down to the end of the row, bends in the gap between two rows, and arrives straight
down. Joints keep a lane of their own through each row, so nothing is ever drawn across a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tensorframe.notebook.diagrams.columns import Column, fold, foot_of, turn
from tensorframe.notebook.diagrams.coordinates import nearest, spread
from tensorframe.notebook.diagrams.layers import Link, Rows, main_links

Point = tuple[float, float]

_GAP = 26.0  # between rows whose links are straight
_MOST_GAP = 84.0
_STEEPNESS = 0.09  # how much higher a gap is for each pixel that a link goes sideways in it
_BESIDE = 22.0  # between neighbours: nodes, a node and a joint, joints
_BESIDE_JOINT = 13.0
_BETWEEN_JOINTS = 9.0
_ARROWS = 13.0  # between the arrows that meet at one box
_HANGING = 100.0  # how much more straight lines matter where a cell hangs on one
ARROW = 5.0


@dataclass(slots=True)
class Cell:
    """What stands in a row: its size, where nets leave it, and where they arrive if that is not free.

    Places are to the right of its centre. A net leaves below its tag, `tag` under the cell.
    """

    width: float
    height: float
    starts: dict[int, float] = field(default_factory=dict)
    ends: dict[int, float] = field(default_factory=dict)
    tag: float = 0.0
    room: float = 0.0  # the width that tags need, if more than its own
    pointed: bool = True  # whether links that arrive have arrows
    free: bool = False  # whether nothing arrives, so that it may stand at the foot of its row

    @property
    def span(self) -> float:
        """The width that nothing else may stand in."""
        return max(self.width, self.room)


@dataclass(frozen=True, slots=True)
class Curve:
    """A piece of a line: down from `start` to `bends[0]`, over to the other side by `bends[1]`, down to `end`."""

    start: Point
    bends: tuple[float, float]
    end: Point
    arrow: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """A line from the foot of a column to the head of the next, with the corners that it goes around."""

    points: tuple[Point, ...]
    arrow: bool


@dataclass(slots=True)
class Placed:
    """Where everything stands: the top left corners of cells, and the lines of each net."""

    corners: list[Point]
    lines: dict[int, list[Curve | Turn]]
    width: float
    height: float


def place(rows: Rows, cells: Sequence[Cell], *, gap: float = _GAP, aspect: float = 0.0) -> Placed:
    """Return coordinates for ordered rows. With `aspect`, what is much higher than wide goes on in a next column."""
    centres = spread(
        rows,
        lambda node: 0.0 if rows.is_joint(node) else cells[node].span,
        lambda left, two: _beside(rows.is_joint(left), rows.is_joint(two)),
        lambda upper, lower, net: _start(rows, cells, upper, net) - _end(rows, cells, lower, net),
    )
    heights = [
        max(
            [cells[node].height + cells[node].tag for node in row if not rows.is_joint(node)]
            or [0.0]
        )
        for row in rows.rows
    ]
    gaps = _gaps(rows, centres, gap)
    extents = [_extent(row, rows, cells, centres) for row in rows.rows]
    crossed = [0] * len(rows.rows)
    number = {node: number for number, row in enumerate(rows.rows) for node in row}
    for link in rows.links:
        crossed[number[link.upper]] += 1
    columns = fold(extents, heights, gaps, crossed, aspect)
    return _Drawn(rows, cells, centres, heights, columns, number).placed()


def _beside(one_is_joint: bool, two_is_joint: bool) -> float:
    return (_BESIDE, _BESIDE_JOINT, _BETWEEN_JOINTS)[one_is_joint + two_is_joint]


def _start(rows: Rows, cells: Sequence[Cell], node: int, net: int) -> float:
    return 0.0 if rows.is_joint(node) else cells[node].starts.get(net, 0.0)


def _end(rows: Rows, cells: Sequence[Cell], node: int, net: int) -> float:
    return 0.0 if rows.is_joint(node) else cells[node].ends.get(net, 0.0)


def _gaps(rows: Rows, centres: dict[int, float], least: float) -> list[float]:
    """Return the height below each row: links that go far sideways need room to bend."""
    furthest = [0.0] * len(rows.rows)
    number = {node: number_of_row for number_of_row, row in enumerate(rows.rows) for node in row}
    for link in rows.links:
        above = number[link.upper]
        furthest[above] = max(furthest[above], abs(centres[link.upper] - centres[link.lower]))
    return [min(_MOST_GAP, least + _STEEPNESS * distance) for distance in furthest]


def _extent(
    row: Sequence[int], rows: Rows, cells: Sequence[Cell], centres: dict[int, float]
) -> tuple[float, float]:
    halves = {node: 0.0 if rows.is_joint(node) else cells[node].span / 2 for node in row}
    return (
        min(centres[node] - half for node, half in halves.items()),
        max(centres[node] + half for node, half in halves.items()),
    )


@dataclass(slots=True)
class _Drawn:
    """Rows whose columns are known, on their way to coordinates."""

    rows: Rows
    cells: Sequence[Cell]
    centres: dict[int, float]
    heights: Sequence[float]
    columns: list[Column]
    number: dict[int, int]

    def placed(self) -> Placed:
        """Return where everything stands."""
        column_of = {row: column for column in self.columns for row in column.tops}
        corners = []
        for node, cell in enumerate(self.cells):
            row = self.number[node]
            column = column_of[row]
            below = self.heights[row] - cell.height - cell.tag if cell.free else 0.0
            x = self.centres[node] + column.right - cell.width / 2
            corners.append((x, column.tops[row] + below))
        lines: dict[int, list[Curve | Turn]] = {}
        arrivals = self._arrivals()
        turning: dict[int, list[Link]] = {}
        for link in self.rows.links:
            upper, lower = self.number[link.upper], self.number[link.lower]
            if column_of[upper] is not column_of[lower]:
                turning.setdefault(column_of[upper].number, []).append(link)
                continue
            curve = self._curve(link, column_of[upper], corners, arrivals)
            lines.setdefault(link.net, []).append(curve)
        for turning_at, links in turning.items():
            self._turns(
                self.columns[turning_at],
                self.columns[turning_at + 1],
                links,
                corners,
                arrivals,
                lines,
            )
        width = max(column.end for column in self.columns)
        return Placed(corners, lines, width, foot_of(self.columns))

    def _arrivals(self) -> dict[tuple[int, int], float]:
        """Return where links arrive, to the right of the centre: below where they come from, side by side."""
        arriving: dict[int, list[Link]] = {}
        for link in self.rows.links:
            if not self.rows.is_joint(link.lower):
                arriving.setdefault(link.lower, []).append(link)
        arrivals = {}
        main = main_links(self.rows)
        for node, links in arriving.items():
            cell = self.cells[node]
            links.sort(key=self._from)
            reach = 0.38 * cell.width
            step = min(_ARROWS, 2 * reach / max(1, len(links) - 1))
            # straight down where there is room; what the cell hangs on comes first
            wishes = [
                (
                    min(max(self._from(link) - self.centres[node], -reach), reach),
                    _HANGING if main.get(node) is link else 1.0,
                )
                for link in links
            ]
            places = nearest(wishes, [step] * (len(links) - 1))
            for index, (link, right) in enumerate(zip(links, places, strict=True)):
                # none beyond the cell, and room left for those on either side
                right = min(
                    max(right, index * step - reach), reach - (len(links) - 1 - index) * step
                )
                arrivals[node, link.net] = cell.ends.get(link.net, right)
        return arrivals

    def _from(self, link: Link) -> float:
        return self.centres[link.upper] + _start(self.rows, self.cells, link.upper, link.net)

    def _leaving(self, link: Link, column: Column, corners: Sequence[Point]) -> Point:
        """Return where a link leaves its upper end: of a joint the head of its row, since it passes through."""
        x = self._from(link) + column.right
        if self.rows.is_joint(link.upper):
            return x, column.tops[self.number[link.upper]]
        cell = self.cells[link.upper]
        return x, corners[link.upper][1] + cell.height + cell.tag

    def _arriving(
        self,
        link: Link,
        column: Column,
        corners: Sequence[Point],
        arrivals: dict[tuple[int, int], float],
    ) -> Point:
        x = self.centres[link.lower] + column.right
        if self.rows.is_joint(link.lower):
            return x, column.tops[self.number[link.lower]]
        return x + arrivals[link.lower, link.net], corners[link.lower][1]

    def _pointed(self, node: int) -> bool:
        return not self.rows.is_joint(node) and self.cells[node].pointed

    def _curve(
        self,
        link: Link,
        column: Column,
        corners: Sequence[Point],
        arrivals: dict[tuple[int, int], float],
    ) -> Curve:
        start = self._leaving(link, column, corners)
        end = self._arriving(link, column, corners, arrivals)
        upper, lower = self.number[link.upper], self.number[link.lower]
        arrow = self._pointed(link.lower)
        foot = column.tops[upper] + self.heights[upper]
        # an arrow points down, so the line has to be straight before it
        head = column.tops[lower] - (2 * ARROW if arrow else 0.0)
        return Curve(start, (foot, max(foot, head)), end, arrow)

    def _turns(
        self,
        column: Column,
        following: Column,
        links: list[Link],
        corners: Sequence[Point],
        arrivals: dict[tuple[int, int], float],
        lines: dict[int, list[Curve | Turn]],
    ) -> None:
        # the rightmost line takes the inner lane: so none crosses another
        links.sort(key=self._from, reverse=True)
        for lane, link in enumerate(links):
            start = self._leaving(link, column, corners)
            end = self._arriving(link, following, corners, arrivals)
            points = turn(start, end, column, following, lane, len(links))
            lines.setdefault(link.net, []).append(Turn(points, self._pointed(link.lower)))
