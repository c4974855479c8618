"""Groups of reductions: which of a region read the same elements along the same axes, and so share a task a block.

Variances are among them. `sum((x - m)**2)`, where m is the mean of x, begins when the mean is known, and would take a
second task for each block; blocks that leave their own mean, and squared distances from it, are joined to the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Any

from tensorframe.backends.dask.blocks import ancestors
from tensorframe.backends.dask.layers import is_number
from tensorframe.dtypes import FLOATING
from tensorframe.graph.op import Kind, Op, find
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.ops.formulas import VAR
from tensorframe.ops.reduction import SUM
from tensorframe.quick_tuples import NamedTuple

_MULTIPLY, _SUBTRACT, _DIVIDE = find("multiply"), find("subtract"), find("divide")
_REAL, _CONJ = find("real"), find("conj")


class Member(NamedTuple):
    """A reduction of a group: VAR for squared distances from the mean, which a region has as five ops or more."""

    value: int
    op: Op
    ends: tuple[int, ...] = ()
    """The elementwise ops that follow, with numbers alone: the task that joins a block runs them. The last is given."""

    @property
    def gives(self) -> int:
        """The value that the tasks make."""
        return self.ends[-1] if self.ends else self.value


class Group(NamedTuple):
    """Reductions of one operand along the same axes."""

    operand: int
    axes: tuple[int, ...]
    members: tuple[Member, ...]


def groups_in(region: Region, inputs: Mapping[int, Any]) -> dict[int, Group]:
    """Return the groups of a region by each sum or other reduction that is a member."""
    first = len(region.inputs)
    reductions: dict[tuple[int, tuple[int, ...]], list[Member]] = {}
    for value, entry in enumerate(region.ops, start=first):
        if entry.op.kind is not Kind.REDUCE:
            continue
        axes = tuple(sorted(entry.attrs[0]))
        source = _source_of_distances(region, value, axes, inputs)
        if source is not None and any(
            member.op is SUM for member in reductions.get((source, axes), ())
        ):
            reductions[source, axes].append(Member(value, VAR))
        else:
            reductions.setdefault((entry.inputs[0], axes), []).append(Member(value, entry.op))
    groups = [Group(operand, axes, tuple(own)) for (operand, axes), own in reductions.items()]
    return {member.value: group for group in groups for member in group.members}


def _source_of_distances(
    region: Region, value: int, axes: tuple[int, ...], inputs: Mapping[int, Any]
) -> int | None:
    """Return what a value is the sum of squared distances of from its mean; None if it is something else."""
    square = _operands(region, value, SUM)
    if square is None or region.dtype_of(value) not in FLOATING:
        return None
    product = _operands(region, square[0], _REAL) or square
    factors = _operands(region, product[0], _MULTIPLY)
    if factors is None:
        return None
    left, right = factors
    if left != right and _operands(region, right, _CONJ) != (left,):
        return None
    difference = _operands(region, left, _SUBTRACT)
    if difference is None:
        return None
    source, mean = difference
    quotient = _operands(region, mean, _DIVIDE)
    total = None if quotient is None else _operands(region, quotient[0], SUM)
    if quotient is None or total != (source,):
        return None
    attrs = region.ops[quotient[0] - len(region.inputs)].attrs
    shape = region.shape_of(source)
    divisor = inputs.get(quotient[1])
    count = prod([shape[axis] for axis in axes])
    same = tuple(sorted(attrs[0])) == axes and _keeps(shape, axes, region.shape_of(mean))
    return source if same and is_number(divisor) and divisor == count else None


def _operands(region: Region, value: int, op: Op) -> tuple[int, ...] | None:
    place = value - len(region.inputs)
    return region.ops[place].inputs if place >= 0 and region.ops[place].op is op else None


def _keeps(shape: Shape, axes: tuple[int, ...], mean: Shape) -> bool:
    """Whether the mean along axes is taken from the elements that it is of, and not along other axes."""
    kept = tuple([1 if axis in axes else size for axis, size in enumerate(shape)])
    padded = (*(1,) * (len(shape) - len(mean)), *mean)
    return padded == kept


def live(region: Region, group: Group, given: Mapping[int, Any]) -> Group:
    """Return the members of a group that are needed where squared distances need no mean, and what follows each."""
    values = {member.value for member in group.members}
    needed = ancestors(region, {*given, *values})
    made = [value for value in needed if value not in given and value not in values]
    users = _users(region, made)
    return group._replace(
        members=tuple(
            [
                member._replace(ends=_ends(region, member.value, users, given))
                for member in group.members
                if member.value in needed
            ]
        )
    )


def _users(region: Region, made: Collection[int]) -> dict[int, list[int]]:
    users: dict[int, list[int]] = {}
    first = len(region.inputs)
    for value in made:
        if value >= first:
            for source in set(region.ops[value - first].inputs):
                users.setdefault(source, []).append(value)
    return users


def _ends(
    region: Region, value: int, users: Mapping[int, Sequence[int]], given: Mapping[int, Any]
) -> tuple[int, ...]:
    """Return the elementwise ops, one after the other, that alone read a value, and numbers besides."""
    ends: list[int] = []
    here = value
    while here not in region.outputs and len(users.get(here, ())) == 1:
        (user,) = users[here]
        entry = region.ops[user - len(region.inputs)]
        others = [source for source in entry.inputs if source != here]
        if (
            entry.op.kind is not Kind.MAP
            or entry.op.parts != 1
            or entry.shape != region.shape_of(value)
            or not all(source in given and is_number(given[source]) for source in others)
        ):
            break
        ends.append(user)
        here = user
    return tuple(ends)
