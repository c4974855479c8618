"""Regions run by the interpreter of kernels, which refuses whatever is out of an operand's bounds."""

from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensorframe.backends.llvm import program
from tensorframe.kernel.groups import choices, order
from tensorframe.kernel.groups import forms as groups
from tensorframe.kernel.groups import tiles as group_tiles
from tensorframe.kernel.ir import PAIR
from tensorframe.kernel.ir import order as axes
from tensorframe.kernel.ir.interpret import run, run_groups
from tensorframe.kernel.nest import nest
from tensorframe.runtime.execution.executor import run as execute
from tensorframe.runtime.execution.leaves import leaf_handle
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.schedule.capture import capture
from tensorframe.schedule.pipeline import make_plan


class Memory:
    """The elements of an array by their distance, in elements, from its first one."""

    def __init__(self, array):
        if array.dtype.kind == "c":  # kernels know its parts, next to each other
            steps = (*array.strides, array.dtype.itemsize // 2)
            array = as_strided(array.real, (*array.shape, 2), steps)
        self._array = array
        places = np.zeros(array.shape, np.int64)
        for axis, step in enumerate(array.strides):
            along = np.arange(array.shape[axis]).reshape((-1,) + (1,) * (array.ndim - axis - 1))
            places += along * (step // array.dtype.itemsize)
        self._index = {int(place): index for index, place in enumerate(places.ravel())}

    def _at(self, place):
        if isinstance(place, slice):
            numbers = range(place.start, place.stop)
            index = np.array([self._index[number] for number in numbers], np.intp)
        else:
            index = self._index[int(place)]
        return np.unravel_index(index, self._array.shape)

    def __getitem__(self, place):
        return self._array[self._at(place)]

    def __setitem__(self, place, value):
        self._array[self._at(place)] = value


def planned(*tensors):
    """The plan of tensors, made anew, and what it was made from."""
    request = capture([tensor.node for tensor in tensors])
    return make_plan(request), request


def interpreted(*tensors):
    """The values of tensors, whose kernels are interpreted instead of compiled."""
    plan, request = planned(*tensors)
    slots = [leaf_handle(leaf) for leaf in request.leaves]
    with patch.object(program, "launcher", _launcher):
        execute(plan, slots, request)
    return [slots[at] for at in plan.outputs]


@contextmanager
def interpreting():
    """Interpret what is computed meanwhile on the llvm device."""
    PLANS.clear()
    with patch.object(program, "launcher", _launcher):
        yield
    PLANS.clear()


@contextmanager
def in_groups(lanes=4, index=np.uint32, widest=np.float64, rows=0):
    """Build kernels of work-groups for what is planned meanwhile on the llvm device; chunks are small.

    Groups hold so many bytes of `rows`.
    """
    target = groups.Target(lanes, np.dtype(widest), np.dtype(index), rows=rows)
    small = {"_ENOUGH_ROWS": 5, "_ENOUGH_RESULTS": 9}
    with (
        patch.object(program, "build", partial(groups.build_groups, target=target)),
        patch.multiple(groups, **small),
        patch.multiple(choices, **small),
        patch.multiple(order, _RUN=2, _EACH=4, _FEW_SLOTS=2, _SHORT=9),
        patch.object(axes, "GROUP", 6),
        patch.object(nest, "_ROW", 3),
        patch.multiple(group_tiles, _SIDE=3, _PITCH=4, _LEAST=2),
    ):
        yield


def kernels_of(*tensors):
    """The kernels that a plan for tensors on the llvm device runs."""
    return [launch.kernel for launch in launches_of(*tensors)]


def launches_of(*tensors):
    """The launches of kernels that a plan for tensors on the llvm device runs."""
    made = []

    def note(region, parts, built, *rest):
        made.extend(built.launches)
        return _launcher(region, parts, built, *rest)

    plan, request = planned(*tensors)
    slots = [leaf_handle(leaf) for leaf in request.leaves]
    with patch.object(program, "launcher", note):
        execute(plan, slots, request)
    return made


def _launcher(region, parts, built, _strides, _other, fallback):
    """Stand in for the launcher of compiled kernels."""

    def run_or_refuse(inputs, buffers):
        operands = {f"x{index}": value for index, value in enumerate(inputs)}
        for at, imaginary in parts.imaginary.items():
            value = operands[f"x{at}"]
            operands |= {f"x{at}": value.real, f"x{imaginary}": value.imag}
        outputs = [
            _new(region, *one) if buffer is None else buffer
            for buffer, *one in zip(buffers, region.outputs, built.layouts, strict=True)
        ]
        operands |= {f"y{index}": output for index, output in enumerate(outputs)}
        missed = run_built(built, operands)
        return fallback(inputs, buffers) if missed else outputs

    return run_or_refuse


def run_built(built, operands):
    """Run kernels on operands by name; return whether an index was out of bounds."""
    for index, (dtype, size, first) in enumerate(built.partials):
        operands[f"p{index}"] = np.full(size, first, dtype)
    operands["m0"] = np.zeros(1, bool)
    for launch in built.launches:
        operands["f0"] = np.zeros(1, bool)
        _run_kernel(launch, launch.kernel, operands)
        if operands["f0"][0]:
            _run_kernel(launch, launch.general(), operands)
    return operands["m0"][0]


def numbers_of(launch, kernel):
    """The arguments of a kernel that are sizes and the like."""
    return {
        size: int(value) % 2 ** (8 * size.dtype.itemsize) if size.dtype.kind == "u" else value
        for size, value in zip(kernel.sizes, launch.numbers, strict=True)
    }


def _run_kernel(launch, kernel, operands):
    memory = {
        source: operands[source.name] if source.dtype == PAIR else Memory(operands[source.name])
        for source in (*kernel.inputs, *kernel.outputs)
    }
    arguments = numbers_of(launch, kernel)
    arguments |= {one: operands[f"x{one.name[1:]}"] for one in kernel.scalars}
    if kernel.lanes:
        run_groups(kernel, launch.total, memory, arguments, groups=2, lanes=kernel.lanes)
        return
    for start in range(0, launch.total, 3):  # as several threads would
        run(kernel, start, min(start + 3, launch.total), memory, arguments)


def _new(region, value, layout):
    shape = region.shape_of(value)
    back = [layout.index(axis) for axis in range(len(shape))]
    return np.zeros([shape[axis] for axis in layout], region.dtype_of(value)).transpose(back)
