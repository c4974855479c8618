"""The backend: one device, with memory that nobody else looks into, and what runs a region in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

import tensorframe as tfr
from tensorframe.backends import (
    About,
    Backend,
    Capabilities,
    Device,
    DeviceInfo,
    DType,
    Kind,
    Op,
    Program,
    Region,
    Storage,
    byte_count,
)
from tensorframe_abacus.functions import FUNCTIONS

Array = np.ndarray[Any, Any]

# in bytes: what is larger is refused, as a device would
ROOM = 1 << 31
NAMES = "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64"
HELD = frozenset({getattr(tfr.dtypes, name) for name in NAMES.split()})


class Beads:
    """A handle: bytes, and how they are seen. Only this module looks inside."""

    __slots__ = ("data", "dtype", "shape")

    def __init__(self, array: Array) -> None:
        self.data = array.tobytes()
        self.dtype = array.dtype
        self.shape = array.shape

    @property
    def nbytes(self) -> int:
        """The number of bytes, which tensorframe asks every handle for."""
        return len(self.data)

    def read(self) -> Array:
        """Return the values."""
        return np.frombuffer(self.data, self.dtype).reshape(self.shape)


class AbacusBackend(Backend):
    """A device that computes what `functions.py` lists."""

    name = "abacus"
    about: ClassVar[About | None] = About(interface=(1, 0))
    device = Device("abacus")
    # elementwise operations may share a region: their intermediates never become beads
    capabilities = Capabilities(dtypes=HELD, fuses=frozenset({Kind.MAP}))

    def probe(self) -> list[DeviceInfo] | str:
        """Return the device; hardware that is missing would be a text that says why."""
        return [DeviceInfo(self.device, "beads on wires", self.capabilities, total_memory=ROOM)]

    def supports(self, op: Op, operands: Sequence[DType], result: DType, device: Device) -> bool:
        """Whether there is a function for it, on dtypes that the device holds."""
        return op.name in FUNCTIONS and HELD.issuperset((*operands, result))

    def allocate(self, device: Device, nbytes: int) -> Beads:
        """Return bytes."""
        if byte_count(nbytes) > ROOM:
            raise MemoryError(f"{nbytes} bytes: {device} has {ROOM} at most")
        return Beads(np.zeros(nbytes, np.uint8))

    def free(self, handle: Beads) -> None:
        """Garbage collection does."""

    def upload(self, device: Device, array: Array) -> Storage:
        """Return storage with a copy of a host array."""
        return self.wrap(device, Beads(array))

    def download(self, storage: Storage) -> Array:
        """Return the values."""
        beads: Beads = storage.handle
        return beads.read()

    def wrap(self, device: Device, handle: Beads) -> Storage:
        """Return the storage of a handle."""
        return Storage(device, handle, handle.dtype, handle.shape)

    def compile(self, region: Region, device: Device) -> Program:
        """Return what runs the region's operations, one after the other, on values by number."""

        def program(inputs: Sequence[Any], _buffers: Sequence[Any]) -> list[Beads]:
            values = [
                _read(given, dtype) for given, (_, dtype) in zip(inputs, region.inputs, strict=True)
            ]
            for step in region.ops:
                operands = [values[source] for source in step.inputs]
                made = FUNCTIONS[step.op.name](*operands, *step.attrs)
                values.append(np.asarray(made, step.dtype))
            return [Beads(values[output]) for output in region.outputs]

        return program


def _read(given: Any, dtype: DType) -> Array:
    """Return an input's values: numbers that the program holds come as such."""
    return given.read() if isinstance(given, Beads) else np.asarray(given, dtype)
