"""Products on devices: a contraction and what is done to it elementwise, as one kernel, or two for few results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.lowering import Lowering
from tensorframe.backends.device.make import Make
from tensorframe.backends.device.program import DeviceProgram
from tensorframe.backends.device.queue import Queue
from tensorframe.dtypes import BOOL, DType, wide_of
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape
from tensorframe.kernel.groups.algorithms.blocking import chunk_of
from tensorframe.kernel.groups.algorithms.product_loops import Factor, Product
from tensorframe.kernel.groups.algorithms.products import build_product
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.spaces.analyse import space_of
from tensorframe.kernel.spaces.complex import in_parts
from tensorframe.kernel.spaces.dot import is_dot, summed
from tensorframe.ops.elementwise import CAST
from tensorframe.ops.movement import RESHAPE
from tensorframe.ops.reduction import ANY_TRUE, SUM

Strides = tuple[int, ...]


def product_program(region: Region, make: Make) -> DeviceProgram | InParts:
    """Return the program of a region whose first op is a product, and of what is done to it."""
    if is_dot(region, 0):
        return make(summed(region, 0), Lowering)
    op = region.ops[0]
    length = region.shape_of(op.inputs[0])[-1]
    chunk = chunk_of(prod(op.shape), length)
    if chunk < length:
        return InParts(region, -(-length // chunk), chunk, make)
    return make(region, TiledProduct)


class InParts:
    """A product with few results of long rows and columns: those of parts of them, which a second kernel adds up."""

    quiet = True

    def __init__(self, region: Region, parts: int, chunk: int, make: Make) -> None:
        op = region.ops[0]
        self._factors = op.inputs
        factors = tuple([region.inputs[source] for source in op.inputs])
        shape = (parts, *op.shape)
        dtype = wide_of(op.dtype)
        product = RegionOp(op.op, op.attrs, (0, 1), shape, dtype)
        self._products = make(Region(factors, (product,), (2,)), partial(TiledProduct, chunk=chunk))
        self._sum = make(_added_up(region, shape, dtype), Lowering)

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the outputs for these inputs."""
        (products,) = self._products([inputs[factor] for factor in self._factors], (None,))
        return self._sum((*inputs, products), buffers)

    def source(self) -> str:
        """Return the text of the kernels for operands in C order."""
        return f"{self._products.source()}\n{self._sum.source()}"


def _added_up(region: Region, shape: Shape, dtype: DType) -> Region:
    """Return a region that has the products of parts as its last input, in place of the whole product."""
    rest, op = without(region, 0), region.ops[0]
    value = len(region.inputs)
    ops = [RegionOp(ANY_TRUE if dtype in BOOL else SUM, ((0,), False), (value,), shape[1:], dtype)]
    if dtype != op.dtype:
        ops.append(RegionOp(CAST, (op.dtype,), (value + 1,), op.shape, op.dtype))
    total, more = value + len(ops), len(ops)

    def now(source: int) -> int:
        return source if source < value else total if source == value else source + more

    ops += [replace(op, inputs=tuple([now(source) for source in op.inputs])) for op in rest.ops]
    inputs = (*region.inputs, (shape, dtype))
    return Region(inputs, tuple(ops), tuple([now(output) for output in rest.outputs]))


class TiledProduct(Lowering):
    """A product of stacks of matrices and what is done to it, in tiles.

    Views of numbers may come before it. With `chunk` its first axis counts parts of the inner one.
    """

    def __init__(self, original: Region, chunk: int = 0) -> None:
        contraction = next(
            number for number, op in enumerate(original.ops) if op.op.kind is Kind.CONTRACT
        )
        self._product = original.ops[contraction]
        self._chunk = chunk
        self._value = len(original.inputs)
        self.original = original
        self.parts = in_parts(without(original, contraction))
        self.region = self.parts.region
        self.space = space_of(self.region)

    def built(
        self, queue: Queue, strides: Sequence[Strides], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernel for operands with these strides, in real elements."""
        assert into is None
        product, target = self.product(strides), self.target(queue, strides)
        return build_product(self.region, self.space, strides, self.parts.places, product, target)

    def product(self, strides: Sequence[Strides]) -> Product:
        """Return where the factors are, of operands with these strides."""
        matmul_op = self._product
        left, right = matmul_op.inputs
        *stack, down, inner = self._steps(left, strides)
        *other, along, across = self._steps(right, strides)
        return Product(
            self._value,
            matmul_op.shape,
            matmul_op.dtype,
            self.original.shape_of(left)[-1],
            Factor(left, (*self._stacked(stack, inner), down, 0), inner),
            Factor(right, (*self._stacked(other, along), 0, across), along),
            self._chunk,
        )

    def _steps(self, index: int, strides: Sequence[Strides]) -> Strides:
        """Return the steps of a factor along its axes; 0 where it broadcasts."""
        shape = self.original.shape_of(index)
        return tuple(
            [0 if size == 1 else step for size, step in zip(shape, strides[index], strict=False)]
        )

    def _stacked(self, steps: Sequence[int], inner: int) -> Strides:
        """Return a factor's steps along the product's stack."""
        first = (self._chunk * inner,) if self._chunk else ()
        depth = len(self._product.shape) - 2 - len(first)
        return (*first, *(0,) * (depth - len(steps)), *steps)


def without(region: Region, index: int) -> Region:
    """Return what is done to the result of an op of a region, which becomes the last of the inputs."""
    value, op = len(region.inputs), region.ops[index]
    made = value + index
    others = [number for number in range(value, value + len(region.ops)) if number != made]
    rest = region.part((*range(value), made), others, region.outputs)
    if value not in rest.outputs:
        return rest
    # an output is the result of an op
    outputs = tuple([value + 1 + len(others) if slot == value else slot for slot in rest.outputs])
    same = RegionOp(RESHAPE, (op.shape,), (value,), op.shape, op.dtype)
    return replace(rest, ops=(*rest.ops, same), outputs=outputs)
