"""Which GPUs CuPy can use here, or why it can use none: asked from the cheapest question to the dearest."""

from __future__ import annotations

import re
from typing import Any

from tensorframe.backends import amd, nvidia
from tensorframe.backends.base import Capabilities, DeviceInfo
from tensorframe.backends.device.engine import KERNELS
from tensorframe.dtypes import ANY, SMALL
from tensorframe.errors import DeviceError
from tensorframe.graph.device import Device

_FOR_NVIDIA = re.compile(r"cupy-cuda(\d+)x?\Z")
_FOR_AMD = re.compile(r"cupy-rocm-")
_PROHIBITED = 2  # the compute mode in which a GPU takes no programs


def find(family: str = "cuda") -> list[DeviceInfo] | str:
    """Return the GPUs of a family, "cuda" or "rocm", or the reason that there are none; nothing is started on them."""
    packages = nvidia.cupy_packages()
    if len(packages) > 1:
        listed = " and ".join(packages)
        return f"{listed} are installed at once: each has overwritten files of the others"
    reason = _UNUSABLE[family](packages)
    if reason is not None:
        return reason
    try:
        import cupy

        if bool(cupy.cuda.runtime.is_hip) != (family == "rocm"):
            return _built_for_another("CuPy", family)
        count = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:
        return f"CuPy finds no GPU: {_first_line(error)}"
    return _usable(cupy, count)


def _unusable_for_nvidia(packages: tuple[str, ...]) -> str | None:
    """Return why these packages cannot run on NVIDIA's GPUs, without importing CuPy; None if it may."""
    if any(map(_FOR_AMD.match, packages)):
        return _built_for_another(packages[0], "cuda")
    matches = [_FOR_NVIDIA.match(package) for package in packages]
    needed = [int(match[1]) for match in matches if match is not None]
    if not needed:
        return None  # built from source: only CuPy itself knows for what
    release = nvidia.driver_release()
    if release is None:
        return "there is no NVIDIA driver"
    if release < 1000 * needed[0]:
        return f"the driver runs CUDA {_release(release)}, and {packages[0]} needs {needed[0]}.0"
    return None


def _unusable_for_amd(packages: tuple[str, ...]) -> str | None:
    """Return why these packages cannot run on AMD's GPUs, without importing CuPy; None if it may."""
    if not amd.has_driver():
        return "there is no AMD driver"
    if any(map(_FOR_NVIDIA.match, packages)):
        return _built_for_another(packages[0], "rocm")
    return None


_UNUSABLE = {"cuda": _unusable_for_nvidia, "rocm": _unusable_for_amd}


def _built_for_another(package: str, family: str) -> str:
    ours, theirs = ("ROCm", "CUDA") if family == "rocm" else ("CUDA", "ROCm")
    return f"{package} is here, but built for {theirs}, not for {ours}"


def _usable(cupy: Any, count: int) -> list[DeviceInfo] | str:
    usable, reasons = [], []
    for index in range(count):
        try:
            usable.append(_info(cupy, index))
        except Exception as error:  # one GPU that has fallen off the bus leaves the others
            reasons.append(f"GPU {index}: {_first_line(error)}")
    return usable or "; ".join(reasons) or "there is no GPU"


def _info(cupy: Any, index: int) -> DeviceInfo:
    from tensorframe.backends.cuda.compiler import compiler_release
    from tensorframe.backends.cuda.queue import architecture

    runtime = cupy.cuda.runtime
    facts = runtime.getDeviceProperties(index)
    if facts.get("computeMode") == _PROHIBITED:
        raise DeviceError("its compute mode prohibits programs")
    compiler_release()  # raises where the compiler's library is missing
    architecture(facts)
    family = "rocm" if runtime.is_hip else "cuda"
    address = [int(facts[name]) for name in ("pciDomainID", "pciBusID", "pciDeviceID")]
    return DeviceInfo(
        Device(family, index),
        facts["name"].decode(errors="replace"),
        # cuBLAS multiplies, and what is done to a product is a kernel of its own
        Capabilities(
            dtypes=ANY,
            fuses=KERNELS,
            compiles=True,
            long_rows=True,
            max_ops=128,
            small_factors=SMALL,
            only_thin=True,
            language="cuda",
        ),
        total_memory=int(facts["totalGlobalMem"]),
        free_memory=None if runtime.is_hip else nvidia.free_memory(*address),
        driver=f"{'ROCm' if runtime.is_hip else 'CUDA'} {_release(runtime.driverGetVersion())}",
        unified_memory=bool(facts.get("integrated")),
        compute_capability=None if runtime.is_hip else (int(facts["major"]), int(facts["minor"])),
        max_buffer=int(facts["totalGlobalMem"]),
        max_group=facts.get("maxThreadsPerBlock"),
        shared_memory=facts.get("sharedMemPerBlock"),
        subgroup=facts.get("warpSize"),
    )


def _release(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
