"""Fourier transforms over axes as launches: one axis after the other, through two arrays of partial results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod, sqrt

from tensorframe.dtypes import real_of
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape, strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.fourier import Stages, build_stages
from tensorframe.kernel.groups.algorithms.fourier_ends import Array, Ends, Steps, Tables
from tensorframe.kernel.groups.algorithms.radices import (
    convolution_length,
    launches_of,
    radices_of,
)
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.nest.assemble import Built, Launch
from tensorframe.ops.fourier import IFFTN, IRFFTN, RFFTN


def build_transform(region: Region, source: Array, area: int, target: Target) -> Built:
    """Return the launches of a transform of an array; a group has memory for `area` elements, twice."""
    return _Transform(region, area, target).built(source)


def largest_array(shape: Shape, sizes: Shape, axes: Sequence[int]) -> int:
    """Return how many complex elements the largest array between two launches has at most."""
    resized = shape
    for size, axis in zip(sizes, axes, strict=True):
        resized = _with(resized, axis, size)
    largest = 0
    for points, axis in zip(sizes, axes, strict=True):
        size = points if radices_of(points) is not None else convolution_length(points)
        largest = max(largest, prod(_with(tuple(map(max, shape, resized)), axis, size)))
    return largest


class _Transform:
    """The launches of a transform while they are put together."""

    def __init__(self, region: Region, area: int, target: Target) -> None:
        (self._op,) = region.ops
        self._dtype = real_of(region.inputs[0][1])
        self._area = area
        self._target = target
        self._launches: list[Launch] = []
        self._tables = Tables(self._dtype)
        self._partials = [0, 0]

    def built(self, source: Array) -> Built:
        """Return all launches. Real values are transformed along the last axis first, and come of it last."""
        op = self._op
        sizes, axes, _norm = op.attrs
        order = list(zip(sizes, axes, strict=True))
        if op.op is RFFTN:
            order.reverse()
        for number, (points, axis) in enumerate(order):
            source = self._along(source, axis, points, last=number == len(order) - 1)
        layout = tuple(range(len(op.shape)))
        partials = tuple([(self._dtype, size, 0) for size in self._partials if size])
        return Built(tuple(self._launches), partials, (layout,), self._tables.all())

    def _along(self, source: Array, axis: int, points: int, *, last: bool) -> Array:
        """Add the launches that transform one axis, and return what they give."""
        op = self._op
        halved = op.op is RFFTN and source.real
        kept = points // 2 + 1 if halved else points
        if op.op is IRFFTN and last:
            source = replace(source, points=points)
        turn: Steps = ("swap",) if op.op in (IFFTN, IRFFTN) else ()
        end = (*turn, self._scale()) if last else turn
        if radices_of(points) is not None:
            return self._launched(source, axis, points, turn, end, kept, last=last)
        size = convolution_length(points)
        chirp = self._tables.table("chirp", points)
        spectrum = self._tables.table("chirp filter", points, size)
        if source.shape[axis] > points:
            source = replace(source, shape=_with(source.shape, axis, points))
        source = self._launched(source, axis, size, (*turn, chirp), (spectrum,), size)
        return self._launched(source, axis, size, ("swap",), ("swap", chirp, *end), kept, last=last)

    def _scale(self) -> float:
        sizes, _axes, norm = self._op.attrs
        inverse = self._op.op in (IFFTN, IRFFTN)
        if norm == "ortho":
            return 1.0 / sqrt(prod(sizes))
        return 1.0 / prod(sizes) if inverse == (norm == "backward") else 1.0

    def _launched(
        self,
        source: Array,
        axis: int,
        points: int,
        begin: Steps,
        end: Steps,
        kept: int,
        *,
        last: bool = False,
    ) -> Array:
        """Add the launches of transforms of so many points, of which the first `kept` are written."""
        launches = launches_of(points, self._area)
        before = 1
        for number, radices in enumerate(launches):
            final = number == len(launches) - 1
            shape = _with(source.shape, axis, kept if final else points)
            goal = self._output() if final and last else self._partial(shape)
            stages = Stages(
                prod(shape) // shape[axis],
                points,
                radices,
                before,
                self._dtype,
                _is_across(source, axis),
            )
            ends = Ends(self._tables, source, goal, axis)
            self._launches.append(
                build_stages(
                    stages,
                    self._area,
                    partial(ends.read, points, () if number else begin),
                    partial(ends.write, points, end if final else ()),
                    [self._roots(points), self._roots(stages.height)],
                    ends.numbers,
                    self._target,
                )
            )
            before *= stages.height
            source = goal
        return source

    def _output(self) -> Array:
        op = self._op
        scale = 1 if op.op is IRFFTN else 2
        steps = tuple([scale * step for step in strides_of(op.shape)])
        return Array("y0", op.shape, steps, real=scale == 1)

    def _partial(self, shape: Shape) -> Array:
        """Return the array of partial results that the next launch writes."""
        turn = len(self._launches) % 2
        self._partials[turn] = max(self._partials[turn], 2 * prod(shape))
        return Array(f"p{turn}", shape, tuple([2 * step for step in strides_of(shape)]))

    def _roots(self, length: int) -> ir.Buffer:
        return self._tables.buffer(self._tables.table("roots", length))


def _is_across(array: Array, axis: int) -> bool:
    """Whether neighbours of another axis are nearer in memory than those of this one."""
    return any(
        size > 1 and abs(step) < abs(array.strides[axis])
        for other, (size, step) in enumerate(zip(array.shape, array.strides, strict=True))
        if other != axis
    )


def _with(shape: Shape, axis: int, size: int) -> Shape:
    return (*shape[:axis], size, *shape[axis + 1 :])
