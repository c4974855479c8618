"""Assignments where elements are made, on devices: one kernel computes them and writes them where indices point to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.assign import target_of
from tensorframe.backends.device.lowering import Lowering
from tensorframe.backends.device.make import Make
from tensorframe.backends.device.queue import Queue
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape, broadcast, broadcast_strides, strides_of
from tensorframe.kernel.groups.algorithms.assignment import Assigned, build_assignment
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.nest.nest import Access
from tensorframe.kernel.spaces.analyse import space_of
from tensorframe.kernel.spaces.complex import in_parts
from tensorframe.kernel.spaces.expand import expanded
from tensorframe.ops.elementwise import POSITIVE
from tensorframe.ops.indexing import SCATTER
from tensorframe.ops.movement import SLICE

Strides = tuple[int, ...]


def assigns(region: Region) -> bool:
    """Whether a region assigns what it makes to elements that indices point to, as its last op."""
    return len(region.ops) > 1 and region.ops[-1].op is SCATTER


class AssigningProgram:
    """Returns what a region makes, and its last output: a tensor with some of that in the place of its elements."""

    quiet = True

    def __init__(self, region: Region, make: Make) -> None:
        scatter = region.ops[-1]
        self._whole = scatter.inputs[0]
        known = scatter.shape, scatter.dtype
        same = RegionOp(POSITIVE, (), (0,), *known)
        self._copy = make(Region((known,), (same,), (1,)), Lowering)
        self._kernel = make(region, Assigning)

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the outputs; the last one is in the memory of the tensor that is assigned to, if that is given."""
        whole = inputs[self._whole]
        return self._kernel.run(inputs, target_of(whole, buffers[-1:], self._copy))

    def source(self) -> str:
        """Return the text of the kernel for operands in C order."""
        return self._kernel.source()


class Assigning(Lowering):
    """A region that ends with an assignment: the loops are those of what it makes before."""

    def __init__(self, original: Region) -> None:
        self.original = original
        first = len(original.inputs)
        *before, self._scatter = original.ops
        values = self._scatter.inputs[1]
        self._sizes = original.shape_of(values)
        self._lows: Shape = (0,) * len(self._sizes)
        if values == first + len(before) - 1 and before[-1].op is SLICE:
            *before, part = before
            self._lows, (values,) = part.attrs[0], part.inputs
        stored = original.outputs[:-1]
        self._is_kept = values in stored
        outputs = stored if self._is_kept else (*stored, values)
        self._output = outputs.index(values)
        made = replace(original, ops=tuple(before), outputs=outputs)
        self.parts = in_parts(expanded(made))
        self.region = self.parts.region
        self.space = space_of(self.region)

    def built(
        self, queue: Queue, strides: Sequence[Strides], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernel for operands with these strides, in real elements, and for the tensor that is `into`."""
        scatter = self._scatter
        axes, position = scatter.attrs
        indices = scatter.inputs[2:]
        shapes = [self.original.shape_of(source) for source in indices]
        chosen = broadcast(scatter.op.name, *shapes)
        pointing = [
            (
                source,
                self.original.dtype_of(source),
                broadcast_strides(shape, strides[source], chosen),
            )
            for source, shape in zip(indices, shapes, strict=True)
        ]
        access = (
            Access(0, strides_of(scatter.shape))
            if into is None
            else Access(into.offset, into.strides)
        )
        assigned = Assigned(
            self._output,
            self._lows,
            self._sizes,
            scatter.shape,
            axes,
            position,
            chosen,
            tuple(pointing),
            access,
            self._is_kept,
        )
        target = self.target(queue, strides, into)
        places = self.parts.places
        return build_assignment(self.region, self.space, strides, places, target, assigned)
