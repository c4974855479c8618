"""Products on devices: a contraction and what is done to it elementwise, as one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.program import Form
from tensorframe.backends.device.queue import Queue
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.build import Built, analyse
from tensorframe.kernel.complex import in_parts
from tensorframe.kernel.dot import is_dot, summed
from tensorframe.kernel.product import Factor, Product, build_product
from tensorframe.ops.movement import RESHAPE

Strides = tuple[int, ...]


def product_form(region: Region) -> Form:
    """Return the form of a region whose first op, but for views of numbers, is a product."""
    at = next(at for at, one in enumerate(region.ops) if one.op.kind is Kind.CONTRACT)
    return Form(summed(region, at)) if is_dot(region, at) else _TiledForm(region, at)


class _TiledForm(Form):
    """A product of stacks of matrices and what is done to it, in tiles."""

    def __init__(self, original: Region, at: int) -> None:
        self._product = original.ops[at]
        self._value = len(original.inputs)
        self.original = original
        self.parts = in_parts(without(original, at))
        self.region = self.parts.region
        self.space = analyse(self.region)

    def built(
        self, queue: Queue, strides: Sequence[Strides], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernel for operands with these strides, in real elements."""
        assert into is None
        one = self._product
        left, right = one.inputs
        *_, length = self.original.shape_of(left)
        ndim = len(one.shape)
        *x, down, inner = self._steps(left, strides)
        *y, other, across = self._steps(right, strides)
        padded = [(0,) * (ndim - 2 - len(stack)) + tuple(stack) for stack in (x, y)]
        product = Product(
            self._value,
            one.shape,
            one.dtype,
            length,
            Factor(left, (*padded[0], down, 0), inner),
            Factor(right, (*padded[1], 0, across), other),
        )
        target = self.target(queue, strides)
        return build_product(self.region, self.space, strides, self.parts.places, product, target)

    def _steps(self, at: int, strides: Sequence[Strides]) -> Strides:
        """Return the steps of a factor along its axes; 0 where it broadcasts."""
        shape = self.original.shape_of(at)
        return tuple(
            [0 if size == 1 else step for size, step in zip(shape, strides[at], strict=False)]
        )


def without(region: Region, at: int) -> Region:
    """Return what is done to the result of an op of a region, which becomes the last of the inputs."""
    value, op = len(region.inputs), region.ops[at]
    made = value + at

    def now(source: int) -> int:
        if source == made:
            return value
        return source + 1 if value <= source < made else source

    ops = [
        replace(one, inputs=tuple([now(source) for source in one.inputs]))
        for one in region.ops
        if one is not op
    ]
    outputs = [now(output) for output in region.outputs]
    if value in outputs:  # an output is the result of an op
        outputs = [value + 1 + len(ops) if one == value else one for one in outputs]
        ops.append(RegionOp(RESHAPE, (op.shape,), (value,), op.shape, op.dtype))
    return Region((*region.inputs, (op.shape, op.dtype)), tuple(ops), tuple(outputs))
