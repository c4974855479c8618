"""What blocks of vectors of channels do: pad the input, multiply windows with a turned kernel, turn the result back."""

from __future__ import annotations

from itertools import product
from math import ceil, prod
from typing import Any

from tensorframe.backends.llvm.convolution.padding import flat
from tensorframe.backends.llvm.convolution.plan import Operands, Plan, batch_and_rows, boxes
from tensorframe.backends.llvm.convolution.script import (
    OPERANDS,
    Recorder,
    Script,
    Shared,
    stand_in,
)
from tensorframe.backends.llvm.convolution.sizes import whole_vectors
from tensorframe.backends.llvm.convolution.windows import Span
from tensorframe.backends.llvm.indirect_product import (
    Extents,
    Matrices,
    copy,
    functions,
    multiply,
    pairs,
    transpose,
)
from tensorframe.backends.numpy.convolution.padding import slices
from tensorframe.backends.numpy.products.grid import Index
from tensorframe.backends.numpy.products.product import extents
from tensorframe.codegen.llvm.indirect_product import TERMS
from tensorframe.graph.shape import Shape
from tensorframe.machine import HOST, spare_line
from tensorframe.quick_tuples import NamedTuple

Array = Any

# Numbers of the operands of scripts.
INPUT, KERNEL, SHARED, RESULT = range(OPERANDS, OPERANDS + 4)
# Channels of a kernel that are turned in one call.
_CHANNELS = 64


def plan_of(operands: Operands) -> Plan:
    """Return the plan of convolutions with such operands, which lie nowhere."""
    x = stand_in(INPUT, operands.shape, operands.strides, operands.dtype)
    weight = stand_in(KERNEL, operands.kernel, operands.kernel_strides, operands.dtype)
    return Plan(x, weight, operands.geometry, operands.groups)


class Recorded(NamedTuple):
    """The blocks of a convolution, what makes them, and before them what all of these read."""

    blocks: list[Index]
    before: Script
    each: Script


