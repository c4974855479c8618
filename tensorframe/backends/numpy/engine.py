"""The NumPy backend: handles are arrays, library calls and regions are NumPy calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorframe.backends import host_memory
from tensorframe.backends.base import Backend, Capabilities, DeviceInfo, Program, byte_count
from tensorframe.backends.budget import Budget
from tensorframe.backends.host_pool import owns_memory, pool
from tensorframe.backends.numpy.functions import Functions, implementation, no_kernels
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import SMALL
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region

if TYPE_CHECKING:
    from tensorframe.backends.numpy.convolution.convolution import Make
    from tensorframe.backends.numpy.products.chain import MakeTiles
    from tensorframe.backends.numpy.products.product import Multiply
    from tensorframe.backends.numpy.products.small_product import Find
    from tensorframe.backends.settings import Setting

CAPABILITIES = Capabilities(
    epilogues=frozenset({Kind.MAP, Kind.VIEW, Kind.SOURCE}),
    host_memory=True,
    runs_small=True,
    small_factors=SMALL,
    whole=True,
)


def host_device(name: str, title: str, capabilities: Capabilities) -> DeviceInfo:
    """Return what is known of a device whose memory is the host's."""
    total, left = host_memory.total_and_available()
    return DeviceInfo(
        Device(name),
        title,
        capabilities,
        total_memory=total,
        free_memory=left,
        unified_memory=True,
    )


class NumpyBackend(Backend):
    """Runs everything, everywhere: the engine that every other one falls back to."""

    name = "numpy"
    # whether compiled code does what is done to blocks of products
    compiles_blocks = False

    def probe(self) -> list[DeviceInfo]:
        """NumPy is always there."""
        return [host_device(self.name, f"NumPy {np.__version__}", CAPABILITIES)]

    def device_settings(self, device: Device) -> Mapping[str, Setting]:
        """Return what the devices of host memory share: the limit of that memory, and threads."""
        from tensorframe.backends.settings import memory_limit, threads  # few programs need it

        return {"memory_limit": memory_limit(lambda: pool.budget), "threads": threads()}

    def close(self, device: Device) -> None:
        """Give back what the host has pooled; arrays are NumPy's, and stay."""
        pool.trim()

    def allocate(self, device: Device, nbytes: int) -> np.ndarray[Any, Any]:
        """Return bytes on the host."""
        return np.empty(byte_count(nbytes), np.uint8)

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

    def reusable(self, handle: Any) -> bool:
        """Whether an array has memory of its own that may be written to."""
        return isinstance(handle, np.ndarray) and handle.flags.writeable and owns_memory(handle)

    def scratch(self, region: Region, device: Device) -> int:
        """Return what the functions that run a region take for themselves."""
        # plans need it, small graphs do not
        from tensorframe.backends.numpy.scratch.regions import scratch_bytes

        return scratch_bytes(region, compiled=self.compiles_blocks)

    def writes_over(self, region: Region, device: Device) -> bool:
        """Whether all that gives results are loops over elements: other functions have results of their own."""
        first, *others = [op.op.kind for op in region.ops]
        last = others if first is Kind.CONTRACT and others else (first, *others)
        return all(kind in (Kind.MAP, Kind.SCATTER) for kind in last)

    def copies_reshaped(self, region: Region, device: Device) -> bool:
        """NumPy does."""
        return True

    def budget(self, device: Device) -> Budget:
        """Return that of the host's memory."""
        return pool.budget

    def functions(self) -> Functions:
        """Return NumPy's functions."""
        return implementation

    def convolution(self) -> Make:
        """Return what makes convolutions of inputs without zeros between their elements."""
        from tensorframe.backends.numpy.convolution.convolution import (
            undilated,  # few programs need it
        )

        return undilated

    def small_products(self) -> Find:
        """Return what finds kernels for products of small elements."""
        return no_kernels

    def quantized_products(self) -> Any:
        """Return what finds kernels for products with quantised matrices."""
        return no_kernels

    def native_products(self) -> Callable[[], Any]:
        """Return what finds calls of BLAS that are made without the interpreter."""
        return no_kernels

    def products(self) -> Multiply:
        """Return what makes products of matrices."""
        from tensorframe.backends.numpy.products.product import Product  # few programs need it

        return Product

    def chains(self) -> MakeTiles | None:
        """Return what makes both products of a chain without the interpreter, if anything does."""
        return None

    def compile(self, region: Region, device: Device) -> Program:
        """Return what runs the region: blocks of an elementwise one, the one NumPy call, or a sequence of both."""
        from tensorframe.backends.numpy.programs import program_of  # plans need it

        return program_of(region, self, device)
