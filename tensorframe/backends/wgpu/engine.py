"""The WebGPU backend: which devices there are, and what they can do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tensorframe.backends.base import Capabilities, DeviceInfo
from tensorframe.backends.device.engine import EPILOGUES, KERNELS, KernelBackend
from tensorframe.backends.device.foreign import Memory
from tensorframe.backends.device.queue import Queue
from tensorframe.backends.wgpu.inside import dtypes_inside
from tensorframe.dtypes import SMALL, DType, float64
from tensorframe.graph.device import Device
from tensorframe.graph.op import Op

if TYPE_CHECKING:
    from tensorframe.backends.wgpu.adapters import Adapter

# buffers of a kernel that are left for what it writes
_OUTPUTS = 3


class WgpuBackend(KernelBackend):
    """Kernels in WGSL, on one device for each adapter and graphics interface."""

    name = "wgpu"
    has_libraries = False

    def probe(self) -> list[DeviceInfo] | str:
        """Return the adapters, GPUs first."""
        if find_spec("wgpu") is None:
            return "wgpu is not installed"
        try:
            adapters = _adapters()
        except Exception as error:
            return f"wgpu finds nothing: {type(error).__name__}: {error}"
        if not adapters:
            return "no adapter: there is no driver for Vulkan, Metal, Direct3D 12 or OpenGL"
        return [self._info(index, adapter) for index, adapter in enumerate(adapters)]

    def _info(self, index: int, adapter: Adapter) -> DeviceInfo:
        name = self.name if index == 0 else f"{self.name}:{index}"
        capabilities = Capabilities(
            dtypes=adapter.dtypes,
            fuses=KERNELS,
            epilogues=EPILOGUES,
            compiles=True,
            long_rows=not adapter.software,
            max_inputs=adapter.limits["max-storage-buffers-per-shader-stage"] - _OUTPUTS,
            max_ops=128,
            small_factors=SMALL & adapter.dtypes,
            language="wgsl",
        )
        return DeviceInfo(
            Device(name),
            adapter.name,
            capabilities,
            driver=adapter.driver,
            api=adapter.api,
            software=adapter.software,
            unified_memory=adapter.kind in ("IntegratedGPU", "CPU"),
            max_buffer=adapter.limits["max-buffer-size"],
            max_binding=adapter.limits["max-storage-buffer-binding-size"],
            max_bindings=adapter.limits["max-storage-buffers-per-shader-stage"],
            max_group=adapter.limits["max-compute-invocations-per-workgroup"],
            shared_memory=adapter.limits["max-compute-workgroup-storage-size"],
            subgroup=adapter.subgroup,
        )

    def supports(self, op: Op, operands: Sequence[DType], result: DType, device: Device) -> bool:
        """Whether kernels compute the op on dtypes that the device has, in arithmetic that it has."""
        has = _adapters()[device.index].dtypes
        return (
            has.issuperset((*operands, result))
            and super().supports(op, operands, result, device)
            and dtypes_inside(op, tuple(operands), result, double=float64 in has) <= has
        )

    def library_buffer(self, buffer: Any) -> Any:
        """Return the GPUBuffer."""
        return buffer.handle

    def memory_of(self, obj: Any) -> Memory | None:
        """Return what is known of a GPUBuffer; None if it is none."""
        if "wgpu" not in sys.modules:  # then it made no object either
            return None
        from tensorframe.backends.wgpu.handles import memory_of

        return memory_of(obj)

    def open_queue(self, device: Device) -> Queue:
        """Return the queue of a device."""
        from tensorframe.backends.wgpu.queue import WgpuQueue

        return WgpuQueue(_adapters()[device.index])


@cache
def _adapters() -> list[Adapter]:
    from tensorframe.backends.wgpu.adapters import adapters

    return adapters()
