"""Layout: where boxes, frames and wires of a diagram stand, top to bottom.

Two levels of the same layered drawing: frames are cells of the outer one, and each has rows of its own. The outer order
comes first, as it says in which order wires enter a frame; then the insides, which give frames their sizes; then the
outer coordinates. Own code since Graphviz is no package of Python's, and the one pure layout engine that is (grandalf)
knows neither frames nor wires with several ends; 500 nodes take a few tenths of a second.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tensorframe.notebook.diagrams.diagram import Diagram, Frame
from tensorframe.notebook.diagrams.layers import Net, Rows, ranks, rows_of, split_wide, uncross
from tensorframe.notebook.diagrams.measures import (
    HEADER,
    PADDING,
    TAG,
    box_size,
    code_width,
    header_width,
)
from tensorframe.notebook.diagrams.placing import Cell, Curve, Placed, Point, Turn, place

_ASPECT = 1.5  # the width of a large picture beside its height
_WIDEST = 1500.0  # of a row, unless the picture is large
_INNER_GAP = 20.0
_INNER_ASPECT = 1.2
_ENTRY = 10.0  # the room of a wire that enters a frame
_MARGIN = 12.0  # above and below boxes where no wire enters or leaves a frame


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle by its top left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(slots=True)
class Scene:
    """A diagram with coordinates: what there is to draw.

    `lines` are those of each wire of the diagram, `inner` those of them inside frames, `tags` the middles of labels.
    """

    width: float
    height: float
    boxes: dict[str, Area] = field(default_factory=dict)
    frames: dict[str, Area] = field(default_factory=dict)
    lines: list[list[Curve | Turn]] = field(default_factory=list)
    inner: list[list[Curve | Turn]] = field(default_factory=list)
    tags: list[list[Point]] = field(default_factory=list)


@dataclass(slots=True)
class _Inside:
    """What a frame holds, placed; `entries` and `exits` are the cells at which wires pass its border."""

    members: list[int]  # numbers of boxes, as of cells after the entries
    entries: list[int]  # numbers of wires
    exits: list[int]
    wires: list[int]  # of the nets, in order
    cells: list[Cell]
    placed: Placed
    width: float
    height: float
    left: float  # from the frame's border to what is inside
    top: float


def arrange(diagram: Diagram) -> Scene:
    """Return where everything of a diagram stands."""
    if not diagram.boxes:
        return Scene(0.0, 0.0)
    return _Level(diagram).scene()


class _Level:
    """The outer level: cells are frames, and boxes that are in none."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.number = {box.name: index for index, box in enumerate(diagram.boxes)}
        self.frames = {frame.name: frame for frame in diagram.frames}
        names = dict.fromkeys(box.frame or box.name for box in diagram.boxes)
        self.units = list(names)
        self.unit = {name: index for index, name in enumerate(self.units)}
        self.unit_of = {box.name: self.unit[box.frame or box.name] for box in diagram.boxes}
        # wires that leave their unit, each with the units that it goes to
        self.outer: dict[int, tuple[int, ...]] = {}
        # the wires that each box makes, and those that each unit has an end of
        self.made: dict[str, list[int]] = {box.name: [] for box in diagram.boxes}
        self.touching: list[list[int]] = [[] for _ in self.units]
        for index, wire in enumerate(diagram.wires):
            own = self.unit_of[wire.source]
            ends = dict.fromkeys([own, *[self.unit_of[target] for target in wire.targets]])
            self.made[wire.source].append(index)
            for unit in ends:
                self.touching[unit].append(index)
            if len(ends) > 1:
                self.outer[index] = tuple(list(ends)[1:])
        self.reached = {unit for targets in self.outer.values() for unit in targets}

    def scene(self) -> Scene:
        """Return the whole."""
        numbers = list(self.outer)
        nets = [
            Net(self.unit_of[self.diagram.wires[number].source], self.outer[number])
            for number in numbers
        ]
        rank = ranks(len(self.units), nets)
        sizes = [self._estimate(name) for name in self.units]
        area = sum(width * height for width, height in sizes)
        widest = max(_WIDEST, (_ASPECT * area) ** 0.5)
        rank = split_wide(rank, [width for width, _ in sizes], widest)
        rows = rows_of(rank, nets)
        uncross(rows)
        entering = self._entering(rows, numbers)
        insides = {
            self.unit[frame.name]: self._inside(frame, entering.get(self.unit[frame.name], []))
            for frame in self.diagram.frames
        }
        net_of = {wire: net for net, wire in enumerate(numbers)}
        cells = [self._cell(index, insides.get(index), net_of) for index in range(len(self.units))]
        placed = place(rows, cells, aspect=_ASPECT)
        return self._compose(placed, insides, cells, numbers)

    def _estimate(self, name: str) -> tuple[float, float]:
        """Return about how large a unit is, before anything is known of its inside."""
        if name not in self.frames:
            return box_size(self.diagram.boxes[self.number[name]])
        members = self.diagram.within(name)
        width = 130.0 * len(members) ** 0.4
        return max(width, header_width(self.frames[name])), 50.0 * len(members) ** 0.6

    def _entering(self, rows: Rows, numbers: Sequence[int]) -> dict[int, list[int]]:
        """Return the wires that enter each unit, in the order of where they come from."""
        place_of = {node: index for row in rows.rows for index, node in enumerate(row)}
        entering: dict[int, list[int]] = {}
        for link in sorted(rows.links, key=lambda link: place_of[link.upper]):
            if not rows.is_joint(link.lower):
                entering.setdefault(link.lower, []).append(numbers[link.net])
        return entering

    def _inside(self, frame: Frame, entries: list[int]) -> _Inside:
        """Return a frame with everything in it: wires that enter first, then boxes, then wires that leave."""
        wires = self.diagram.wires
        own = {box.name: None for box in self.diagram.within(frame.name)}
        members = [self.number[name] for name in own]
        exits = [number for name in own for number in self.made[name] if number in self.outer]
        first = len(entries)
        cell_of = {name: first + index for index, name in enumerate(own)}
        exit_of = {wire: first + len(own) + index for index, wire in enumerate(exits)}
        used = self.touching[self.unit[frame.name]]
        nets = []
        for wire in used:
            inner = [cell_of[target] for target in wires[wire].targets if target in own]
            if wire in exit_of:
                inner.append(exit_of[wire])
            source = wires[wire].source
            nets.append(
                Net(cell_of[source] if source in own else entries.index(wire), tuple(inner))
            )
        rows = _inner_rows(first + len(members) + len(exits), first, len(exits), nets)
        uncross(rows, keep_first=bool(entries))
        cells = [Cell(_ENTRY, 0.0, pointed=False) for _ in entries]
        net_of = {wire: net for net, wire in enumerate(used)}
        cells += [self._box_cell(number, net_of, unlabelled=exits) for number in members]
        labels = [code_width(wires[number].label) + 8 for number in exits]
        cells += [Cell(width, 0.0, pointed=False) for width in labels]
        placed = place(rows, cells, gap=_INNER_GAP, aspect=_INNER_ASPECT)
        width = max(placed.width + 2 * PADDING, header_width(frame))
        top = HEADER + (0.0 if entries else _MARGIN)
        height = top + placed.height + (0.0 if exits else _MARGIN)
        left = (width - placed.width) / 2
        return _Inside(members, entries, exits, used, cells, placed, width, height, left, top)

    def _box_cell(
        self, number: int, net_of: Mapping[int, int], *, unlabelled: Collection[int] = ()
    ) -> Cell:
        """Return the cell of a box, with a start for each wire that it makes and that is a net.

        Wires that leave a frame have their label there, so they are `unlabelled` in it.
        """
        box = self.diagram.boxes[number]
        width, height = box_size(box)
        cell = Cell(width, height)
        made = {
            net_of[number]: "" if number in unlabelled else self.diagram.wires[number].label
            for number in self.made[box.name]
            if number in net_of
        }
        _add_starts(cell, made)
        return cell

    def _cell(self, unit: int, inside: _Inside | None, net_of: dict[int, int]) -> Cell:
        name = self.units[unit]
        if inside is None:
            cell = self._box_cell(self.number[name], net_of)
        else:
            cell = Cell(inside.width, inside.height)
            for index, wire in enumerate(inside.entries):
                cell.ends[net_of[wire]] = _middle(inside, index) - inside.width / 2
            first = len(inside.entries) + len(inside.members)
            for index, wire in enumerate(inside.exits):
                cell.starts[net_of[wire]] = _middle(inside, first + index) - inside.width / 2
                if self.diagram.wires[wire].label:
                    cell.tag = TAG
            if len(inside.exits) == 1:
                # a label may stand out of a narrow frame, on both sides of its line
                (right,) = cell.starts.values()
                label = code_width(self.diagram.wires[inside.exits[0]].label)
                cell.room = label + 2 * abs(right)
        cell.free = unit not in self.reached
        return cell

    def _compose(
        self,
        placed: Placed,
        insides: dict[int, _Inside],
        cells: Sequence[Cell],
        numbers: Sequence[int],
    ) -> Scene:
        """Return the scene: the outer level, and the insides of frames where these stand."""
        scene = Scene(placed.width, placed.height)
        scene.lines = [[] for _ in self.diagram.wires]
        scene.inner = [[] for _ in self.diagram.wires]
        scene.tags = [[] for _ in self.diagram.wires]
        for net, wire in enumerate(numbers):
            scene.lines[wire] += placed.lines.get(net, [])
        for unit, (x, y) in enumerate(placed.corners):
            cell = cells[unit]
            area = Area(x, y, cell.width, cell.height)
            if unit in insides:
                scene.frames[self.units[unit]] = area
                self._add_inside(scene, insides[unit], x, y)
            else:
                scene.boxes[self.units[unit]] = area
            self._add_tags(scene, cell, area, numbers)
        return scene

    def _add_inside(self, scene: Scene, inside: _Inside, x: float, y: float) -> None:
        right, down = x + inside.left, y + inside.top
        first = len(inside.entries)
        for index, number in enumerate(inside.members):
            cell = inside.cells[first + index]
            left, top = inside.placed.corners[first + index]
            area = Area(left + right, top + down, cell.width, cell.height)
            scene.boxes[self.diagram.boxes[number].name] = area
            own = [-1 if wire in inside.exits else wire for wire in inside.wires]
            self._add_tags(scene, cell, area, own)
        for net, wire in enumerate(inside.wires):
            lines = inside.placed.lines.get(net, [])
            scene.inner[wire] += [_moved(line, right, down) for line in lines]

    def _add_tags(self, scene: Scene, cell: Cell, area: Area, wires: Sequence[int]) -> None:
        for net, right in cell.starts.items():
            if wires[net] >= 0 and self.diagram.wires[wires[net]].label:
                centre = area.x + area.width / 2 + right
                scene.tags[wires[net]].append((centre, area.y + area.height + TAG / 2))


