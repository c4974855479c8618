"""Elementwise regions in NumPy: op by op, through blocks that stay in the cache.

Whole-array temporaries would cost a pass through memory per op. A block of every operand is taken through all ops of
the region before the next, so only inputs and outputs touch memory, and the temporaries are a few blocks in size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.base import Program
from tensorframe.backends.numpy.blocks import Index, Operands, arrange
from tensorframe.backends.numpy.functions import WRITING, Function, implementation
from tensorframe.backends.numpy.interruptible import interruptible
from tensorframe.backends.numpy.threads import share_out
from tensorframe.dtypes import DType
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.quick_dataclasses import dataclass

Array = Any

# Elements from which one call of a ufunc may take long.
_LONG_CALL = 1 << 22
# Ops times blocks below which another thread wakes too late, and leaves its part in the cache of another core.
# Measured on two cores: 0.84 of the speed of one thread for 28, 1.15 for 64, 1.55 for 500.
WORTH_SHARING = 64


@dataclass(frozen=True, slots=True)
class MapCall:
    """One op of the region: where its operands are, and the scratch block that takes its result."""

    function: Function
    attrs: tuple[Any, ...]
    arguments: tuple[int, ...]
    result: int  # index among the region's values
    scratch: int | None  # None: the result leaves the region, or the function allocates it
    writes: bool  # whether the function takes out=
    dead: tuple[int, ...]  # values that no later op reads
    reuses: int | None  # a dead value whose memory can take the result


def elementwise_program(region: Region) -> Program:
    """Return the program of a region of elementwise ops of one shape."""
    calls, scratch = schedule(region)
    shape = region.ops[-1].shape
    size = math.prod(shape)
    dtypes = [region.ops[output - len(region.inputs)].dtype for output in region.outputs]
    widest = max(op.dtype.itemsize for op in region.ops)
    # a single ufunc has no temporaries that blocks could keep in the cache, and memory is as fast for one thread
    alone = len(calls) == 1 and isinstance(calls[0].function, np.ufunc)
    if alone:
        program = _one_call(calls[0], shape, dtypes[0])
        return interruptible(program, region) if size > _LONG_CALL else program

    def run(inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Sequence[Array]:
        length = max(config.get().block_bytes // widest, 1)
        if size <= 2 * length:
            return _run_whole(calls, inputs, region.outputs)
        arranged = arrange(inputs, buffers, shape, dtypes, length)
        _run_blocks(calls, scratch, arranged, region.outputs)
        return arranged.results

    return run


def _one_call(call: MapCall, shape: Shape, dtype: DType) -> Program:
    """Return the program of a region of one ufunc."""
    function, arguments = call.function, call.arguments
    pooled = math.prod(shape) * dtype.itemsize >= host_pool.SMALLEST

    def run(inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Sequence[Array]:
        (out,) = buffers
        if out is None and pooled:
            out = _pooled([inputs[source] for source in arguments], shape, dtype)
        return (function(*map(inputs.__getitem__, arguments), out=out),)

    return run


def _pooled(operands: Sequence[Array], shape: Shape, dtype: DType) -> Array | None:
    """Return memory of the pool for a ufunc's result in C order; None where NumPy would have another order."""
    if any(operand.ndim and not operand.flags.c_contiguous for operand in operands):
        return None
    return host_pool.empty(shape, dtype)


def schedule(region: Region) -> tuple[list[MapCall], list[DType]]:
    """Return the calls in order, and the dtypes of the scratch blocks they share."""
    first = len(region.inputs)
    last_use = {index: index - first for index in range(first, first + len(region.ops))}
    for number, op in enumerate(region.ops):
        last_use.update((source, number) for source in op.inputs if source >= first)
    free: dict[DType, list[int]] = {}
    held: dict[int, int] = {}
    fresh: dict[int, tuple[DType, Shape]] = {}  # values in memory of their own that stay inside
    scratch: list[DType] = []
    calls = []
    for number, op in enumerate(region.ops):
        result = first + number
        function = implementation[op.op]
        writes = isinstance(function, np.ufunc) or function in WRITING
        block = None
        if writes and result not in region.outputs:
            block = _take(op.dtype, free, scratch)
            held[result] = block
        dead = tuple(
            {source for source in op.inputs if source >= first and last_use[source] == number}
        )
        for value in dead:
            if value in held:
                free.setdefault(scratch[held[value]], []).append(held[value])
        alike = [value for value in dead if writes and fresh.get(value) == (op.dtype, op.shape)]
        reuses = alike[0] if alike and op.shape else None
        if writes and result not in region.outputs:
            fresh[result] = (op.dtype, op.shape)
        calls.append(MapCall(function, op.attrs, op.inputs, result, block, writes, dead, reuses))
    return calls, scratch


def _take(dtype: DType, free: dict[DType, list[int]], scratch: list[DType]) -> int:
    if free.get(dtype):
        return free[dtype].pop()
    scratch.append(dtype)
    return len(scratch) - 1


def _run_whole(
    calls: Sequence[MapCall], inputs: Sequence[Array], outputs: tuple[int, ...]
) -> Sequence[Array]:
    """Run a small region on whole arrays."""
    values = list(inputs)
    for call in calls:
        arguments = [values[source] for source in call.arguments]
        if call.reuses is None:
            values.append(call.function(*arguments, *call.attrs))
        else:
            values.append(call.function(*arguments, *call.attrs, out=values[call.reuses]))
        for value in call.dead:
            if value not in outputs:
                values[value] = None
    return [values[output] for output in outputs]


def _run_blocks(
    calls: Sequence[MapCall],
    scratch: Sequence[DType],
    operands: Operands,
    leaving: tuple[int, ...],
) -> None:
    outputs = dict(zip(leaving, operands.outputs, strict=True))

    def work(mine: Iterator[tuple[Index, Shape]]) -> None:
        memory = host_pool.scratch(math.prod(operands.block), scratch)
        views: list[Array] = []
        last = None
        for index, shape in mine:
            if shape != last:  # the same for all but the blocks at the ends of axes
                last = shape
                views = [array[: math.prod(shape)].reshape(shape) for array in memory]
            _run_block(calls, operands.parts(index), index, outputs, views)

    blocks = list(operands.blocks())
    if len(calls) * len(blocks) < WORTH_SHARING:
        work(iter(blocks))
    else:
        share_out(blocks, work)


def _run_block(
    calls: Sequence[MapCall],
    values: list[Array],
    index: Index,
    outputs: dict[int, Array],
    views: list[Array],
) -> None:
    for call in calls:
        arguments = [values[source] for source in call.arguments]
        if call.scratch is not None:
            values.append(call.function(*arguments, *call.attrs, out=views[call.scratch]))
        elif call.result in outputs:
            values.append(_store(call, arguments, outputs[call.result][index]))
        else:
            values.append(call.function(*arguments, *call.attrs))


def _store(call: MapCall, arguments: Sequence[Array], target: Array) -> Array:
    if call.writes:
        return call.function(*arguments, *call.attrs, out=target)
    target[...] = call.function(*arguments, *call.attrs)
    return target
