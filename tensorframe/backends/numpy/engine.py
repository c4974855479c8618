"""The NumPy backend: handles are arrays, library calls and regions are NumPy calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorframe.backends import host_memory
from tensorframe.backends.base import Backend, Capabilities, DeviceInfo, Program, byte_count
from tensorframe.backends.budget import Budget
from tensorframe.backends.host_pool import owns_memory, pool
from tensorframe.backends.numpy.call import single_call
from tensorframe.backends.numpy.convolution import Make, undilated
from tensorframe.backends.numpy.epilogue import (
    ProductProgram,
    convolution_program,
    reads_small_factors,
    small_product_program,
)
from tensorframe.backends.numpy.epilogue_region import has_chain, has_epilogue
from tensorframe.backends.numpy.functions import Functions, implementation
from tensorframe.backends.numpy.interruptible import interruptible
from tensorframe.backends.numpy.product import Multiply, Product
from tensorframe.backends.numpy.region import elementwise_program
from tensorframe.backends.numpy.sequence import sequence_program
from tensorframe.backends.numpy.small_product import Find, no_kernels
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import SMALL
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.convolution import CONVOLUTION
from tensorframe.ops.quantization import WHOLE_PRODUCTS

if TYPE_CHECKING:
    from tensorframe.backends.numpy.chain import MakeTiles  # it looks at kernels
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
        from tensorframe.backends.numpy.scratch import (
            scratch_bytes,  # plans need it, small graphs do not
        )

        return scratch_bytes(region, compiled=self.convolution() is not undilated)

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
        return Product

    def chains(self) -> MakeTiles | None:
        """Return what makes both products of a chain without the interpreter, if anything does."""
        return None

    def compile(self, region: Region, device: Device) -> Program:
        """Return what runs the region: blocks of an elementwise one, the one NumPy call, or a sequence of both."""
        if has_chain(region):
            from tensorframe.backends.numpy.sweep import chain_program  # it looks at kernels

            compile_ = partial(self.compile, device=device)
            return chain_program(region, compile_, self.products(), self.chains())
        if region.ops[0].op in WHOLE_PRODUCTS:
            from tensorframe.backends.numpy.whole import Ways, WholeProgram  # few programs do

            compile_ = partial(self.compile, device=device)
            ways = Ways(
                self.quantized_products(),
                self.small_products(),
                self.products(),
                self.native_products(),
            )
            return WholeProgram(region, ways, compile_)
        is_small = reads_small_factors(region)
        if has_epilogue(region) or (region.ops[0].op is MATMUL and not is_small):
            compile_ = partial(self.compile, device=device)
            return ProductProgram(
                region,
                compile_,
                self.convolution(),
                self.products(),
                small_products=self.small_products(),
                native_products=self.native_products(),
            )
        if region.ops[0].op is CONVOLUTION:
            return convolution_program(region, self.convolution())
        if is_small:
            return small_product_program(region, self.small_products())
        if all(op.op.kind is Kind.MAP for op in region.ops):
            return elementwise_program(region)
        if len(region.ops) > 1:
            return sequence_program(region)
        (single,) = region.ops
        # a view is nothing to wait for, and a product is made in blocks
        brief = single.op.alias or single.op.kind is Kind.CONTRACT
        return single_call(region) if brief else interruptible(single_call(region), region)
