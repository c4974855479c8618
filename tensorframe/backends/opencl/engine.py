"""The OpenCL backend: which devices there are, and what they can do."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tensorframe.backends.base import Capabilities, DeviceInfo
from tensorframe.backends.device.engine import EPILOGUES, KERNELS, KernelBackend
from tensorframe.backends.device.foreign import Memory
from tensorframe.backends.device.queue import Queue
from tensorframe.backends.opencl.pocl import name_processor
from tensorframe.dtypes import ANY, SMALL, complex128, float64
from tensorframe.graph.device import Device

if TYPE_CHECKING:
    from tensorframe.backends.settings import Setting


class OpenClBackend(KernelBackend):
    """Kernels in OpenCL C, on devices in the order in which drivers list them."""

    name = "opencl"
    has_libraries = False

    def probe(self) -> list[DeviceInfo] | str:
        """Return the devices of all platforms, GPUs first."""
        if find_spec("pyopencl") is None:
            return "PyOpenCL is not installed"
        try:
            devices = _devices()
        except Exception as error:
            return f"no OpenCL platform: {error}"
        if not devices:
            return "OpenCL has no devices"
        return [self._info(index, device) for index, device in enumerate(devices)]

    def _info(self, index: int, device: Any) -> DeviceInfo:
        dtypes = ANY if "cl_khr_fp64" in device.extensions.split() else ANY - {float64, complex128}
        name = self.name if index == 0 else f"{self.name}:{index}"
        capabilities = Capabilities(
            dtypes=dtypes,
            fuses=KERNELS,
            epilogues=EPILOGUES,
            compiles=True,
            long_rows=_is_hardware(device),
            max_ops=128,
            small_factors=SMALL & dtypes,
            language="opencl",
        )
        return DeviceInfo(
            Device(name),
            device.name,
            capabilities,
            device.global_mem_size,
            driver=f"{device.platform.name} {device.driver_version}",
            software=not _is_hardware(device),
            unified_memory=bool(device.host_unified_memory),
            max_buffer=int(device.max_mem_alloc_size),
            max_binding=int(device.max_mem_alloc_size),
            max_group=int(device.max_work_group_size),
            shared_memory=int(device.local_mem_size),
            subgroup=_told(device, "warp_size_nv", "wavefront_width_amd"),
        )

    def open_queue(self, device: Device) -> Queue:
        """Return the queue of a device."""
        from tensorframe.backends.opencl.queue import OpenClQueue

        return OpenClQueue(_devices()[device.index])

    def device_settings(self, device: Device) -> Mapping[str, Setting]:
        """Return those of every device with kernels, and of pinned memory."""
        from tensorframe.backends.settings import automatic  # loads what few programs need

        def pin(pinned: bool | None) -> None:
            if self.is_open(device):
                queue: Any = self.open_device(device).queue
                queue.pin(pinned)

        return {**super().device_settings(device), "pinned": automatic(pin)}

    def memory_of(self, obj: Any) -> Memory | None:
        """Return what is known of a buffer or array of PyOpenCL's; None if it is neither."""
        if "pyopencl" not in sys.modules:  # then it made no object either
            return None
        from tensorframe.backends.opencl.handles import memory_of

        return memory_of(obj)


def _told(device: Any, *names: str) -> int | None:
    """Return the first of these facts that the driver tells: they are of extensions, and others raise for them."""
    import pyopencl as cl

    for name in names:
        with suppress(AttributeError, cl.Error):
            return int(getattr(device, name))
    return None


def _is_hardware(device: Any) -> bool:
    """Whether kernels run on something else than the processor: there, ours are compiled without OpenCL."""
    import pyopencl as cl

    return bool(device.type & (cl.device_type.GPU | cl.device_type.ACCELERATOR))


@cache
def _devices() -> list[Any]:
    import pyopencl as cl

    devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    for device in devices:
        name_processor(device)
    return sorted(devices, key=lambda device: device.type & cl.device_type.GPU == 0)
