"""A device that is not host memory, for tests: NumPy computes, but values are in boxes that only the device opens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorframe.backends.base import Backend, Capabilities, DeviceInfo, Program, byte_count
from tensorframe.backends.numpy.engine import NumpyBackend
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import ANY, DType
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape

__all__ = ["Box", "BoxedBackend"]

Array = np.ndarray[Any, Any]


class Box:
    """Values of a device: nothing but its backend looks inside."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = np.asarray(array)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return int(self._array.nbytes)


class BoxedBackend(Backend):
    """One device, `Device(name)`, that holds `dtypes` and refuses the ops that `refuses` is true for.

    `counts` says how often values were uploaded, downloaded, and copied from the devices in `neighbours`, which it
    reaches without the host. `runs` are the regions it has run.

    >>> import tensorframe.backends.registry
    >>> from tensorframe.testing.boxed import BoxedBackend
    >>> tfr.backends.register(BoxedBackend("boxed"))
    >>> (tfr.ones(2, device="boxed") + 1).tolist()
    [2.0, 2.0]
    >>> tensorframe.backends.registry.unregister("boxed")
    """

    def __init__(
        self,
        name: str,
        *,
        dtypes: frozenset[DType] = ANY,
        refuses: Callable[[Op, Sequence[DType]], bool] = lambda *_: False,
        neighbours: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.device = Device(name)
        self.dtypes = dtypes
        self.refuses = refuses
        self.neighbours = {Device(neighbour): neighbour for neighbour in neighbours}
        self.counts: Counter[str] = Counter()
        self.runs: list[Region] = []

    def probe(self) -> list[DeviceInfo]:
        """There is one device."""
        return [DeviceInfo(self.device, "boxes of NumPy arrays", Capabilities(dtypes=self.dtypes))]

    def supports(self, op: Op, operands: Sequence[DType], result: DType, device: Device) -> bool:
        """Whether the device is set to do so."""
        return super().supports(op, operands, result, device) and not self.refuses(op, operands)

    def allocate(self, _device: Device, nbytes: int) -> Box:
        """Return a box of bytes."""
        return Box(np.empty(byte_count(nbytes), np.uint8))

    def free(self, handle: Any) -> None:
        """Garbage collection frees boxes."""

    def upload(self, device: Device, array: Array) -> Storage:
        """Return a box with a copy of the values."""
        self.counts["uploads"] += 1
        self.counts["bytes up"] += array.nbytes
        return self.wrap(device, Box(np.array(array)))

    def download(self, storage: Storage) -> Array:
        """Return a copy of the values."""
        self.counts["downloads"] += 1
        self.counts["bytes down"] += storage.nbytes
        return np.array(opened(storage.handle))

    def reaches(self, source: Device, _target: Device) -> bool:
        """Whether values come from `source` without the host."""
        return source in self.neighbours

    def copy_from(self, storage: Storage, target: Device) -> Storage:
        """Return a box with a copy of what is in another device's box."""
        self.counts["copies"] += 1
        return self.wrap(target, Box(np.array(opened(storage.handle))))

    def wrap(self, device: Device, handle: Any) -> Storage:
        """Return the storage of a box."""
        array = opened(handle)
        return Storage(device, handle, array.dtype, array.shape)

    def native(self, storage: Storage) -> Box:
        """Return the box."""
        box: Box = storage.handle
        if not opened(box).flags.c_contiguous:
            raise ValueError("boxes are packed in C order")
        return box

    def adopt(
        self, obj: Any, _shape: Shape | None = None, _dtype: DType | None = None
    ) -> Storage | None:
        """Return the storage of a box."""
        return self.wrap(self.device, obj) if isinstance(obj, Box) else None

    def compile(self, region: Region, device: Device) -> Program:
        """Return what opens the boxes, lets NumPy compute, and packs the results."""
        held = {dtype for _, dtype in region.inputs} | {op.dtype for op in region.ops}
        if not held <= self.dtypes:
            raise AssertionError(f"{device} was given {held - self.dtypes}")
        if any(self.refuses(op.op, _operands(region, op.inputs)) for op in region.ops):
            raise AssertionError(f"{device} was given what it refuses: {region}")
        if all(op.op.kind is Kind.TRANSFER for op in region.ops):
            raise AssertionError("transfers are no regions")
        inner = _NUMPY.compile(region, device)

        def run(inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
            self.runs.append(region)
            return [
                packed(result) for result in inner([opened(source) for source in inputs], buffers)
            ]

        return run


def opened(handle: Any) -> Any:
    """Return what is in a box or a tuple of them; numbers are in none."""
    if type(handle) is tuple:
        return tuple([opened(part) for part in handle])
    if isinstance(handle, Box):
        return handle._array
    if isinstance(handle, np.ndarray):
        raise TypeError("an array of the host was given to a device with memory of its own")
    return handle


def packed(value: Any) -> Any:
    """Return a result in a box, of several each in its own."""
    return tuple(map(packed, value)) if type(value) is tuple else Box(value)


def _operands(region: Region, inputs: Sequence[int]) -> list[DType]:
    return [region.dtype_of(source) for source in inputs]


_NUMPY = NumpyBackend()
