"""A backend that runs nothing: it lets plans be made, read and counted without the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.backends.base import Backend, Capabilities, DeviceInfo, Program, byte_count
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import SMALL, DType
from tensorframe.errors import DeviceError
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.quick_dataclasses import dataclass

# stands in for devices that are not here, in estimates
IMAGINED = Device("dry", 1)

# What is assumed of these: kernels as the compiled ones of the cpu, in memory of their own.
_KERNELS = Capabilities(
    fuses=frozenset(
        {Kind.MAP, Kind.REDUCE, Kind.SCAN, Kind.VIEW, Kind.GATHER, Kind.SCATTER, Kind.SOURCE}
    ),
    epilogues=frozenset({Kind.MAP, Kind.VIEW}),
    compiles=True,
    max_ops=128,
    executes=False,
    small_factors=SMALL,
)


@dataclass(frozen=True, slots=True)
class DryHandle:
    """Bytes that would have been allocated."""

    shape: Shape
    dtype: DType

    @property
    def nbytes(self) -> int:
        """How many they would be."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


class DryBackend(Backend):
    """Accepts everything and holds no values."""

    name = "dry"

    def probe(self) -> list[DeviceInfo]:
        """There are two dry devices: one that runs functions op by op, and one with kernels."""
        return [
            DeviceInfo(Device("dry"), "plans only", Capabilities(executes=False)),
            DeviceInfo(IMAGINED, "plans only, with kernels", _KERNELS),
        ]

    def allocate(self, device: Device, nbytes: int) -> DryHandle:
        """Return the account of `nbytes` bytes."""
        return DryHandle((byte_count(nbytes),), np.dtype(np.uint8))

    def free(self, handle: Any) -> None:
        """Nothing is held."""

    def upload(self, device: Device, array: np.ndarray[Any, Any]) -> Storage:
        """Return storage of the array's layout, without its values."""
        return self.wrap(device, DryHandle(array.shape, array.dtype))

    def download(self, storage: Storage) -> np.ndarray[Any, Any]:
        """A dry device has no values to give: DeviceError."""
        raise DeviceError(
            f"the device {str(storage.device)!r} makes plans only: it holds no values",
            suggestions=(
                "tfr.explain(t) to read the plan",
                't.to_backend("cpu") before the ops that should run',
            ),
        )

    def wrap(self, device: Device, handle: DryHandle) -> Storage:
        """Return storage without values."""
        return Storage(device, handle, handle.dtype, handle.shape)

    def compile(self, region: Region, device: Device) -> Program:
        """Return a program that only says what it would give."""
        first = len(region.inputs)
        made = [region.ops[value - first] for value in region.outputs]
        handles = tuple(DryHandle(op.shape, op.dtype) for op in made)

        def run(inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
            return handles

        return run
