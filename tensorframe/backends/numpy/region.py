"""Elementwise regions in NumPy: op by op, through blocks that stay in the cache.

Whole-array temporaries would cost a pass through memory per op. A block of every operand is taken through all ops of
the region before the next, so only inputs and outputs touch memory, and the temporaries are a few blocks in size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends.base import Program, Region
from tensorframe.backends.numpy.functions import WRITING, Function, implementation
from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape

Array = Any
Index = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class _Call:
    """One op of the region: where its operands are, and the scratch block that takes its result."""

    function: Function
    attrs: tuple[Any, ...]
    arguments: tuple[int, ...]
    result: int  # index among the region's values
    scratch: int | None  # None: the result leaves the region, or the function allocates it
    writes: bool  # whether the function takes out=
    dead: tuple[int, ...]  # values that no later op reads


def elementwise_program(region: Region) -> Program:
    """Return the program of a region of elementwise ops of one shape."""
    calls, scratch = _schedule(region)
    shape = region.ops[-1].shape
    dtypes = [region.ops[at - len(region.inputs)].dtype for at in region.outputs]
    widest = max(one.dtype.itemsize for one in region.ops)

    def run(inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Sequence[Array]:
        length = max(config.get().block_bytes // widest, 1)
        size = 1
        for extent in shape:
            size *= extent
        if size <= 2 * length:
            return _run_whole(calls, inputs, region.outputs)
        outputs = [
            np.empty(shape, dtype) if buffer is None else buffer
            for dtype, buffer in zip(dtypes, buffers, strict=True)
        ]
        operands = _flattened(inputs, outputs, shape)
        _run_blocks(calls, scratch, operands, region.outputs, length)
        return outputs

    return run


def _schedule(region: Region) -> tuple[list[_Call], list[DType]]:
    """Return the calls in order, and the dtypes of the scratch blocks they share."""
    first = len(region.inputs)
    last_use = {at: at - first for at in range(first, first + len(region.ops))}
    for number, one in enumerate(region.ops):
        last_use.update((at, number) for at in one.inputs if at >= first)
    free: dict[DType, list[int]] = {}
    held: dict[int, int] = {}
    scratch: list[DType] = []
    calls = []
    for number, one in enumerate(region.ops):
        result = first + number
        function = implementation[one.op]
        writes = isinstance(function, np.ufunc) or function in WRITING
        block = None
        if writes and result not in region.outputs:
            block = _take(one.dtype, free, scratch)
            held[result] = block
        dead = tuple({at for at in one.inputs if at >= first and last_use[at] == number})
        for at in dead:
            if at in held:
                free.setdefault(scratch[held[at]], []).append(held[at])
        calls.append(_Call(function, one.attrs, one.inputs, result, block, writes, dead))
    return calls, scratch


def _take(dtype: DType, free: dict[DType, list[int]], scratch: list[DType]) -> int:
    if free.get(dtype):
        return free[dtype].pop()
    scratch.append(dtype)
    return len(scratch) - 1


def _run_whole(
    calls: Sequence[_Call], inputs: Sequence[Array], outputs: tuple[int, ...]
) -> Sequence[Array]:
    """Run a small region on whole arrays."""
    values = list(inputs)
    for call in calls:
        values.append(call.function(*[values[at] for at in call.arguments], *call.attrs))
        for at in call.dead:
            if at not in outputs:
                values[at] = None
    return [values[at] for at in outputs]


@dataclass(frozen=True, slots=True)
class _Operands:
    """Arrays that share one iteration shape: inputs broadcast to it, outputs of it."""

    shape: Shape
    inputs: list[Array]
    outputs: list[Array]


def _flattened(inputs: Sequence[Array], outputs: Sequence[Array], shape: Shape) -> _Operands:
    """Return the operands along one axis if their memory allows it, else as they are.

    Numbers and 0-d arrays stay as they are: NumPy broadcasts them in every block.
    """
    arrays = [array for array in (*inputs, *outputs) if np.ndim(array)]
    if all(array.shape == shape and array.flags.c_contiguous for array in arrays):
        flat = [array.reshape(-1) if np.ndim(array) else array for array in inputs]
        return _Operands((outputs[0].size,), flat, [array.reshape(-1) for array in outputs])
    ndim = len(shape)
    spread = [
        array.reshape((1,) * (ndim - array.ndim) + array.shape) if np.ndim(array) else array
        for array in inputs
    ]
    return _Operands(shape, spread, list(outputs))


def _run_blocks(
    calls: Sequence[_Call],
    scratch: Sequence[DType],
    operands: _Operands,
    leaving: tuple[int, ...],
    length: int,
) -> None:
    largest = 0
    blocks: list[Array] = []
    outputs = dict(zip(leaving, operands.outputs, strict=True))
    for index, shape in _blocks(operands.shape, length):
        size = 1
        for extent in shape:
            size *= extent
        if size > largest:
            largest = size
            blocks = [np.empty(size, dtype) for dtype in scratch]
        values = [_part(array, index) for array in operands.inputs]
        for call in calls:
            arguments = [values[at] for at in call.arguments]
            target = outputs.get(call.result)
            if target is not None:
                values.append(_store(call, arguments, target[index]))
            elif call.scratch is not None:
                out = blocks[call.scratch][:size].reshape(shape)
                values.append(call.function(*arguments, out=out))
            else:
                values.append(call.function(*arguments, *call.attrs))


def _store(call: _Call, arguments: Sequence[Array], target: Array) -> Array:
    if call.writes:
        return call.function(*arguments, out=target)
    target[...] = call.function(*arguments, *call.attrs)
    return target


def _part(array: Array, index: Index) -> Array:
    """Return the block of an operand; axes of size 1 are broadcast, so they are whole in every block."""
    if not np.ndim(array):
        return array
    return array[
        tuple(
            [at if size != 1 else slice(None) for at, size in zip(index, array.shape, strict=True)]
        )
    ]


def _blocks(shape: Shape, length: int) -> Iterator[tuple[Index, Shape]]:
    """Yield index and shape of blocks of at most about `length` elements that cover `shape`.

    Inner axes stay whole; the first axis that does not fit into a block is cut, and those before it are walked one
    by one.
    """
    inner = 1
    cut = len(shape) - 1
    while cut > 0 and inner * shape[cut] <= length:
        inner *= shape[cut]
        cut -= 1
    step = max(length // inner, 1)
    tail = tuple([slice(0, size) for size in shape[cut + 1 :]])
    for head in np.ndindex(*shape[:cut]):
        before = tuple([slice(at, at + 1) for at in head])
        for start in range(0, shape[cut], step):
            stop = min(start + step, shape[cut])
            yield (
                (*before, slice(start, stop), *tail),
                (1,) * cut + (stop - start,) + shape[cut + 1 :],
            )
