"""The space of loops that a group of ops shares, and where in it each op's elements are.

Every value of the group has a map: for each of its axes, the position as an affine function of the loop indices.
`kernel/spaces/follow.py` finds them.
"""

from __future__ import annotations

from collections.abc import Hashable

from tensorframe.graph.shape import Shape
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.quick_tuples import NamedTuple


class Affine(NamedTuple):
    """`start` plus the sum of step * index over (loop axis, step) terms; no axis occurs twice."""

    start: int = 0
    terms: tuple[tuple[int, int], ...] = ()

    def stepped(self, start: int, step: int) -> Affine:
        """Return start + step * self."""
        return Affine(
            start + step * self.start, tuple([(axis, step * by) for axis, by in self.terms])
        )

    def plus(self, other: Affine) -> Affine:
        """Return the sum of two."""
        steps = dict(self.terms)
        for axis, step in other.terms:
            steps[axis] = steps.get(axis, 0) + step
        return Affine(self.start + other.start, tuple(sorted(steps.items())))

    def on_axis(self) -> int | None:
        """Return the loop axis whose index this is, exactly, or None."""
        if self.start == 0 and len(self.terms) == 1 and self.terms[0][1] == 1:
            return self.terms[0][0]
        return None


ORIGIN = Affine()
Map = tuple[Affine, ...]


@dataclass(slots=True)
class Space:
    """Loop axes by number, with their sizes, and the map of each value.

    Reductions run over the axes in `reduced`, which are as long as `lengths` before any is split. `cuts` are the axes
    that pieces divide, and where.

    Values are named by anything hashable: nodes while groups grow, positions in a region afterwards.
    """

    sizes: list[int] = field(default_factory=list)
    reduced: tuple[int, ...] = ()
    maps: dict[Hashable, Map] = field(default_factory=dict)
    cuts: dict[int, frozenset[int]] = field(default_factory=dict)
    lengths: tuple[int, ...] = ()

    @classmethod
    def of_result(cls, value: Hashable, shape: Shape) -> Space:
        """Return the space of a group whose last op gives `shape`: a loop for each axis."""
        space = cls()
        space.maps[value] = tuple([space.axis(size) for size in shape])
        return space

    def axis(self, size: int) -> Affine:
        """Return the position along a new loop axis; that of a single element needs no loop."""
        if size == 1:
            return ORIGIN
        self.sizes.append(size)
        return Affine(0, ((len(self.sizes) - 1, 1),))

    def split(self, axis: int, inner: int) -> None:
        """Make two loops of one: its index becomes inner * (its own, now shorter) + (that of a new axis)."""
        new = len(self.sizes)
        self.sizes.append(inner)
        self.sizes[axis] //= inner
        if axis in self.reduced:
            behind = self.reduced.index(axis) + 1
            self.reduced = (*self.reduced[:behind], new, *self.reduced[behind:])
        for value, positions in self.maps.items():
            self.maps[value] = tuple([_split(position, axis, new, inner) for position in positions])

    @property
    def kept(self) -> tuple[int, ...]:
        """The axes that reductions leave."""
        return tuple([axis for axis in range(len(self.sizes)) if axis not in self.reduced])

    def covers(self, value: Hashable, shape: Shape) -> bool:
        """Whether the loops meet every element of a value."""
        return all(
            self._covers(position, size)
            for position, size in zip(self.maps[value], shape, strict=True)
        )

    def _covers(self, position: Affine, size: int) -> bool:
        count = 1
        for axis, step in sorted(position.terms, key=lambda term: term[1]):
            if step != count:
                return False
            count *= self.sizes[axis]
        return position.start == 0 and count == size

    def copy(self) -> Space:
        """Return a space that changes apart from this one."""
        return Space(list(self.sizes), self.reduced, dict(self.maps), dict(self.cuts), self.lengths)

    def stays_inside(self, value: Hashable, shape: Shape) -> bool:
        """Whether a value has an element wherever the loops are, and not in a piece of them only."""
        return all(
            self.is_inside(position, size)
            for position, size in zip(self.maps[value], shape, strict=True)
        )

    def is_inside(self, position: Affine, size: int) -> bool:
        """Whether a position is on an axis of this size wherever the loops are."""
        low = high = position.start
        for axis, step in position.terms:
            end = step * (self.sizes[axis] - 1)
            if end < 0:
                low += end
            else:
                high += end
        return low >= 0 and high < size

    def axes_of(self, value: Hashable) -> set[int]:
        """Return the loop axes on which a value differs."""
        return {axis for position in self.maps[value] for axis, _ in position.terms}


def _split(position: Affine, axis: int, new: int, inner: int) -> Affine:
    steps = dict(position.terms)
    step = steps.get(axis)
    if step is None:
        return position
    steps[axis], steps[new] = step * inner, step
    return Affine(position.start, tuple(sorted(steps.items())))
