"""What runs inside a task: a region, by the kernels of the cpu, on blocks that are NumPy arrays.

Nothing here knows of graphs or schedulers. A call is pickled with each task, so it is small: regions travel as ops by
name, and each process compiles a region once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.dask.blocks import Restricted, bytes_of, restricted
from tensorframe.backends.dask.grids import Span
from tensorframe.backends.dask.pieces import pieces
from tensorframe.backends.dask.programs import (
    Alike,
    by_one_thread,
    compiled,
    elementwise,
    of_one_thread,
    run_region,
    scratch,
)
from tensorframe.backends.dask.windows import joined, shown, windows
from tensorframe.backends.numpy.creation import generate
from tensorframe.graph.region import Region, RegionOp
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.schedule.blocks import Block, extents


class Memo(dict[Any, Any]):
    """What the tasks of a layer have found out, by the sizes of their blocks; it stays in the process where it is."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Memo, ()


class Target:
    """The array that the blocks of a result are parts of, where all tasks run in the process that made it."""

    __slots__ = ("array",)

    def __init__(self) -> None:
        self.array: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Target, ()

    def part(self, block: Block) -> Any:
        """Return where a block of whole lines belongs; None where it has memory of its own."""
        if self.array is None:
            return None
        ((low, high), *_) = block
        return self.array[low:high]


def without_loops(region: Region) -> Region:
    """Return a region as it travels: without what is found again where it runs, or belongs to this process."""
    return replace(region, site=None)


@dataclass(frozen=True, slots=True)
class NamedCall:
    """What a task calls, with the name of its layer, which errors carry to whoever waits."""

    name: str
    call: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        """Return what the call returns."""
        try:
            return self.call(*arguments)
        except Exception as error:
            error.key = self.name  # type: ignore[attr-defined]
            raise


@dataclass(frozen=True, slots=True)
class WholeCall:
    """One task that runs a region on all of its inputs: `grids` are their numbers of blocks, None for a number."""

    region: Region
    grids: tuple[tuple[int, ...] | None, ...]
    alone: bool = True

    def __call__(self, *parts: Any) -> Any:
        """Return the one output, or a tuple of them, of blocks in C order."""
        given = iter(parts)
        inputs = [next(given) if grid is None else joined(given, grid) for grid in self.grids]
        with by_one_thread(self.alone):
            program = compiled(self.region.key())
            with np.errstate(all="ignore"):
                made = program(inputs, (None,) * len(self.region.outputs))
            results = [owned(result) for result in made]
        return results[0] if len(results) == 1 else tuple(results)

    def scratch(self, *_: Any) -> int:
        """Return the bytes that it takes beside blocks: inputs of several are joined."""
        own = [
            bytes_of(self.region, number)
            for number, grid in enumerate(self.grids)
            if grid is not None and prod(grid) > 1
        ]
        return scratch(self.region.key()) + sum(own)


def owned(result: Any) -> Any:
    """Return a result as a block: an array that keeps no larger one alive, or a tuple of such."""
    if type(result) is tuple:
        return tuple([owned(part) for part in result])
    array = np.asarray(result)
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    return array.copy() if base.nbytes > array.nbytes else array


