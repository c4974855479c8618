"""Remedies: the exact command that brings a device which is missing."""

from __future__ import annotations

import os
import sys
from functools import cache

from tensorframe.backends import amd, nvidia
from tensorframe.backends.entries import ELSEWHERE, INTERFACES
from tensorframe.backends.probing import Found

PROJECT = "tensorframe-lazy"


def extra(name: str) -> str:
    """Return the command that installs what an extra of this package names."""
    return f"pip install '{PROJECT}[{name}]'"


def remedies(probe: Found) -> tuple[str, ...]:
    """Return what to try, first things first, so that a backend finds a device; nothing if there is nothing to do."""
    if probe.origin:  # whatever its name is
        return (probe.fix or f"pip install --upgrade {probe.origin}",) if probe.failed else ()
    rule = _RULES.get(probe.name)
    return rule(probe) if rule is not None else ()


def _llvm(_: Found) -> tuple[str, ...]:
    return ("pip install --force-reinstall llvmlite",)


def _opencl(probe: Found) -> tuple[str, ...]:
    if probe.failed:
        return (extra("opencl"),)
    software = f"{extra('pocl')}, which is OpenCL on the processor, for tests"
    if not is_debian():
        return ("the OpenCL driver of the GPU's maker", software)
    packages = "intel-opencl-icd, mesa-opencl-icd (AMD) or nvidia-opencl-icd"
    return (f"sudo apt install one of {packages}", software)


def _webgpu(probe: Found) -> tuple[str, ...]:
    if probe.failed:
        return (extra("wgpu"),)
    if is_debian():
        return ("sudo apt install libvulkan1 mesa-vulkan-drivers",)
    return ("a driver from the GPU's maker; on Linux, the Vulkan loader and Mesa's Vulkan drivers",)


def _interface(probe: Found) -> tuple[str, ...]:
    """Return what helps where an interface of one system is asked for: nothing on another one."""
    if probe.name in ELSEWHERE and sys.platform != ELSEWHERE[probe.name][0]:
        return ()
    return _webgpu(probe)


def _dask(_: Found) -> tuple[str, ...]:
    return (extra("dask"),)


def _cuda(_: Found) -> tuple[str, ...]:
    release, packages = nvidia.driver_release(), nvidia.cupy_packages()
    if release is None:
        return ("a driver from nvidia.com, if there is an NVIDIA GPU",)
    wanted = "cuda13" if release >= 13000 else "cuda12"
    if len(packages) > 1:
        return (f"pip uninstall --yes {' '.join(packages)}, then {extra(wanted)}",)
    return (extra(wanted),)


def _rocm(_: Found) -> tuple[str, ...]:
    package = "a CuPy for ROCm, as docs.cupy.dev says"
    if amd.has_driver():
        return (package,)
    return (f"a driver from amd.com and {package}, if there is an AMD GPU",)


_RULES = {
    "dask": _dask,
    "llvm": _llvm,
    "opencl": _opencl,
    "wgpu": _webgpu,
    **dict.fromkeys(INTERFACES, _interface),
    "cuda": _cuda,
    "rocm": _rocm,
}


@cache
def is_debian() -> bool:
    """Whether packages come by apt: Debian, Ubuntu and what derives from them."""
    return os.name == "posix" and os.path.exists("/etc/debian_version")