def _inner_rows(count: int, entries: int, exits: int, nets: Sequence[Net]) -> Rows:
    """Return the rows of a frame: entries all at the top, exits all at the foot."""
    rank = ranks(count, nets)
    if entries:
        # what nothing enters, such as an arange, is as near to its users as before
        lowest = min(rank[entries : count - exits])
        rank = [row + (1 if lowest == 0 else 0) for row in rank]
    last = max(rank[entries : count - exits]) + 1
    rank = [0 if index < entries else row for index, row in enumerate(rank)]
    rank = [last if index >= count - exits else row for index, row in enumerate(rank)]
    return rows_of(rank, nets)


def _add_starts(cell: Cell, made: dict[int, str]) -> None:
    """Give each wire that a cell makes its place under the cell: side by side, as wide as their labels."""
    labels = [label for label in made.values() if label]
    total = sum(code_width(label) + 8.0 for label in labels)
    # lines have to begin under the cell, labels of one line only need room
    cell.width = max(cell.width, total) if labels[1:] else cell.width
    cell.room = total
    cell.tag = TAG if labels else 0.0
    x = -total / 2
    middle = 0.0
    for net, label in made.items():
        if label:
            middle = x + (code_width(label) + 8.0) / 2
            x += code_width(label) + 8.0
        cell.starts[net] = middle  # without a label, the same value as before takes another way


def _middle(inside: _Inside, cell: int) -> float:
    """Return where a cell of a frame has its centre, from the frame's border."""
    return inside.left + inside.placed.corners[cell][0] + inside.cells[cell].width / 2


def _moved(line: Curve | Turn, right: float, down: float) -> Curve | Turn:
    if isinstance(line, Turn):
        return Turn(tuple([(x + right, y + down) for x, y in line.points]), line.arrow)
    (x0, y0), (top, foot), (x1, y1) = line.start, line.bends, line.end
    start, end = (x0 + right, y0 + down), (x1 + right, y1 + down)
    return Curve(start, (top + down, foot + down), end, line.arrow)
