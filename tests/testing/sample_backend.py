"""A third-party backend, as small as one can be: memory of its own, and NumPy on copies of what lies there.

Its handles are bytes with a shape and a dtype, which nothing but its own methods can read. It holds no half precision
and no complex numbers, and leaves decompositions and sorting to the cpu.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.backends import Backend, Capabilities, DeviceInfo
from tensorframe.backends.base import Program
from tensorframe.backends.numpy.engine import NumpyBackend
from tensorframe.backends.storage import Storage
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region

HELD = dtypes.ANY - dtypes.COMPLEX - dtypes.NARROW
MEMORY = 1 << 33  # bytes that the device says it has


@dataclass(frozen=True)
class Handle:
    """Bytes of the device, and how to read them: elements in rows, one after the other."""

    memory: bytearray
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        return len(self.memory)


class SampleBackend(Backend):
    """Everything that the interface asks for, and nothing else."""

    name = "sample"

    def probe(self) -> list[DeviceInfo] | str:
        capabilities = Capabilities(dtypes=HELD, fuses=frozenset({Kind.MAP}))
        return [
            DeviceInfo(Device("sample", index), "a sample", capabilities, MEMORY)
            for index in range(2)
        ]

    def allocate(self, device: Device, nbytes: int) -> Handle:
        if nbytes > MEMORY:
            raise MemoryError(f"{nbytes} bytes of {MEMORY}")
        return Handle(bytearray(nbytes), (nbytes,), np.dtype(np.uint8))

    def free(self, handle: Handle) -> None:
        handle.memory.clear()

    def upload(self, device: Device, array: np.ndarray[Any, Any]) -> Storage:
        return self.wrap(device, _packed(array))

    def download(self, storage: Storage) -> np.ndarray[Any, Any]:
        return _unpacked(storage.handle)

    def wrap(self, device: Device, handle: Handle) -> Storage:
        return Storage(device, handle, handle.dtype, handle.shape)

    def supports(
        self, op: Op, operands: Sequence[dtypes.DType], result: dtypes.DType, device: Device
    ) -> bool:
        return op.kind is not Kind.LIBRARY and {*operands, result} <= HELD

    def compile(self, region: Region, device: Device) -> Program:
        run = self.computed(region)

        def program(inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
            # numbers that the graph holds come as numbers
            arrays = [
                _unpacked(source) if isinstance(source, Handle) else source for source in inputs
            ]
            with np.errstate(all="ignore"):
                return [_packed(np.asarray(one)) for one in run(arrays)]

        return program

    def computed(self, region: Region) -> Callable[[Sequence[Any]], Sequence[Any]]:
        """Return what computes a region's results from arrays. Here NumPy does; a device would have kernels."""
        engine = NumpyBackend().compile(region, Device("numpy"))
        return lambda arrays: engine(arrays, [None] * len(region.outputs))


def _packed(array: np.ndarray[Any, Any]) -> Handle:
    return Handle(bytearray(array.tobytes()), array.shape, array.dtype)


def _unpacked(handle: Handle) -> np.ndarray[Any, Any]:
    return np.frombuffer(bytes(handle.memory), handle.dtype).reshape(handle.shape)