@dataclass(frozen=True, slots=True)
class BlockCall:
    """A task for each block of the results of a region, which have one grid; `numbers` are inputs that are no arrays.

    It is called with the interval of the block along each axis, the spans of blocks of each array, and these.
    """

    region: Region
    values: tuple[int, ...]
    """Of which values of the region a block is made."""
    numbers: dict[int, Any]
    memo: Memo = field(default_factory=Memo, compare=False, repr=False)
    target: Target = field(default_factory=Target, compare=False, repr=False)
    """Of the one value, if it is set."""

    def __call__(self, block: Block, spans: tuple[tuple[Span, ...], ...], *parts: Any) -> Any:
        """Return a block of the value, or a tuple of one of each."""
        sizes = extents(block)
        if sizes not in self.memo:
            self.memo[sizes] = elementwise(self.region.key(), self.values, sizes)
        known: Alike | None = self.memo[sizes]
        target = self.target.part(block)
        if known is not None:
            outputs = self.moved(known, block, spans, parts, target)
        else:
            with by_one_thread(alone=False):
                outputs = self._run(block, spans, parts, target)
        if target is not None:
            if outputs[0] is not target:
                target[...] = outputs[0]
            return target
        results = [owned(result) for result in outputs]
        return results[0] if len(results) == 1 else tuple(results)

    def scratch(self, block: Block, spans: tuple[tuple[Span, ...], ...], *_: Any) -> int:
        """Return the bytes that a block takes beside those of operands and results: what lies in several is joined."""
        made = restricted(self.region, dict.fromkeys(self.values, block))
        return scratch(made.region.key()) + self.joined(made, spans)

    def joined(self, made: Restricted, spans: tuple[tuple[Span, ...], ...]) -> int:
        """Return the bytes of what is joined of several blocks of operands."""
        several = [
            number
            for number, own in self._by_number(spans).items()
            if prod([span.number for span in own]) > 1
        ]
        return sum(
            [
                prod(extents(own)) * self.region.dtype_of(number).itemsize
                for number, own in made.inputs
                if number in several
            ]
        )

    def moved(
        self,
        known: Alike,
        block: Block,
        spans: tuple[tuple[Span, ...], ...],
        parts: Sequence[Any],
        target: Any = None,
    ) -> Sequence[Any]:
        """Return what a program makes of a block which is known to be made as one at the origin is."""
        inputs = self._shown(self._moved(known.inputs, block), spans, parts)
        with of_one_thread(), np.errstate(all="ignore"):
            return known.program(inputs, (target,) * known.outputs)

    def _run(
        self, block: Block, spans: tuple[tuple[Span, ...], ...], parts: Sequence[Any], target: Any
    ) -> list[Any]:
        """Return what a block is made of: as a whole or, in pieces, what reads one block of each operand there."""
        cut = pieces(self.region, self.values[0], block, self._by_number(spans), parts)
        if len(cut) == 1:
            buffers = None if target is None else [target]
            return run_region(*self.prepared(block, spans, parts), buffers)
        results = [
            host_pool.empty(extents(block), self.region.dtype_of(value))
            if target is None
            else target
            for value in self.values
        ]
        ((first, _), *_) = block
        for piece in cut:
            ((low, high), *_) = piece
            lines = [result[low - first : high - first] for result in results]
            made = run_region(*self.prepared(piece, spans, parts), lines)
            for own, there in zip(made, lines, strict=True):
                if own is not there:
                    there[...] = own
        return results

    def _moved(
        self, inputs: Sequence[tuple[int, Block]], block: Block
    ) -> tuple[tuple[int, Block], ...]:
        """Return what a block needs of inputs, from what one at the origin does: axes of one place are repeated."""
        moved = []
        for number, needed in inputs:
            shape = self.region.shape_of(number)
            starts = block[len(block) - len(shape) :]
            own = tuple(
                [
                    (low, high) if size == 1 else (low + start, high + start)
                    for (low, high), size, (start, _) in zip(needed, shape, starts, strict=True)
                ]
            )
            moved.append((number, own))
        return tuple(moved)

    def prepared(
        self, block: Block, spans: tuple[tuple[Span, ...], ...], parts: Sequence[Any]
    ) -> tuple[Region, list[Any]]:
        """Return the region that makes a block, and its inputs."""
        made = restricted(self.region, dict.fromkeys(self.values, block))
        return made.region, self._inputs(made, spans, parts)

    def _inputs(
        self, made: Restricted, spans: tuple[tuple[Span, ...], ...], parts: Sequence[Any]
    ) -> list[Any]:
        """Return the inputs of a region that makes a block."""
        inputs = self._shown(made.inputs, spans, parts)
        return [*inputs, *[counted(entry, interval) for entry, (interval,) in made.ranges]]

    def _shown(
        self,
        needed: Sequence[tuple[int, Block]],
        spans: tuple[tuple[Span, ...], ...],
        parts: Sequence[Any],
    ) -> list[Any]:
        """Return what is needed of inputs, out of blocks of arrays."""
        given = windows(self._by_number(spans), needed, iter(parts))
        return [
            shown(*given[number], block) if number in given else self.numbers[number]
            for number, block in needed
        ]

    def _by_number(self, spans: tuple[tuple[Span, ...], ...]) -> dict[int, tuple[Span, ...]]:
        """Return the spans of blocks by the numbers of the inputs that these are of."""
        arrays = [number for number in range(len(self.region.inputs)) if number not in self.numbers]
        return dict(zip(arrays, spans, strict=True))


def counted(entry: RegionOp, interval: tuple[int, int]) -> Any:
    """Return a part of what an `arange` of a region counts, which kernels are given so that one serves all parts."""
    start, step, first, stride = entry.attrs
    low, high = interval
    if entry.dtype.kind in "iu":
        attrs = (start + step * (first + stride * low), step * stride, 0, 1)
    else:
        attrs = (start, step, first + stride * low, stride)
    return generate(replace(entry, attrs=attrs, shape=(high - low,)))
