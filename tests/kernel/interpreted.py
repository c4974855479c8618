"""Regions run by the interpreter of kernels, which refuses whatever is out of an operand's bounds."""

from unittest.mock import patch

import numpy as np

from tensorframe.backends.numba import program
from tensorframe.kernel.build import Built
from tensorframe.kernel.interpret import run
from tensorframe.runtime.executor import run as execute
from tensorframe.runtime.leaves import leaf_handle
from tensorframe.schedule.capture import capture
from tensorframe.schedule.pipeline import make_plan


class Memory:
    """The elements of an array by their distance, in elements, from its first one."""

    def __init__(self, array):
        self._array = array
        places = np.zeros(array.shape, np.int64)
        for axis, step in enumerate(array.strides):
            along = np.arange(array.shape[axis]).reshape((-1,) + (1,) * (array.ndim - axis - 1))
            places += along * (step // array.dtype.itemsize)
        self._index = {int(place): at for at, place in enumerate(places.ravel())}

    def _at(self, place):
        return np.unravel_index(self._index[int(place)], self._array.shape)

    def __getitem__(self, place):
        return self._array[self._at(place)]

    def __setitem__(self, place, value):
        self._array[self._at(place)] = value


def planned(*tensors):
    """The plan of tensors, made anew, and what it was made from."""
    request = capture([one.node for one in tensors])
    return make_plan(request), request


def interpreted(*tensors):
    """The values of tensors, whose kernels are interpreted instead of compiled."""
    plan, request = planned(*tensors)
    slots = [leaf_handle(leaf) for leaf in request.leaves]
    with patch.object(program, "launcher", _launcher):
        execute(plan, slots, request)
    return [slots[at] for at in plan.outputs]


def kernels_of(*tensors):
    """The kernels that a plan for tensors on the numba device runs."""
    made = []

    def note(*given):
        (built,) = [one for one in given if isinstance(one, Built)]
        made.extend(one.kernel for one in built.launches)
        return _launcher(*given)

    plan, request = planned(*tensors)
    slots = [leaf_handle(leaf) for leaf in request.leaves]
    with patch.object(program, "launcher", note):
        execute(plan, slots, request)
    return made


def _launcher(region, *given):
    """Stand in for the launcher of compiled kernels."""
    (built,) = [one for one in given if isinstance(one, Built)]
    careful = given[-1]

    def run_or_refuse(inputs, buffers):
        outputs, missed = run_built(region, built, inputs)
        return careful(inputs, buffers) if missed else outputs

    return run_or_refuse


def run_built(region, built, inputs):
    """The outputs that kernels give for a region's inputs, and whether an index was out of bounds."""
    operands = {"x": inputs, "y": [_new(region, *one) for one in _outputs(region, built)]}
    operands["p"] = [np.full(size, first, dtype) for dtype, size, first in built.partials]
    operands["m"], operands["f"] = [np.zeros(1, bool)], [np.zeros(1, bool)]
    for launch in built.launches:
        _run_kernel(launch, launch.kernel, operands)
        if operands["f"][0][0]:
            _run_kernel(launch, launch.complete, operands)
    return operands["y"], operands["m"][0][0]


def _run_kernel(launch, kernel, operands):
    memory = {
        one: Memory(operands[one.name[0]][int(one.name[1:])])
        for one in (*kernel.inputs, *kernel.outputs)
    }
    numbers = [value % 2**64 if type(value) is int else value for value in launch.numbers]
    arguments = dict(zip(kernel.sizes, numbers, strict=True))
    arguments |= {one: operands["x"][int(one.name[1:])] for one in kernel.scalars}
    for start in range(0, launch.total, 3):  # as several threads would
        run(kernel, start, min(start + 3, launch.total), memory, arguments)


def _outputs(region, kernels):
    return zip(region.outputs, kernels.layouts, strict=True)


def _new(region, value, layout):
    shape = region.shape_of(value)
    back = [layout.index(axis) for axis in range(len(shape))]
    return np.zeros([shape[axis] for axis in layout], region.dtype_of(value)).transpose(back)
