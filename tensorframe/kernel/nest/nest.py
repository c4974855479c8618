"""Loop interchange and loop coalescing: the loops of a space in the order of memory, neighbours merged where possible.

Everything that follows the loops is an `Access`: a position that is linear in the loop indices. Elements of operands
have one, and so have generated values such as arange.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import inf, prod

from tensorframe.graph.space import Map, Space
from tensorframe.kernel.ir.order import inner_loops
from tensorframe.quick_dataclasses import dataclass, field

Steps = tuple[int, ...]

# iterations of a loop from which it is worth running along
_ROW = 16


@dataclass(frozen=True, slots=True)
class Access:
    """`start` plus the sum of step * index over the loop axes, in elements."""

    start: int
    steps: Steps

    def fills(self, sizes: Sequence[int]) -> bool:
        """Whether every iteration has an element of its own."""
        return all(step or size == 1 for step, size in zip(self.steps, sizes, strict=True))


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops from the outermost to the innermost: those that are kept, then those that are reduced."""

    kept: tuple[int, ...]  # sizes
    reduced: tuple[int, ...]
    accesses: dict[Hashable, Access]  # steps: along the kept loops, then along the reduced ones
    order: tuple[int, ...]  # the axes of the space, outermost first, before any were merged
    reduced_inside: bool  # whether operands are contiguous along a reduced axis
    inner: int = 1  # how many of the last reduced loops run over the inner axes of an ordered sum: kernel/ir/order.py
    # (value made of pieces, its axis) -> the position on that axis; the loop it follows is never merged with others
    pieces: dict[Hashable, Access] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How often each loop runs."""
        return self.kept + self.reduced

    @property
    def rows(self) -> int:
        """How many iterations the kept loops have."""
        return prod(self.kept)

    @property
    def row_length(self) -> int:
        """How many iterations the reduced loops have."""
        return prod(self.reduced)

    @property
    def outer(self) -> range:
        """The loops over the outer axes of ordered sums."""
        return range(len(self.kept), len(self.sizes) - self.inner)

    def nearest_outer(self) -> int:
        """Return the loop over outer axes of ordered sums that memory is along, or nearest to."""
        accesses = self.accesses.values()
        nearest = self.outer[0]
        for loop in self.outer[1:]:
            if _closer(loop, nearest, accesses):
                nearest = loop
        return nearest

    def outer_is_nearer(self) -> bool:
        """Whether memory is along an outer axis of ordered sums, and not along any inner one."""
        if not self.outer or self.sizes[self.nearest_outer()] < _ROW or self.pieces:
            return False
        inner = range(self.outer.stop, len(self.sizes))
        nearest = self.nearest_outer()
        return not any(_closer(loop, nearest, self.accesses.values()) for loop in inner)

    def with_outer_kept(self) -> tuple[Nest, list[int]]:
        """Return the nest of the sums over the inner axes alone, and which of its kept loops are the outer ones.

        These come last, the one along memory innermost.
        """
        nearest = self.nearest_outer()
        outer = [*[loop for loop in self.outer if loop != nearest], nearest]
        kept = [*range(len(self.kept)), *outer]
        loops = [*kept, *range(self.outer.stop, len(self.sizes))]
        accesses = {
            key: Access(access.start, tuple([access.steps[loop] for loop in loops]))
            for key, access in self.accesses.items()
        }
        nest = replace(
            self,
            kept=tuple([self.sizes[loop] for loop in kept]),
            reduced=self.sizes[self.outer.stop :],
            accesses=accesses,
            reduced_inside=False,
        )
        return nest, [kept.index(loop) for loop in self.outer]


def linear(positions: Map, strides: Sequence[int], space: Space) -> Access:
    """Return the access of an operand with these strides whose axes are at these positions."""
    start = 0
    steps = [0] * len(space.sizes)
    for position, stride in zip(positions, strides, strict=True):
        start += position.start * stride
        for axis, step in position.terms:
            steps[axis] += step * stride
    return Access(start, tuple(steps))


def memory_order(space: Space, accesses: Sequence[Access]) -> tuple[int, ...]:
    """Return the axes of the space in the order of memory that most operands have, the largest stride first."""
    orders = [_order(access) for access in accesses if access.fills(space.sizes)]
    if orders:
        return Counter(orders).most_common(1)[0][0]
    return tuple(range(len(space.sizes)))


def _order(access: Access) -> tuple[int, ...]:
    return tuple(sorted(range(len(access.steps)), key=lambda axis: -abs(access.steps[axis])))


def arrange(
    space: Space,
    accesses: dict[Hashable, Access],
    order: tuple[int, ...],
    pieces: dict[Hashable, Access],
    *,
    ordered: bool = False,
    numbered: bool = False,
) -> Nest:
    """Return the nest of a space with loops in this order; each class of axes stays together.

    The loops of `ordered` reductions keep the order that axes have in the shape, the inner ones apart from the others.
    Where elements are `numbered` across all axes, they are so only if memory is not along both.
    """
    reduced = [axis for axis in order if axis in space.reduced]
    nearest = reduced[-1:]
    kept = [axis for axis in order if axis not in space.reduced]
    together = [*accesses.values(), *pieces.values()]
    kept_groups = _merged(kept, space, together)
    if ordered:
        reduced = list(space.reduced)
        count = inner_loops([space.sizes[axis] for axis in reduced], space.lengths)
        outer, inside = reduced[: len(reduced) - count], reduced[len(reduced) - count :]
        inner_groups = _merged(inside, space, together)
        reduced_groups = [*_merged(outer, space, together), *inner_groups]
        inner = len(inner_groups)
        if numbered and len(merged := _merged(reduced, space, together)) < len(reduced_groups):
            reduced_groups, inner = merged, len(merged)  # one loop runs along axes of both kinds
    else:
        reduced_groups, inner = _merged(reduced, space, together), 1
    innermost = [group[-1] for group in kept_groups + reduced_groups]
    sizes = [prod([space.sizes[axis] for axis in group]) for group in kept_groups + reduced_groups]
    count = len(kept_groups)
    return Nest(
        tuple(sizes[:count]),
        tuple(sizes[count:]),
        _along(accesses, innermost),
        tuple(kept + reduced),
        bool(nearest) and (not kept or _closer(nearest[0], kept[-1], accesses.values())),
        inner,
        _along(pieces, innermost),
    )


def _along(accesses: dict[Hashable, Access], loops: Sequence[int]) -> dict[Hashable, Access]:
    return {
        key: Access(access.start, tuple([access.steps[axis] for axis in loops]))
        for key, access in accesses.items()
    }


def _merged(axes: list[int], space: Space, accesses: Sequence[Access]) -> list[list[int]]:
    """Return neighbouring axes in groups that one loop can run along."""
    groups: list[list[int]] = []
    for axis in axes:
        size = space.sizes[axis]
        if groups and all(
            access.steps[groups[-1][-1]] == access.steps[axis] * size for access in accesses
        ):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups


def _closer(axis: int, other: int, accesses: object) -> bool:
    """Whether most operands have smaller steps along one axis than along the other."""
    votes = 0
    for access in accesses:  # type: ignore[attr-defined]
        steps = [abs(access.steps[loop]) or inf for loop in (axis, other)]
        if steps[0] != steps[1] and inf not in steps:
            votes += 1 if steps[0] < steps[1] else -1
    return votes >= 0
