"""Launchers: the Python code of one call of a region's kernels, printed and compiled like the kernels themselves.

A call takes apart its operands, makes its outputs, packs slots and runs kernels. Written out for one layout, that is
four lines and 1.5 us; in loops over lists it is 4 us, which is longer than a small kernel takes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.llvm.abi import address, array_slot
from tensorframe.backends.llvm.functions import kernel_function
from tensorframe.backends.llvm.load import KernelFunction
from tensorframe.backends.llvm.lowering import print_kernel
from tensorframe.backends.llvm.target import target
from tensorframe.backends.llvm.workers import run_ranges
from tensorframe.dtypes import FLOAT, UNSIGNED, DType, bool_, float64
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.kernel.ir import Kernel
from tensorframe.kernel.nest.assemble import Built, Launch
from tensorframe.kernel.spaces.complex import Parts
from tensorframe.machine import HOST

# Calls in which the speculative kernel has been wrong before it is not tried any more.
_PATIENCE = 4

Run = Callable[[Sequence[Any], Sequence[Any | None]], Sequence[Any]]


def launcher(
    region: Region,
    parts: Parts,
    built: Built,
    strides: Sequence[tuple[int, ...]],
    other: Run,
    fallback: Run,
) -> Run:
    """Return the function that runs the kernels of one layout; operands of another one are left to `other`.

    `region` is what the caller knows, `parts` what the kernels compute. `strides` are those of the inputs, in bytes.
    Where an index is out of bounds `fallback` runs, which raises an error.
    """
    names: dict[str, Any] = {
        "slot": array_slot(),
        "run_ranges": run_ranges,
        "other": other,
        "fallback": fallback,
        "flag": partial(np.zeros, 1, bool),
        "spare": host_pool.pool.spare,
        "give_back": host_pool.pool.give_back,
    }
    lines = _taken(region, strides, names)
    lines += [
        f"x{imag} = x{real}.imag; x{real} = x{real}.real" for real, imag in parts.imaginary.items()
    ]
    lines += _made(region, built, names)
    lines += ["m0 = flag()"] if built.selects else []
    for index, launch in enumerate(built.launches):
        lines += _launched(index, launch, names)
    lent = [index for index, (dtype, size, _) in enumerate(built.partials) if _is_lent(dtype, size)]
    lines += [f"give_back(p{index})" for index in lent]
    lines += ["if m0[0]: return fallback(inputs, buffers)"] if built.selects else []
    outputs = [f"y{index}," for index in range(len(region.outputs))]
    lines.append(f"return ({' '.join(outputs)})")
    source = "def run(inputs, buffers):\n" + "".join(f"    {line}\n" for line in lines)
    exec(compile(source, "<tensorframe launcher>", "exec"), names)  # noqa: S102 - printed above
    run: Run = names["run"]
    return run


def _taken(region: Region, strides: Sequence[tuple[int, ...]], names: dict[str, Any]) -> list[str]:
    """Return the lines that name the inputs and compare their layout."""
    if not region.inputs:
        return []
    lines = [f"{' '.join(f'x{index},' for index in range(len(region.inputs)))} = inputs"]
    arrays = [index for index, (shape, _) in enumerate(region.inputs) if shape != ()]
    names.update((f"strides{index}", strides[index]) for index in arrays)
    if arrays:
        differs = " or ".join([f"x{index}.strides != strides{index}" for index in arrays])
        lines.append(f"if {differs}: return other(inputs, buffers)")
    return lines


def _made(region: Region, built: Built, names: dict[str, Any]) -> list[str]:
    """Return the lines that make the outputs, or take over a buffer, and the partial results."""
    lines = []
    for index, (value, layout) in enumerate(zip(region.outputs, built.layouts, strict=True)):
        new = output_maker(region.shape_of(value), region.dtype_of(value), layout)
        names[f"new{index}"], names[f"made{index}"] = new, new().strides
        lines.append(f"y{index} = buffers[{index}]")
        unfit = f"y{index} is None or y{index}.strides != made{index}"
        if begins_line(region, value):
            names["address"] = address
            unfit += f" or address(y{index}) % {HOST.line}"
        if any(launch.general for launch in built.launches):  # it reads the inputs a second time
            names["shares"] = np.may_share_memory
            arrays = [number for number, (shape, _) in enumerate(region.inputs) if shape != ()]
            unfit += "".join([f" or shares(y{index}, x{number})" for number in arrays])
        lines.append(f"if {unfit}: y{index} = new{index}()")
    for index, (dtype, size, first) in enumerate(built.partials):
        if _is_lent(dtype, size):
            lines.append(f"p{index} = spare({size * dtype.itemsize})")
            continue
        # only answers are looked at before they are there
        answers = dtype == bool_
        names[f"new_p{index}"] = (
            partial(np.full, size, bool(first)) if answers else output_maker((size,), dtype, (0,))
        )
        lines.append(f"p{index} = new_p{index}()")
    return lines


def begins_line(region: Region, value: int) -> bool:
    """Whether an output may be streamed, which takes three times as long if it begins within a line of the cache."""
    return prod(region.shape_of(value)) * region.dtype_of(value).itemsize in HOST.streamed


def _is_lent(dtype: DType, size: int) -> bool:
    """Whether partial results lie in scratch memory: the next product or sum takes it while it is in the cache."""
    return dtype != bool_ and size * dtype.itemsize >= host_pool.SMALLEST


def _launched(index: int, launch: Launch, names: dict[str, Any]) -> list[str]:
    """Return the line that runs a kernel."""
    text = print_kernel(launch.kernel, target())
    function = kernel_function(text.name, text.source)
    kernel = launch.kernel
    arrays = [buffer.name for buffer in (*kernel.inputs, *kernel.outputs)]
    formats = ["Q"] * len(arrays) + [number_format(scalar.dtype) for scalar in kernel.scalars]
    slots = [f"slot({name})" for name in arrays]
    slots += [f"{number_type(scalar.dtype)}(x{scalar.name[1:]})" for scalar in kernel.scalars]
    names[f"fixed{index}"] = fixed_numbers(launch)
    names[f"pack{index}"] = struct.Struct("=" + "".join(formats)).pack
    varying = f"pack{index}({', '.join(slots)}), fixed{index}"
    if launch.general is not None:
        names[f"choose{index}"] = Choice(function, launch.general)
        return ["f0 = flag()", f"choose{index}(f0, {launch.total}, {launch.grain}, {varying})"]
    if launch.total <= launch.grain:
        names[f"call{index}"] = function.call
        return [f"call{index}(0, {launch.total}, {varying})"]
    names[f"function{index}"] = function
    return [f"run_ranges(function{index}, {launch.total}, {launch.grain}, {varying})"]


class Choice:
    """A kernel without the sides that are rarely needed, and the general one, which runs where they are."""

    def __init__(self, speculative: KernelFunction, general: Callable[[], Kernel]) -> None:
        self._speculative = speculative
        self._general = general
        self._function: KernelFunction | None = None  # of the general one, when it is first needed
        self._disappointed = 0

    def __call__(self, flag: Any, total: int, grain: int, varying: bytes, fixed: bytes) -> None:
        """Run the one that does; after a few disappointments, the general kernel at once."""
        if self._disappointed < _PATIENCE:
            run_ranges(self._speculative, total, grain, varying, fixed)
            if not flag[0]:
                return
            self._disappointed += 1
        if self._function is None:
            text = print_kernel(self._general(), target())
            self._function = kernel_function(text.name, text.source)
        run_ranges(self._function, total, grain, varying, fixed)


def output_maker(shape: Shape, dtype: DType, layout: Sequence[int]) -> Callable[[], Any]:
    """Return the function that makes an output whose axes are in this order in memory."""
    order = None if list(layout) == sorted(layout) else layout
    if order is None and prod(shape) * dtype.itemsize < host_pool.SMALLEST:
        return partial(np.empty, shape, dtype)  # as the pool would, five calls later
    return partial(host_pool.empty, shape, dtype, order)


def number_type(dtype: DType) -> str:
    """Return the name of the type that a number of a dtype has in Python."""
    return "float" if dtype in FLOAT else "int"


def number_format(dtype: DType) -> str:
    """Return how a number of a dtype is packed into a slot."""
    if dtype in FLOAT:
        return "d" if dtype == float64 else "f4x"
    return "Q" if dtype in UNSIGNED else "q"


def fixed_numbers(launch: Launch) -> bytes:
    """Return the fixed slots of a launch."""
    numbers = zip(launch.kernel.sizes, launch.numbers, strict=True)
    return b"".join([_packed(size.dtype, value) for size, value in numbers])


def _packed(dtype: DType, value: float) -> bytes:
    if dtype in FLOAT:
        return struct.pack("=" + number_format(dtype), value)
    return struct.pack("=Q", int(value) % 2**64)
