"""Regions of a product and its epilogue: where one ends and the other begins, and what the epilogue is for a block."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tensorframe.backends.numpy.creation import generate
from tensorframe.backends.numpy.functions import implementation
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape
from tensorframe.ops.quantization import WHOLE_PRODUCTS

Array = Any


def with_positions(region: Region) -> tuple[Region, tuple[Array, ...]]:
    """Return a region that takes the positions that it counts, and views of these, as further inputs, and these.

    They are as long as a row or column, and the same in every call.
    """
    first = len(region.inputs)
    values: dict[int, Array] = {}
    for value, op in enumerate(region.ops, start=first):
        if op.op.kind in (Kind.SOURCE, Kind.VIEW) and all(source in values for source in op.inputs):
            operands = [values[source] for source in op.inputs]
            values[value] = (
                implementation[op.op](*operands, *op.attrs) if operands else generate(op)
            )
    if not values:
        return region, ()
    made = [value for value in range(first, first + len(region.ops)) if value not in values]
    read = {source for value in made for source in region.ops[value - first].inputs}
    taken = sorted(read & set(values))
    rest = region.part([*range(first), *taken], made, region.outputs)
    return rest, tuple([values[value] for value in taken])


def has_epilogue(region: Region) -> bool:
    """Whether a region is a contraction and what is done to its result."""
    first = region.ops[0].op
    return (first.kind is Kind.CONTRACT or first in WHOLE_PRODUCTS) and len(region.ops) > 1


def has_chain(region: Region) -> bool:
    """Whether a region is a product, what is made of it, and the product that this is a factor of."""
    return has_epilogue(region) and any(op.op.kind is Kind.CONTRACT for op in region.ops[1:])


def permutation_of(region: Region) -> tuple[int, ...] | None:
    """Return the order of axes in which alone the result of a contraction is used, if there is one."""
    is_permuted = len(region.ops) > 1 and region.ops[1].op.kind is Kind.VIEW
    return region.ops[1].attrs[0] if is_permuted else None


def epilogue_of(region: Region) -> Region | None:
    """Return what is done to the result of a contraction, the result its first input; None if it is only permuted."""
    region, _ = with_positions(region)
    first = len(region.inputs)
    made = 1 if permutation_of(region) is None else 2
    rest = range(first + made, first + len(region.ops))
    if not rest:
        return None
    return region.part((first + made - 1, *others_of(region)), rest, region.outputs)


def overwrites_product(epilogue: Region) -> bool:
    """Whether the only result may be written over the block that it is made of, when that has been read."""
    last = len(epilogue.inputs) + len(epilogue.ops) - 1
    (_, dtype), *_ = epilogue.inputs
    return (
        all(op.op.kind is Kind.MAP for op in epilogue.ops)
        and epilogue.outputs == (last,)
        and epilogue.dtype_of(last) == dtype
    )


def others_of(region: Region) -> list[int]:
    """Return the inputs that the epilogue reads."""
    first = len(region.inputs)
    read = [source for op in region.ops[1:] for source in op.inputs if source < first]
    return list(dict.fromkeys(read))


def for_blocks(region: Region, whole: Shape, block: Shape) -> Region:
    """Return an epilogue for results of one shape as one for another shape."""

    def part(shape: Shape) -> Shape:
        own = block[len(block) - len(shape) :]
        return tuple(
            [size if size == 1 else extent for size, extent in zip(shape, own, strict=True)]
        )

    if whole == block:
        return region
    inputs = tuple([(part(shape), dtype) for shape, dtype in region.inputs])
    ops: tuple[RegionOp, ...] = tuple([replace(op, shape=part(op.shape)) for op in region.ops])
    return Region(inputs, ops, region.outputs)
