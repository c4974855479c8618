"""What is there of CUDA, without importing CuPy: the driver's release, and which packages of CuPy are installed."""

from __future__ import annotations

import ctypes
import re
import sys

_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_MANAGEMENT = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
_CUPY = r"cupy(-cuda\d+x?|-rocm-\d+-\d+)?\Z"  # compiled when it is first needed


def driver_release() -> int | None:
    """Return the release of CUDA that the driver runs, 12040 for 12.4; None if there is no driver."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return None
    release = ctypes.c_int()
    # needs no cuInit, so a GPU that hangs is not queried
    status = library.cuDriverGetVersion(ctypes.byref(release))
    return release.value if status == 0 else None


class _Memory(ctypes.Structure):
    """What the management library reports of a GPU's memory."""

    _fields_ = (
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


def free_memory(domain: int, bus: int, device: int) -> int | None:
    """Return the free bytes of the GPU at a PCI address; None if that is unknown.

    CUDA itself tells only whoever has begun to work on the GPU, which takes memory and time.
    """
    try:
        library = ctypes.CDLL(_MANAGEMENT)
    except OSError:
        return None
    if library.nvmlInit_v2() != 0:
        return None
    try:
        handle, memory = ctypes.c_void_p(), _Memory()
        address = f"{domain:08x}:{bus:02x}:{device:02x}.0".encode()
        if library.nvmlDeviceGetHandleByPciBusId_v2(address, ctypes.byref(handle)) != 0:
            return None
        told = library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0
        return int(memory.free) if told else None
    finally:
        library.nvmlShutdown()


def cupy_packages() -> tuple[str, ...]:
    """Return the installed packages that bring the module `cupy`: the last of several has overwritten the rest."""
    from importlib.metadata import distributions

    names = {
        str(distribution.metadata["Name"]).lower().replace("_", "-")
        for distribution in distributions()
    }
    return tuple(sorted(name for name in names if re.match(_CUPY, name)))
