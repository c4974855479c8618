"""The NumPy backend: handles are arrays, library calls and regions are NumPy calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.backends.base import Backend, Capabilities, DeviceInfo, Program
from tensorframe.backends.numpy.creation import generate
from tensorframe.backends.numpy.functions import implementation
from tensorframe.backends.numpy.region import elementwise_program
from tensorframe.backends.storage import Storage
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region

CAPABILITIES = Capabilities(host_memory=True)


class NumpyBackend(Backend):
    """Runs everything, everywhere: the engine that every other one falls back to."""

    name = "numpy"

    def probe(self) -> list[DeviceInfo]:
        """NumPy is always there, under the names `cpu` and `numpy`."""
        return [
            DeviceInfo(Device(name), f"NumPy {np.__version__}", CAPABILITIES)
            for name in ("cpu", "numpy")
        ]

    def allocate(self, device: Device, nbytes: int) -> np.ndarray[Any, Any]:
        """Return bytes on the host."""
        return np.empty(nbytes, np.uint8)

    def free(self, handle: Any) -> None:
        """Garbage collection frees arrays."""

    def upload(self, device: Device, array: np.ndarray[Any, Any]) -> Storage:
        """Host arrays are where they need to be."""
        return Storage.of_array(device, array)

    def download(self, storage: Storage) -> np.ndarray[Any, Any]:
        """Storage is a host array."""
        array: np.ndarray[Any, Any] = storage.handle
        return array

    def wrap(self, device: Device, handle: Any) -> Storage:
        """Return the storage of an array."""
        return Storage.of_array(device, handle)

    def compile(self, region: Region, device: Device) -> Program:
        """Return what runs the region: blocks of an elementwise one, else the one NumPy call."""
        if all(one.op.kind is Kind.MAP for one in region.ops):
            return elementwise_program(region)
        return _single_call(region)


def _single_call(region: Region) -> Program:
    """Return a program of one op; a scatter may work in the memory of its first operand."""
    (one,) = region.ops
    if one.op.kind is Kind.SOURCE:
        return lambda _inputs, _buffers: (generate(one),)
    function = implementation[one.op]
    attrs = one.attrs
    order = one.inputs
    in_place = one.op.kind is Kind.SCATTER

    def run(inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        operands = [inputs[at] for at in order]
        if in_place and buffers[0] is not None:
            return (function(*operands, *attrs, out=buffers[0]),)
        return (function(*operands, *attrs),)

    return run
