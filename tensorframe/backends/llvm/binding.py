"""Binding: the kernels of a region as calls for arrays that stay where they are."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.bound import Bound, NativeCall
from tensorframe.backends.llvm.abi import address, array_slot
from tensorframe.backends.llvm.functions import kernel_function
from tensorframe.backends.llvm.launcher import (
    begins_line,
    fixed_numbers,
    number_format,
    number_type,
    output_maker,
)
from tensorframe.backends.llvm.lowering import print_kernel
from tensorframe.backends.llvm.target import target
from tensorframe.dtypes import bool_
from tensorframe.graph.region import Region
from tensorframe.kernel.nest.assemble import Built, Launch
from tensorframe.kernel.nest.passes.rare import FLAG
from tensorframe.kernel.spaces.gather import MARK
from tensorframe.machine import HOST

Array = Any

_NUMBERS = {"float": float, "int": int}


def bound_kernels(
    region: Region, built: Built, inputs: Sequence[Any], buffers: Sequence[Array | None]
) -> Bound | None:
    """Return the calls of a region's kernels for these operands; None if one needs more than its operands."""
    if any(dtype == bool_ for dtype, _, _ in built.partials):
        return None  # answers, which every call begins anew
    # a general kernel reads the inputs a second time
    again = any(launch.general for launch in built.launches)
    arrays: dict[str, Any] = {f"x{index}": value for index, value in enumerate(inputs)}
    outputs = []
    for index, (value, layout) in enumerate(zip(region.outputs, built.layouts, strict=True)):
        new = output_maker(region.shape_of(value), region.dtype_of(value), layout)()
        buffer = buffers[index]
        taken = buffer is not None and not again and buffer.strides == new.strides
        if buffer is not None and begins_line(region, value):
            taken = taken and address(buffer) % HOST.line == 0
        outputs.append(buffer if taken else new)
        arrays[f"y{index}"] = outputs[-1]
    for index, (dtype, size, _) in enumerate(built.partials):
        arrays[f"p{index}"] = host_pool.empty((size,), dtype)
    if built.selects or again:
        # whichever of them is set, the program itself runs
        arrays[MARK.name] = arrays[FLAG.name] = np.zeros(1, bool)
    return Bound(outputs, [_call(launch, arrays) for launch in built.launches])


def _call(launch: Launch, arrays: dict[str, Array]) -> NativeCall:
    kernel = launch.kernel
    text = print_kernel(kernel, target())
    function = kernel_function(text.name, text.source)
    slot = array_slot()
    owned = [arrays[buffer.name] for buffer in (*kernel.inputs, *kernel.outputs)]
    formats = ["Q"] * len(owned) + [number_format(scalar.dtype) for scalar in kernel.scalars]
    numbers = [
        _NUMBERS[number_type(scalar.dtype)](arrays[f"x{scalar.name[1:]}"])
        for scalar in kernel.scalars
    ]
    varying = struct.pack("=" + "".join(formats), *map(slot, owned), *numbers)
    return NativeCall(
        function.address,
        launch.total,
        launch.grain,
        varying,
        fixed_numbers(launch),
        (function, *owned),
        arrays.get(FLAG.name),
    )
