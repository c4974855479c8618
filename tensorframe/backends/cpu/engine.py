"""The cpu backend: two engines over the same arrays, chosen region by region."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from tensorframe.backends.base import DeviceInfo, Program
from tensorframe.backends.cpu.tiers import TieredProgram
from tensorframe.backends.llvm.contiguous import ReshapeProgram, flattened
from tensorframe.backends.llvm.engine import (
    KERNELS,
    LlvmBackend,
    has_kernel,
    kernel_source,
    missing,
    unusable,
)
from tensorframe.backends.numpy.engine import CAPABILITIES, NumpyBackend, host_device
from tensorframe.backends.numpy.epilogue import epilogue_of, has_epilogue
from tensorframe.graph.device import Device
from tensorframe.graph.region import Region


class CpuBackend(NumpyBackend):
    """Starts in NumPy, and goes on in compiled kernels where they pay; without LLVM, NumPy all the way."""

    name = "cpu"

    def probe(self) -> list[DeviceInfo]:
        """The cpu is always there."""
        capabilities = KERNELS if missing() is None else CAPABILITIES
        return [host_device(self.name, f"{os.cpu_count()} cores", capabilities)]

    def compile(self, region: Region, device: Device) -> Program:
        """Return a program that begins in NumPy where a kernel is possible, else NumPy's."""
        flat = flattened(region)
        if flat is not None and missing() is None:
            numpy_program = _NUMPY.compile(flat, device)
            kernels = partial(_compiled, _LLVM.kernels, flat, device)
            return ReshapeProgram(region.ops[0].shape, TieredProgram(flat, numpy_program, kernels))
        program = _NUMPY.compile(region, device)
        loops = epilogue_of(region) if has_epilogue(region) else region
        if missing() is not None or loops is None or not has_kernel(loops):
            return program
        compiled = partial(_compiled, _LLVM.compile, region, device)
        return TieredProgram(loops, program, compiled, measured=loops is region)

    def source(self, region: Region, device: Device) -> str:
        """Return the text of the kernels that a region gets when they pay."""
        return "" if unusable() else kernel_source(region)


def _compiled(
    compile_region: Callable[[Region, Device], Any], region: Region, device: Device
) -> Any | None:
    """Return the program of kernels of a region, or None where LLVM is installed and does not load."""
    return None if unusable() else compile_region(region, device)


_NUMPY, _LLVM = NumpyBackend(), LlvmBackend()
