"""Launchers of products: the Python function between a step and its compiled functions, printed for what it is given.

It is all that is left of a product in a step that ran before: compare strides, take memory, call.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorframe.backends.base import Program
from tensorframe.backends.llvm.launcher import number_format, number_type
from tensorframe.backends.llvm.products.functions import VARYING_SLOTS
from tensorframe.backends.llvm.products.kernels import block_kernels
from tensorframe.backends.llvm.products.layout import Fixed, Layout, Taken
from tensorframe.backends.llvm.products.scratch import borrow, give_back
from tensorframe.backends.numpy.products.product import Call

if TYPE_CHECKING:
    from tensorframe.backends.llvm.products.packed import PackedProduct

Array = Any


def launcher(
    product: PackedProduct, call: Call, inputs: Sequence[Array], other: Program
) -> Program | None:
    """Return what makes a product, and what becomes of it, for inputs of these strides; None if that is Python's."""
    if call.programs:
        layout = product.layout
        taken = _taken(layout, call, inputs)
        if taken is None:
            return None
        fixed, arrays, numbers, formats = taken
    else:
        layout, within = product.within(call.strides)
        if within is None:
            return None
        fixed, arrays, numbers, formats = within, [], [], ""
    return _printed(layout, fixed, call, inputs, other, (arrays, numbers, formats))


def _taken(
    layout: Layout, call: Call, inputs: Sequence[Array]
) -> tuple[Fixed, list[str], list[str], str] | None:
    """Return the fixed slots, the names of the arrays and numbers in the others, and how these are packed."""
    others = [inputs[place] for place in call.others]
    outputs = [make() for make in call.makers]
    kernels = block_kernels(layout.indices(), layout.dtype, call.programs, others, outputs)
    if kernels is None:
        return None
    names = [f"x{place}" for place in call.others]
    arrays, places = [], []
    inner = np.full(len(kernels.arrays), -1, np.int64)
    widths = np.zeros(len(kernels.arrays), np.int64)
    for position, name in enumerate(kernels.arrays):
        number = int(name[1:])
        if name == "x0":  # the block itself: any other array takes its place
            inner[position] = layout.gathered
            arrays.append("y0")
            places.append(np.zeros(len(layout.blocks), np.int64))
            continue
        is_output = name[0] == "y"
        array = outputs[number] if is_output else others[number - 1]
        arrays.append(name if is_output else names[number - 1])
        places.append(layout.places(array.shape, array.strides))
        widths[position] = layout.width(array)
    numbers = [
        f"{number_type(dtype)}({names[int(name[1:]) - 1]})" for name, dtype in kernels.scalars
    ]
    formats = "".join([number_format(dtype) for _, dtype in kernels.scalars])
    taken = Taken(places, inner, widths, len(numbers), kernels.records)
    fixed = layout.taken(taken)
    return Fixed(fixed.slots, (*fixed.arrays, kernels.kept)), arrays, numbers, formats


def _printed(
    layout: Layout,
    fixed: Fixed,
    call: Call,
    inputs: Sequence[Array],
    other: Program,
    slots: tuple[list[str], list[str], str],
) -> Program:
    from tensorframe.backends.llvm.products.packed import run

    arrays, numbers, formats = slots
    names: dict[str, Any] = {
        "layout": layout,
        "fixed": fixed.slots,
        "kept": fixed.arrays,
        "other": other,
        "borrow": borrow,
        "give_back": give_back,
        "needed": (layout.packed_bytes, layout.scratch_bytes, len(layout.blocks)),
        "run_all": run,
        "pack": struct.Struct(f"={VARYING_SLOTS}{'Q' * len(arrays)}{formats}").pack,
    }
    lines = [f"{' '.join(f'x{index},' for index in range(call.given))} = inputs"]
    compared = [index for index in range(call.given) if np.ndim(inputs[index])]
    names.update({f"strides{index}": inputs[index].strides for index in compared})
    differs = " or ".join([f"x{index}.strides != strides{index}" for index in compared])
    lines.append(f"if {differs}: return other(inputs, buffers)")
    names.update(
        {f"x{call.given + number}": constant for number, constant in enumerate(call.constants)}
    )
    for number, make in enumerate(call.makers):
        names[f"new{number}"] = make
        if call.programs:
            names[f"made{number}"] = make().strides
            lines.append(f"y{number} = buffers[{number}]")
            lines.append(
                f"if y{number} is None or y{number}.strides != made{number}: y{number} = new{number}()"
            )
        else:
            lines.append(f"y{number} = new{number}()")
    left, right = call.factors
    objects = [f"id({name})" for name in (f"x{left}", f"x{right}", "memory", "y0", "memory")]
    lines.append("memory, free = borrow(*needed)")
    packed = ", ".join([*objects, "free", *[f"id({name})" for name in arrays], *numbers])
    lines.append(f"run_all(layout, pack({packed}), fixed)")
    lines.append("give_back(memory)")
    lines.append(f"return ({' '.join(f'y{number},' for number in range(len(call.makers)))})")
    source = "def run(inputs, buffers):\n" + "".join(f"    {line}\n" for line in lines)
    exec(compile(source, "<tensorframe product>", "exec"), names)  # noqa: S102 - printed above
    program: Program = names["run"]
    return program
