"""Joining spaces: two groups of ops that read the same elements in the same loops can take turns in one."""

from __future__ import annotations

from collections.abc import Iterable

from tensorframe.graph.space import Affine, Map, Space


def joined(
    left: Space, other: Space, shared: Iterable[tuple[Map, Map]], *, rows: bool = False
) -> Space | None:
    """Return the space of the values of both, in the axes of one of them; None if their loops differ.

    `shared` are maps in each of what is to meet in the loops: a pair that names all of them tells which are the same.
    With `rows`, loops without reductions may be those around the other's reductions.
    """
    tried: list[dict[int, int]] = []
    for here, there in shared:
        axes = _same_axes(left, other, here, there)
        if axes is None or axes in tried:
            continue
        tried.append(axes)
        together = _together(left, other, axes, rows=rows)
        if together is None and rows:
            turned = {here: there for there, here in axes.items()}
            together = _together(other, left, turned, rows=rows)
        if together is not None:
            return together
    return None


def _together(left: Space, other: Space, axes: dict[int, int], *, rows: bool) -> Space | None:
    """Return the space of both where `axes` of `other` are those of `left`, if every value has one place then."""
    if len(axes) < len(other.sizes):
        return None
    rest = set(range(len(left.sizes))) - set(axes.values())
    if rest and not (rows and rest <= set(left.reduced)):
        return None
    reduced = tuple([axes[axis] for axis in other.reduced])
    if left.reduced and reduced and (reduced, other.lengths) != (left.reduced, left.lengths):
        return None
    maps = dict(left.maps)
    for value, positions in other.maps.items():
        moved = tuple([_moved(position, axes) for position in positions])
        if maps.setdefault(value, moved) != moved:
            return None
    space = left.copy()
    space.maps = maps
    if not left.reduced:
        space.reduced, space.lengths = reduced, other.lengths
    for axis, places in other.cuts.items():
        space.cuts[axes[axis]] = space.cuts.get(axes[axis], frozenset()) | places
    return space


def _same_axes(space: Space, other: Space, first: Map, second: Map) -> dict[int, int] | None:
    """Return the axis of `space` for each axis of `other` along which a value differs that has these maps."""
    axes: dict[int, int] = {}
    for left, right in zip(first, second, strict=True):
        here, there = left.on_axis(), right.on_axis()
        if here is None or there is None:
            if left.terms or right.terms:
                return None
            continue
        axes[there] = here
    apart = len(axes) == len(set(axes.values()))
    same = apart and all(space.sizes[axes[axis]] == other.sizes[axis] for axis in axes)
    return axes if same else None


def _moved(position: Affine, axes: dict[int, int]) -> Affine:
    return Affine(
        position.start, tuple(sorted((axes[axis], step) for axis, step in position.terms))
    )
