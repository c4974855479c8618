"""Programs: a region's kernels for each layout of operands that it meets, and the calls that run them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorframe.backends.numba.abi import array_slot
from tensorframe.backends.numba.functions import kernel_function
from tensorframe.backends.numba.workers import run_ranges
from tensorframe.codegen.python import print_kernel
from tensorframe.dtypes import FLOAT, UNSIGNED, DType
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.kernel.build import Built, Launch, analyse, build

Array = Any


class KernelProgram:
    """Runs a region through kernels. These depend on the layout of the operands: each layout is bound once."""

    quiet = True

    def __init__(self, region: Region) -> None:
        self.region = region
        self.space = analyse(region)
        self._arrays = [at for at, (shape, _) in enumerate(region.inputs) if shape != ()]
        self._bound: dict[tuple[Any, ...], Bound] = {}

    def __call__(self, inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Sequence[Array]:
        """Return the outputs for these inputs."""
        key = tuple([inputs[at].strides for at in self._arrays])
        bound = self._bound.get(key)
        if bound is None:
            bound = self._bound[key] = Bound(self.region, self.built(inputs))
        return bound.run(inputs, buffers)

    def built(self, inputs: Sequence[Array]) -> Built:
        """Return the kernels for operands of these layouts."""
        strides = [
            () if shape == () else tuple([step // dtype.itemsize for step in array.strides])
            for array, (shape, dtype) in zip(inputs, self.region.inputs, strict=True)
        ]
        return build(self.region, self.space, strides)


class Bound:
    """The kernels of one layout, compiled, with everything about a call that does not change."""

    def __init__(self, region: Region, built: Built) -> None:
        self._slot = array_slot()
        self._new = [
            _maker(region.shape_of(value), region.dtype_of(value), layout)
            for value, layout in zip(region.outputs, built.layouts, strict=True)
        ]
        self._strides = [new().strides for new in self._new]
        self._partials = built.partials
        self._calls = [_Call(region, one) for one in built.launches]

    def run(self, inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Sequence[Array]:
        outputs = [
            new() if buffer is None or buffer.strides != strides else buffer
            for new, buffer, strides in zip(self._new, buffers, self._strides, strict=True)
        ]
        partials = [np.empty(size, dtype) for dtype, size in self._partials]
        operands = {"x": inputs, "y": outputs, "p": partials}
        for call in self._calls:
            call.run(operands, self._slot)
        return outputs


class _Call:
    """One kernel: its function, and where the slots of a call come from."""

    def __init__(self, region: Region, launch: Launch) -> None:
        text = print_kernel(launch.kernel)
        self.function = kernel_function(text.name, text.source)
        kernel = launch.kernel
        self._arrays = [
            (buffer.name[0], int(buffer.name[1:])) for buffer in (*kernel.inputs, *kernel.outputs)
        ]
        self._scalars = [(int(one.name[1:]), _number(one.dtype)) for one in kernel.scalars]
        formats = ["Q"] * len(self._arrays) + [_format(one.dtype) for one in kernel.scalars]
        self._pack = struct.Struct("=" + "".join(formats)).pack
        numbers = zip(kernel.sizes, launch.numbers, strict=True)
        self._fixed = b"".join([_packed(one.dtype, value) for one, value in numbers])
        self._total, self._grain = launch.total, launch.grain

    def run(self, operands: dict[str, Sequence[Array]], slot: Callable[[Array], int]) -> None:
        arrays = [operands[kind][at] for kind, at in self._arrays]
        inputs = operands["x"]
        varying = self._pack(
            *[slot(array) for array in arrays],
            *[number(inputs[at]) for at, number in self._scalars],
        )
        run_ranges(self.function, self._total, self._grain, varying, self._fixed)


def _maker(shape: Shape, dtype: DType, layout: Sequence[int]) -> Callable[[], Array]:
    """Return the function that makes an output whose axes are in this order in memory."""
    if list(layout) == sorted(layout):
        return lambda: np.empty(shape, dtype)
    in_memory = tuple([shape[axis] for axis in layout])
    back = tuple([layout.index(axis) for axis in range(len(shape))])
    return lambda: np.empty(in_memory, dtype).transpose(back)


def _number(dtype: DType) -> Callable[[Any], float]:
    return float if dtype in FLOAT else int


def _format(dtype: DType) -> str:
    """Return how a number of a dtype is packed into a slot."""
    return "d" if dtype in FLOAT else "Q" if dtype in UNSIGNED else "q"


def _packed(dtype: DType, value: float) -> bytes:
    if dtype in FLOAT:
        return struct.pack("=d", value)
    return struct.pack("=Q", int(value) % 2**64)
