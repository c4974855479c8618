"""Programs of devices: which of them runs a region, by kernels, as a view, by a library call or on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorframe.backends.base import Program
from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.assign import SliceProgram, sets_slice
from tensorframe.backends.device.assigning import AssigningProgram, assigns
from tensorframe.backends.device.calls import CALLS
from tensorframe.backends.device.joining import PiecesProgram, joins_many, pads_along_many_axes
from tensorframe.backends.device.lowering import Lowering
from tensorframe.backends.device.memory import Pool
from tensorframe.backends.device.program import DeviceProgram, made
from tensorframe.backends.device.prologue import WithPrologue, has_prologue
from tensorframe.backends.device.queue import Queue
from tensorframe.backends.device.scatter import ScatterProgram, scatters
from tensorframe.backends.device.split_outputs import SplitProgram, split_outputs
from tensorframe.backends.device.views import is_view
from tensorframe.backends.device.without_kernels import (
    EmptyProgram,
    ViewProgram,
    first_operand,
    taken_parts,
)
from tensorframe.backends.numpy.engine import NumpyBackend
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import strides_of
from tensorframe.ops.movement import DEPENDS, PART, RESHAPE

if TYPE_CHECKING:
    from tensorframe.backends.device.engine import KernelBackend

_NUMPY = NumpyBackend()


class Programs:
    """Makes the programs of one backend, which opens devices and has its own library calls."""

    def __init__(self, backend: KernelBackend) -> None:
        self._backend = backend

    def program(self, region: Region, device: Device) -> Program:
        """Return the program of a region: kernels, a view, or a library call."""
        if region.ops[0].op.raw is not None:
            from tensorframe.backends.device.raw import RawProgram  # few programs have one

            open_device = self._backend.open_device(device)
            return RawProgram(
                region,
                open_device.queue,
                open_device.pool,
                partial(self.gathered, device),
                str(device),
                partial(self._reopened, device),
            )
        if scatters(region) and not _has_no_elements(region):
            return ScatterProgram(region, partial(self._kernels, device=device))
        if _has_no_elements(region) and not scatters(region):  # whose indices may be out of bounds
            if region.ops[0].op.parts > 1:
                return partial(self._by_host, region, device)
            open_device = self._backend.open_device(device)
            return EmptyProgram(region, open_device.pool, open_device.queue.traits.held)
        if any(0 in shape for shape, _ in region.inputs) and not sets_slice(region):
            return partial(self._by_host, region, device)
        if _is_call(region):
            return self._backend.call(region, device)
        if region.ops[0].op is PART:
            return partial(taken_parts, region)
        if region.ops[0].op is DEPENDS:
            return first_operand
        if sets_slice(region):
            return SliceProgram(region, partial(self._kernels, device=device))
        if joins_many(region) or pads_along_many_axes(region):
            new = partial(self._blank, region, device)
            return PiecesProgram(region, partial(self._kernels, device=device), new)
        if assigns(region):
            return AssigningProgram(region, partial(self._kernels, device=device))
        if has_prologue(region):
            return self._kernels(region, WithPrologue, device=device)
        parts = split_outputs(region, self._backend.open_device(device).queue.traits.max_buffers)
        if len(parts) > 1:
            return SplitProgram([self._kernels(part, device=device) for part in parts])
        kernels = self._kernels(region, device=device)
        if is_view(region):
            return ViewProgram(region, kernels, partial(self.gathered, device))
        return kernels

    def call(self, region: Region, device: Device) -> Program:
        """Return the program of a library call."""
        return CALLS[region.ops[0].op](region, partial(self._kernels, device=device))

    def gathered(self, device: Device, array: DeviceArray) -> DeviceArray:
        """Return the elements of a view in C order."""
        flat = (array.size,)
        flattening = RegionOp(RESHAPE, (flat,), (0,), flat, array.dtype)
        region = Region(((array.shape, array.dtype),), (flattening,), (1,))
        (gathered,) = self._kernels(region, device=device)((array,), (None,))
        return DeviceArray(gathered.block, array.dtype, array.shape, strides_of(array.shape))

    def _kernels(
        self, region: Region, lower: Callable[[Region], Lowering] = Lowering, *, device: Device
    ) -> DeviceProgram:
        open_device = self._backend.open_device(device)
        fallback = partial(self._refuse, region, device)
        return DeviceProgram(
            region,
            open_device.queue,
            open_device.pool,
            fallback,
            lower,
            partial(self._reopened, device),
        )

    def _reopened(self, device: Device) -> tuple[Queue, Pool]:
        open_device = self._backend.open_device(device)
        return open_device.queue, open_device.pool

    def _blank(self, region: Region, device: Device) -> DeviceArray:
        """Return an array for the only output of a region."""
        (value,) = region.outputs
        shape, open_device = region.shape_of(value), self._backend.open_device(device)
        held = open_device.queue.traits.held
        return made(open_device.pool, held, shape, region.dtype_of(value), range(len(shape)))

    def _refuse(self, region: Region, device: Device, inputs: Sequence[Any]) -> None:
        """Run a region in NumPy, whose error names the index that is out of bounds: kernels only set a mark."""
        with np.errstate(all="ignore"):  # checks are settled behind the steps, which are silent
            self._by_host(region, device, inputs, (None,) * len(region.outputs))

    def _by_host(
        self, region: Region, device: Device, inputs: Sequence[Any], buffers: Sequence[Any | None]
    ) -> Sequence[Any]:
        """Run a region in NumPy, on the host: one without elements to read, or one that fails."""
        arrays = [
            self._backend.download(self._backend.wrap(device, value))
            if isinstance(value, DeviceArray)
            else value
            for value in inputs
        ]
        results = _NUMPY.compile(region, device)(arrays, (None,) * len(buffers))

        def uploaded(result: Any) -> Any:
            if isinstance(result, tuple):
                return tuple([uploaded(part) for part in result])
            return self._backend.upload(device, np.asarray(result)).handle

        return [uploaded(result) for result in results]


def _is_call(region: Region) -> bool:
    return region.ops[0].op.kind in (Kind.CONTRACT, Kind.LIBRARY)


def _has_no_elements(region: Region) -> bool:
    """Whether no output has an element; one that has may still have inputs that have none."""
    return all(0 in region.shape_of(value) for value in region.outputs)
