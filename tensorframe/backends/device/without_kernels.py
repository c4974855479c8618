"""Programs that compute nothing: views, tensors of a call that gives several, and results without elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.memory import Pool
from tensorframe.backends.device.program import DeviceProgram, made
from tensorframe.backends.device.views import Placed, places_of, viewed
from tensorframe.dtypes import DType
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.kernel.spaces.analyse import analyse

# Layouts of an input for which a program of views remembers where these are.
_LAYOUTS = 64


def first_operand(inputs: Sequence[Any], _: Sequence[Any | None]) -> Sequence[Any]:
    """Return the first operand: the others only had to be there."""
    return inputs[:1]


def taken_parts(
    region: Region, inputs: Sequence[Any], _buffers: Sequence[Any | None]
) -> Sequence[Any]:
    """Return some of the tensors that a library call has given."""
    return [inputs[op.inputs[0]][op.attrs[0]] for op in region.ops]


class ViewProgram:
    """Looks at an input in another way, or copies it where strides cannot say that."""

    quiet = True

    def __init__(
        self,
        region: Region,
        kernels: DeviceProgram,
        gathered: Callable[[DeviceArray], DeviceArray],
    ) -> None:
        """`gathered` copies the elements of a view in C order."""
        self._region = region
        self._kernels = kernels
        self._gathered = gathered
        self._places: dict[tuple[Shape, tuple[int, ...]], tuple[Placed, ...] | None] = {}

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the views."""
        (array,) = inputs
        places = self._placed(array) if isinstance(array, DeviceArray) else None
        if places is not None:
            return [place.of(array) for place in places]
        if isinstance(analyse(self._region), str):  # axes are cut where those of the result are not
            return self._step_by_step(array)
        return self._kernels(inputs, buffers)

    def _placed(self, array: DeviceArray) -> tuple[Placed, ...] | None:
        """Return where the views are, which is found once for a layout."""
        layout = array.shape, array.strides
        if layout not in self._places:
            if len(self._places) == _LAYOUTS:
                self._places.clear()
            self._places[layout] = places_of(self._region, *layout)
        return self._places[layout]

    def _step_by_step(self, array: DeviceArray) -> Sequence[DeviceArray]:
        """Return the views of copies, which have any shape."""
        values = [array]
        for op in self._region.ops:
            source = values[op.inputs[0]]
            step = Region(((source.shape, source.dtype),), (replace(op, inputs=(0,)),), (1,))
            view = viewed(step, source) or viewed(step, self._gathered(source))
            assert view is not None  # elements in C order have a view of any shape
            values += view
        return [values[output] for output in self._region.outputs]


class EmptyProgram:
    """Gives outputs of which none, or no input, has elements."""

    quiet = True

    def __init__(self, region: Region, pool: Pool, held: Mapping[DType, DType]) -> None:
        """`held` are dtypes that the device holds as others."""
        self._region = region
        self._pool = pool
        self._held = held

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return arrays without elements."""
        shapes = [self._region.shape_of(value) for value in self._region.outputs]
        dtypes = [self._region.dtype_of(value) for value in self._region.outputs]
        return [
            made(self._pool, self._held, shape, dtype, range(len(shape)))
            for shape, dtype in zip(shapes, dtypes, strict=True)
        ]
