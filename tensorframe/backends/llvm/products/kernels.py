"""What is done to blocks of a product, as kernels that the thread which made a block calls without the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.backends.base import Program
from tensorframe.backends.llvm.abi import address
from tensorframe.backends.llvm.functions import kernel_function
from tensorframe.backends.llvm.launcher import fixed_numbers
from tensorframe.backends.llvm.lowering import print_kernel
from tensorframe.backends.llvm.program import KernelProgram
from tensorframe.backends.llvm.target import target
from tensorframe.backends.numpy.products.grid import Index
from tensorframe.backends.numpy.products.hidden import part_of
from tensorframe.backends.numpy.products.product import extents
from tensorframe.codegen.llvm.packed.slots import MOST_ARRAYS, MOST_SLOTS
from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape, strides_of
from tensorframe.kernel.nest.assemble import Built, Launch
from tensorframe.quick_tuples import NamedTuple

Array = Any


class BlockKernels(NamedTuple):
    """The kernels of a product's blocks: names of their arrays and numbers, and records for those of each kind."""

    arrays: Sequence[str]
    scalars: Sequence[tuple[str, DType]]
    records: Array
    kept: tuple[Any, ...]  # what records point to


def block_kernels(
    indices: Sequence[Index],
    dtype: DType,
    programs: Sequence[Program],
    others: Sequence[Array],
    outputs: Sequence[Array] | None,
) -> BlockKernels | None:
    """Return the kernels of blocks, one of each kind at `indices`, which `programs` take as their first input.

    The `others` follow. None where one kernel does not do all, or where it would write elsewhere than into its part of
    outputs that lie as these; without `outputs`, into memory whose rows lie together.
    """
    launches = []
    for index, program in zip(indices, programs, strict=True):
        parts = [np.empty(extents(index), dtype), *[part_of(other, index) for other in others]]
        targets = None if outputs is None else [output[index] for output in outputs]
        launch = _launch(program, parts, targets)
        if launch is None:
            return None
        launches.append(launch)
    names, scalars = _slots(launches[0])
    too_many = len(names) > MOST_ARRAYS or len(names) + len(scalars) > MOST_SLOTS
    if too_many or any(_slots(launch) != (names, scalars) for launch in launches):
        return None
    functions, fixed = [], []
    for launch in launches:
        text = print_kernel(launch.kernel, target())
        functions.append(kernel_function(text.name, text.source))
        fixed.append(np.frombuffer(fixed_numbers(launch) or bytes(8), np.uint8))
    records = [
        (function.address, launch.total, address(own))
        for function, launch, own in zip(functions, launches, fixed, strict=True)
    ]
    return BlockKernels(names, scalars, np.array(records, np.uint64), (*functions, *fixed))


def _slots(launch: Launch) -> tuple[list[str], list[tuple[str, DType]]]:
    kernel = launch.kernel
    names = [buffer.name for buffer in (*kernel.inputs, *kernel.outputs)]
    return names, [(scalar.name, scalar.dtype) for scalar in kernel.scalars]


def _launch(
    program: Program, parts: Sequence[Array], targets: Sequence[Array] | None
) -> Launch | None:
    """Return the one kernel of a program for such operands, if that is all, and it writes to targets as they lie."""
    if not isinstance(program, KernelProgram):
        return None
    built = program.built_alone(parts)
    if built is None or not _is_one(built):
        return None
    region = program.region
    if targets is None:
        targets = [
            np.empty(region.shape_of(output), region.dtype_of(output)) for output in region.outputs
        ]
    for target_, layout, value in zip(targets, built.layouts, region.outputs, strict=True):
        shape = region.shape_of(value)
        if target_.shape != shape or not _lies_so(target_, strides_of(shape, layout)):
            return None
    return built.launches[0]


def _lies_so(array: Array, steps: Shape) -> bool:
    return all(
        size == 1 or own == step * array.itemsize
        for size, own, step in zip(array.shape, array.strides, steps, strict=True)
    )


def _is_one(built: Built) -> bool:
    """Whether there is one kernel that reads and writes arrays alone."""
    return (
        len(built.launches) == 1
        and built.launches[0].general is None
        and not built.partials
        and not built.selects
    )
