"""Convolutions by vectors of channels: rows of the product are windows.

The kernel is turned first, and all blocks read it. Where it is large, and windows are few, blocks have some channels of
the result each instead, and turn their part of the kernel, some terms at a time, in the second-level cache; then they
share the padded input. What that takes is recorded once for operands of the same sizes and strides.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import ceil, prod
from typing import Any, NamedTuple

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.llvm.convolution.padding import Memory, flat
from tensorframe.backends.llvm.convolution.plan import BLOCK, Operands, Plan, batch_and_rows, boxes
from tensorframe.backends.llvm.convolution.script import (
    OPERANDS,
    Recorder,
    Script,
    Shared,
    stand_in,
)
from tensorframe.backends.llvm.indirect_product import (
    Extents,
    Matrices,
    copy,
    functions,
    multiply,
    offsets,
    pairs,
    transpose,
)
from tensorframe.backends.numpy.convolution import Store
from tensorframe.backends.numpy.grid import Index
from tensorframe.backends.numpy.padding import slices
from tensorframe.backends.numpy.product import extents
from tensorframe.backends.numpy.threads import share_out
from tensorframe.codegen.llvm.indirect_product import TERMS
from tensorframe.graph.shape import Shape
from tensorframe.machine import spare_line

Array = Any

# Numbers of the operands of scripts.
_INPUT, _KERNEL, _SHARED, _RESULT = range(OPERANDS, OPERANDS + 4)
# Channels of a kernel that are turned in one call.
_CHANNELS = 64
# Windows up to which a block may have all of them, parts that the result's channels are cut into then, and the fewest
# channels of a part.
_FEW, _PARTS, _FEWEST = 1024, 8, 64


class ByChannels:
    """A convolution by vectors of channels."""

    in_parts = False

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.shape, self.dtype = plan.shape, plan.dtype
        self.blocks = _recorded(plan.operands, None).blocks

    def array(self, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""
        in_memory = out.swapaxes(0, 1) if out is not None and self._plan.is_turned else out
        fits = in_memory is not None and in_memory.flags.c_contiguous
        result: Array = out if fits else self._empty(self.shape)
        recorded = _recorded(self._plan.operands, result.strides)
        operands = [*self._prepared(recorded), result]
        recorded.each.run(operands, long=self._plan.is_long(len(self.blocks)))
        if out is not None and result is not out:
            copy(result, out)
            return out
        return result

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""
        recorded = _recorded(self._plan.operands, None)
        prepared, script = self._prepared(recorded), recorded.each
        most = max([prod(extents(index)) for index in self.blocks])

        def work(mine: Iterator[int]) -> None:
            memory = script.memory()
            (block,) = host_pool.scratch(most, [self.dtype])
            with config.override(threads=1):  # the others have blocks of their own
                for number in mine:
                    script.run_block(number, [*prepared, block], memory)
                    index = self.blocks[number]
                    store(index, _block_in(block, extents(index), turned=self._plan.is_turned))

        share_out(range(len(self.blocks)), work, long=self._plan.is_long(len(self.blocks)))

    def _prepared(self, recorded: Recorded) -> list[Array]:
        """Make what all blocks read; return the operands but for the result."""
        (shared,) = host_pool.scratch(recorded.shared, [self.dtype])
        operands = [*self._plan.given, shared]
        recorded.before.run(operands)
        return operands

    def _empty(self, shape: Shape) -> Array:
        batch, out, *sizes = shape
        if not self._plan.is_turned:
            return host_pool.empty(shape, self.dtype)
        return host_pool.empty((out, batch, *sizes), self.dtype).swapaxes(0, 1)


def _block_in(memory: Array, shape: Shape, *, turned: bool) -> Array:
    """Return a block in memory that has room for it: its channels outside, where the kernel is turned."""
    if not turned:
        return memory[: prod(shape)].reshape(shape)
    batch, out, *sizes = shape
    return memory[: prod(shape)].reshape((out, batch, *sizes)).swapaxes(0, 1)


class Recorded(NamedTuple):
    """The blocks of convolutions, what makes them, and before them what all of these read: so many elements."""

    blocks: list[Index]
    before: Script
    shared: int
    each: Script


@lru_cache(maxsize=256)
def _recorded(operands: Operands, strides: Shape | None) -> Recorded:
    """Return what makes a result of these strides, or each block in memory of its own."""
    x = stand_in(_INPUT, operands.shape, operands.strides, operands.dtype)
    weight = stand_in(_KERNEL, operands.kernel, operands.kernel_strides, operands.dtype)
    plan = Plan(x, weight, operands.geometry, operands.groups)
    way = _InParts(plan) if _InParts.takes(plan) else _Turned(plan)
    return way.recorded(strides)


class _Way:
    """What both ways have in common."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lanes = functions(plan.dtype).lanes
        self._shared = Shared(_SHARED, plan.dtype)

    def recorded(self, strides: Shape | None) -> Recorded:
        """Return what makes blocks of a result."""
        blocks = self.cut()
        self.prepare()
        self._shared.end_block()
        recorder, size = Recorder(self._plan.dtype), self._plan.dtype.itemsize
        for index in blocks:
            shape = extents(index)
            if strides is None:
                dense = stand_in(_RESULT, (prod(shape),), (size,), self._plan.dtype)
                target = _block_in(dense, shape, turned=self._plan.is_turned)
            else:
                target = stand_in(_RESULT, self._plan.shape, strides, self._plan.dtype)[index]
            self.block(index, target, recorder)
            recorder.end_block()
        return Recorded(blocks, self._shared.script(), self._shared.count, recorder.script())

    def cut(self) -> list[Index]:
        """Return the blocks."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Make what all blocks read."""
        raise NotImplementedError

    def block(self, index: Index, target: Array, memory: Recorder) -> None:
        """Make a block."""
        raise NotImplementedError

    def _across(self, channels: int) -> int:
        """Return the elements from one row of a turned kernel to the next."""
        width = self._vectors(channels) * self._lanes
        return width + spare_line(width, self._plan.dtype.itemsize)

    def _vectors(self, channels: int) -> int:
        return ceil(channels / self._lanes)

    def _turn(self, kernel: Array, target: Array, memory: Memory) -> None:
        """Write a kernel's channels and positions as rows of a matrix, whose columns are channels of the result."""
        out, inner, *positions = kernel.shape
        count, size = prod(positions), self._plan.dtype.itemsize
        by_out, by_channel = kernel.strides[:2]
        if not flat(kernel, 2):
            apart = target.reshape((inner, *positions, target.shape[-1]))
            copy(kernel.transpose((*range(1, kernel.ndim), 0)), apart[..., :out], memory.call)
            return
        matrices = Matrices(out, count, by_out, target.strides[0])
        if by_channel == count * size:  # one matrix
            matrices = matrices._replace(columns=count * inner)
        else:
            on = count * target.strides[0]
            matrices = matrices._replace(times=inner, on=by_channel, target_on=on)
        transpose(kernel, target, matrices, memory.call)

    def _multiply(
        self,
        x: Array,
        turned: Array,
        scratch: Array,
        counts: list[int],
        *,
        resumed: bool,
        memory: Recorder,
    ) -> None:
        """Multiply windows on some channels, so many along the batch and each spatial axis, with a turned kernel."""
        plan = self._plan
        by_batch, by_channel, *steps = x.strides
        moved = [step * by for step, by in zip(steps, plan.geometry.stride, strict=True)]
        rows = offsets(tuple(zip(counts, (by_batch, *moved), strict=True)))
        inner = [step * apart for step, apart in zip(steps, plan.geometry.dilation, strict=True)]
        left: Extents = ((x.shape[1], by_channel), *zip(plan.kernel, inner, strict=True))
        first, right = self._terms_of(turned, x.shape[1])
        vectors = scratch.shape[1] // self._lanes
        terms = pairs(left, right)
        multiply(
            x,
            first,
            scratch,
            rows,
            terms,
            vectors,
            scratch.strides[0],
            resumed=resumed,
            call=memory.call,
        )

    def _terms_of(self, turned: Array, channels: int) -> tuple[Array, Extents]:
        """Return where the terms of a turned kernel are, in the order of the kernel: from its first one on."""
        first, step, extents_ = 0, turned.strides[0], []
        for size, is_around in zip(self._plan.kernel[::-1], self._plan.around[::-1], strict=True):
            first += is_around * (size - 1) * step
            extents_.append((size, -step if is_around else step))
            step *= size
        return turned[first // turned.strides[0] :], ((channels, step), *extents_[::-1])

    def _turn_back(self, scratch: Array, target: Array, channels: int, memory: Recorder) -> None:
        times = 1 if self._plan.is_turned else len(target)
        own, pitch = len(scratch) // times, scratch.strides[0]
        matrices = Matrices(own, channels, pitch, target.strides[1], times)
        transpose(
            scratch,
            target,
            matrices._replace(on=own * pitch, target_on=target.strides[0]),
            memory.call,
        )


class _Turned(_Way):
    """All blocks read the turned kernel: rows of it are channels and positions, columns channels of the result."""

    def cut(self) -> list[Index]:
        plan = self._plan
        batch, _, first, *rest = plan.shape
        outs = [slice(g * plan.channels, (g + 1) * plan.channels) for g in range(plan.groups)]
        whole = [[slice(0, size)] for size in rest]
        if plan.is_turned:
            examples = ceil(batch / plan.enough)
            return boxes(slices(batch, examples), outs, [slice(0, first)], *whole)
        row = prod(rest) * (self._vectors(plan.channels) * self._lanes + plan.channels)
        row += plan.inner * plan.x[0, 0, 0].size * plan.geometry.stride[0]
        rows = max(BLOCK // (row * plan.dtype.itemsize), 1)
        return boxes(*batch_and_rows(plan, rows, outs), *whole)

    def prepare(self) -> None:
        plan, across = self._plan, self._across(self._plan.channels)
        count = prod(plan.kernel)
        terms = plan.inner * count
        whole = self._shared.take("turned", plan.groups * terms * across)
        self._kernel = whole.reshape((plan.groups, terms, across))
        for group in range(plan.groups):
            for part in slices(plan.inner, _CHANNELS):
                target = self._kernel[group, part.start * count : part.stop * count]
                self._turn(plan.upright[group][:, part], target, self._shared)
                self._shared.end_block()

    def block(self, index: Index, target: Array, memory: Recorder) -> None:
        plan = self._plan
        batch, out, first, *_ = index
        group = out.start // plan.channels
        channels = slice(group * plan.inner, (group + 1) * plan.inner)
        x = plan.padded(batch, channels, first, memory)
        counts = [len_ for axis, len_ in enumerate(extents(index)) if axis != 1]
        width = self._vectors(plan.channels) * self._lanes
        scratch = memory.take("result", prod(counts) * width).reshape((-1, width))
        self._multiply(x, self._kernel[group], scratch, counts, resumed=False, memory=memory)
        self._turn_back(scratch, target, plan.channels, memory)


class _InParts(_Way):
    """Blocks turn the kernel of their channels, some terms at a time, and read the padded input of all windows."""

    @staticmethod
    def takes(plan: Plan) -> bool:
        """Whether the kernel is large, and windows are few: by sizes alone."""
        if plan.is_turned or plan.groups > 1:
            return False
        windows, kernel = plan.shape[0] * prod(plan.sizes), plan.weight.size
        is_large = kernel * plan.dtype.itemsize > BLOCK and kernel > plan.x.size * 2
        return is_large and windows <= _FEW

    def cut(self) -> list[Index]:
        plan = self._plan
        batch, out, *sizes = plan.shape
        some = max(ceil(out / _PARTS / self._lanes) * self._lanes, _FEWEST)
        whole = [[slice(0, size)] for size in sizes]
        return boxes([slice(0, batch)], slices(out, some), *whole)

    def prepare(self) -> None:
        plan = self._plan
        whole = slice(0, plan.shape[0]), slice(0, plan.sizes[0])
        self._inputs = []
        for part in self._parts():
            self._inputs.append(plan.padded(whole[0], part, whole[1], self._shared))
            self._shared.end_block()

    def _parts(self) -> list[slice]:
        return slices(self._plan.inner, max(TERMS // prod(self._plan.kernel), 1))

    def block(self, index: Index, target: Array, memory: Recorder) -> None:
        plan, out = self._plan, index[1]
        channels, count = out.stop - out.start, prod(plan.kernel)
        counts = [plan.shape[0], *plan.sizes]
        width, across = self._vectors(channels) * self._lanes, self._across(channels)
        scratch = memory.take("result", prod(counts) * width).reshape((-1, width))
        for part, x in zip(self._parts(), self._inputs, strict=True):
            terms = (part.stop - part.start) * count
            turned = memory.take("kernel", terms * across).reshape((terms, across))
            self._turn(plan.upright[0][out, part], turned, memory)
            self._multiply(x, turned, scratch, counts, resumed=part.start > 0, memory=memory)
        self._turn_back(scratch, target, channels, memory)