class Turned:
    """All blocks read the turned kernel: rows of it are channels and positions, columns channels of the result."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._shared = Shared(SHARED, plan.dtype)

    def recorded(self, strides: Shape | None) -> Recorded:
        """Return what makes a result of these strides, or each block in memory of its own."""
        self._prepare()
        blocks, recorder = self._cut(), Recorder(self._plan.dtype)
        for index in blocks:
            self._block(index, target_of(self._plan, index, strides), recorder)
            recorder.end_block()
        return Recorded(blocks, self._shared.script(), recorder.script())

    def _cut(self) -> list[Index]:
        plan = self._plan
        batch, _, first, *rest = plan.shape
        outs = [slice(g * plan.channels, (g + 1) * plan.channels) for g in range(plan.groups)]
        whole = [[slice(0, size)] for size in rest]
        if plan.is_turned:
            examples = ceil(batch / plan.enough)
            return boxes(slices(batch, examples), outs, [slice(0, first)], *whole)
        rows = plan.rows_by_channels(functions(plan.dtype).lanes)
        return boxes(*batch_and_rows(plan, rows, outs), *whole)

    def _prepare(self) -> None:
        plan = self._plan
        self._kernels = []
        for group in range(plan.groups):
            whole = matrix_for(plan, plan.inner, plan.channels, self._shared)
            self._kernels.append(whole)
            for part in slices(plan.inner, _CHANNELS):
                rows = slice(part.start * prod(plan.kernel), part.stop * prod(plan.kernel))
                turn(plan.upright[group][:, part], whole[rows], self._shared)
                self._shared.end_block()

    def _block(self, index: Index, target: Array, memory: Recorder) -> None:
        plan = self._plan
        batch, out, first, *rest = index
        group = out.start // plan.channels
        channels = slice(group * plan.inner, (group + 1) * plan.inner)
        windows = plan.windows(batch, channels, first, memory)
        counts = extents((batch, first, *rest))
        scratch = scratch_for(plan, counts, plan.channels, memory)
        multiply_windows(plan, windows, self._kernels[group], scratch, counts[0], memory)
        turn_back(plan, scratch, target, memory)


class InParts(Turned):
    """Blocks turn the kernel of their channels, some terms at a time, and read the padded input of all windows."""

    def _cut(self) -> list[Index]:
        plan, lanes = self._plan, functions(self._plan.dtype).lanes
        batch, out, *sizes = plan.shape
        some = plan.channels_of_part(lanes)
        whole = [[slice(0, size)] for size in sizes]
        return boxes([slice(0, batch)], slices(out, some), *whole)

    def _prepare(self) -> None:
        plan = self._plan
        self._parts = slices(plan.inner, max(TERMS // prod(plan.kernel), 1))
        self._inputs = []
        for part in self._parts:
            whole = slice(0, plan.shape[0]), part, slice(0, plan.sizes[0])
            self._inputs.append(plan.windows(*whole, self._shared))
            self._shared.end_block()

    def _block(self, index: Index, target: Array, memory: Recorder) -> None:
        plan, out = self._plan, index[1]
        batch, channels = plan.shape[0], out.stop - out.start
        scratch = scratch_for(plan, (batch, *plan.sizes), channels, memory)
        for part, windows in zip(self._parts, self._inputs, strict=True):
            kernel = matrix_for(plan, part.stop - part.start, channels, memory)
            turn(plan.upright[0][out, part], kernel, memory)
            resumed = part.start > 0
            multiply_windows(plan, windows, kernel, scratch, batch, memory, resumed=resumed)
        turn_back(plan, scratch, target, memory)


# --- what blocks are made of ---


def block_in(plan: Plan, memory: Array, shape: Shape) -> Array:
    """Return a block in memory that has room for it: a gradient by the kernel has channels outside."""
    if not plan.is_turned:
        return memory[: prod(shape)].reshape(shape)
    batch, out, *sizes = shape
    return memory[: prod(shape)].reshape((out, batch, *sizes)).swapaxes(0, 1)


def target_of(plan: Plan, index: Index, strides: Shape | None) -> Array:
    """Return where a block of a result of these strides lies, or one in memory of its own."""
    if strides is not None:
        return stand_in(RESULT, plan.shape, strides, plan.dtype)[index]
    shape = extents(index)
    return block_in(
        plan, stand_in(RESULT, (prod(shape),), (plan.dtype.itemsize,), plan.dtype), shape
    )


def scratch_for(plan: Plan, counts: Shape, channels: int, memory: Recorder) -> Array:
    """Return memory for a product: so many windows along the batch and each axis, and channels."""
    width = whole_vectors(channels, functions(plan.dtype).lanes)
    return memory.take("result", prod(counts) * width).reshape((-1, width))


def matrix_for(plan: Plan, inner: int, channels: int, memory: Recorder) -> Array:
    """Return memory for the turned kernel of some channels of the input, and of the result."""
    width = whole_vectors(channels, functions(plan.dtype).lanes)
    across = width + spare_line(width, plan.dtype.itemsize)
    terms = inner * prod(plan.kernel)
    return memory.take("kernel", terms * across).reshape((terms, across))


def turn(kernel: Array, target: Array, memory: Recorder) -> None:
    """Write a kernel's channels and positions as rows of a matrix, whose columns are channels of the result."""
    out, inner, *positions = kernel.shape
    by_out, by_channel = kernel.strides[:2]
    if not flat(kernel, 2):
        apart = target.reshape((inner, *positions, target.shape[-1]))
        copy(kernel.transpose((*range(1, kernel.ndim), 0)), apart[..., :out], memory.call)
        return
    count = prod(positions)
    matrices = Matrices(out, count, by_out, target.strides[0])
    if (
        by_channel == count * kernel.itemsize
    ):  # one matrix, whose rows are far apart: a few at a time, each in one go
        for few in slices(out, HOST.line // kernel.itemsize):
            rows = few.stop - few.start
            own = matrices._replace(rows=rows, columns=count * inner)
            transpose(kernel[few], target[:, few.start :], own, memory.call)
        return
    else:
        on = count * target.strides[0]
        matrices = matrices._replace(times=inner, on=by_channel, target_on=on)
    transpose(kernel, target, matrices, memory.call)


def multiply_windows(
    plan: Plan,
    windows: tuple[Array, list[list[Span]]],
    kernel: Array,
    scratch: Array,
    images: int,
    memory: Recorder,
    *,
    resumed: bool = False,
) -> None:
    """Multiply windows on so many images, on some channels, with their turned kernel."""
    x, axes = windows
    by_batch, by_channel, *steps = x.strides
    places = [along[-1].places.stop for along in axes]
    results = scratch.reshape((images, *places, scratch.shape[1]))
    moved = [step * by for step, by in zip(steps, plan.geometry.stride, strict=True)]
    inner = [step * apart for step, apart in zip(steps, plan.geometry.dilation, strict=True)]
    for box in product(*axes):
        counts = images, *[len(span.places) for span in box]
        starts = [slice(span.places.start, None) for span in box]
        own = results[(slice(None), *starts)]
        along = zip(counts, own.strides, strict=False)
        rows = pairs(tuple(zip(counts, (by_batch, *moved), strict=True)), tuple(along))
        positions = [span.positions for span in box]
        left = zip(map(len, positions), inner, strict=True)
        first, right = _terms(plan, positions, x.shape[1], kernel.strides[0])
        multiply(
            x[(slice(None), slice(None), *[slice(span.first, None) for span in box])],
            kernel[first:],
            own,
            rows,
            pairs(((x.shape[1], by_channel), *left), right),
            scratch.shape[1] // functions(plan.dtype).lanes,
            resumed=resumed,
            call=memory.call,
        )


def _terms(plan: Plan, positions: list[range], channels: int, across: int) -> tuple[int, Extents]:
    """Return which row of a turned kernel is the first term of some positions, and where the others are from there."""
    first, count = 0, 1
    along: list[tuple[int, int]] = []
    for size, seen, is_around in zip(
        plan.kernel[::-1], positions[::-1], plan.around[::-1], strict=True
    ):
        first += (size - 1 - seen.start if is_around else seen.start) * count
        along.insert(0, (len(seen), -count * across if is_around else count * across))
        count *= size
    return first, ((channels, count * across), *along)


def turn_back(plan: Plan, scratch: Array, target: Array, memory: Recorder) -> None:
    """Write a product, whose rows are windows, as images of channels."""
    times = 1 if plan.is_turned else len(target)
    own, pitch = len(scratch) // times, scratch.strides[0]
    matrices = Matrices(own, target.shape[1], pitch, target.strides[1], times)
    matrices = matrices._replace(on=own * pitch, target_on=target.strides[0])
    transpose(scratch, target, matrices, memory.call)
