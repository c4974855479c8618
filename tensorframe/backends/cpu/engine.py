"""The cpu backend: two engines over the same arrays, chosen region by region."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from tensorframe.backends.base import DeviceInfo, Program
from tensorframe.backends.cpu.choice import CountingProgram, begins_compiled
from tensorframe.backends.cpu.functions import CpuFunctions
from tensorframe.backends.llvm.contiguous import ReshapeProgram, flattened
from tensorframe.backends.llvm.engine import (
    KERNELS,
    CompilingBackend,
    LlvmBackend,
    has_kernel,
    is_sparse,
    kernel_source,
    missing,
    raw_program,
    unusable,
    with_placing,
)
from tensorframe.backends.numpy.engine import CAPABILITIES, NumpyBackend, host_device
from tensorframe.backends.numpy.epilogue_region import epilogue_of, has_chain, has_epilogue
from tensorframe.backends.numpy.functions import Functions, implementation
from tensorframe.dtypes import ANY, COMPLEX
from tensorframe.graph.device import Device
from tensorframe.graph.region import Region
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.convolution import CONVOLUTION
from tensorframe.ops.exactness import is_exact_region

_IN_BLOCKS = frozenset({CONVOLUTION, MATMUL})


class CpuBackend(CompilingBackend):
    """Compiles at once what NumPy has other bits for, the rest when it has run often; NumPy alone where LLVM is not."""

    name = "cpu"

    def probe(self) -> list[DeviceInfo]:
        """The cpu is always there."""
        capabilities = KERNELS if missing() is None else CAPABILITIES
        return [host_device(self.name, f"{os.cpu_count()} cores", capabilities)]

    def functions(self) -> Functions:
        """Return functions with the bits of kernels, NumPy's own where there are none."""
        return _FUNCTIONS if missing() is None else implementation

    def compile(self, region: Region, device: Device) -> Program:
        """Return the kernels of a region, or a program that begins in NumPy if all of its ops are exact."""
        if region.ops[0].op.raw is not None:
            return raw_program(region)
        if missing() is not None:
            return _NUMPY.compile(region, device)
        if has_chain(region):
            return super().compile(region, device)
        flat = flattened(region)
        if flat is not None:
            kernels = partial(_LLVM.kernels, flat, device)
            scratch = partial(_NUMPY.scratch, flat, device)
            copy = CountingProgram(
                flat, _NUMPY.compile(flat, device), _or_numpy(kernels, flat, device), scratch
            )
            return ReshapeProgram(region.ops[0].shape, copy)
        # what is done to their blocks is compiled, or not, by itself
        first = region.ops[0].op
        is_call = first in _IN_BLOCKS or (first.whole and not is_sparse(region))
        if is_call:
            return super().compile(region, device)
        loops = epilogue_of(region) if has_epilogue(region) else region
        if loops is None or not has_kernel(loops):
            return with_placing(region, _NUMPY.compile(region, device))
        compiled = _or_numpy(partial(_LLVM.compile, region, device), region, device)
        if is_sparse(region) or not is_exact_region(loops):
            return compiled()
        scratch = partial(_NUMPY.scratch, region, device)
        return CountingProgram(loops, _NUMPY.compile(region, device), compiled, scratch)

    def scratch(self, region: Region, device: Device) -> int:
        """Return what the engine takes that runs the region; what both may run, the one that takes more."""
        if missing() is not None:
            return _NUMPY.scratch(region, device)
        kernels = _LLVM.scratch(region, device)
        if flattened(region) is not None or not has_kernel(region):
            return kernels
        if is_sparse(region) or begins_compiled(region):
            return kernels
        return max(kernels, _NUMPY.scratch(region, device))

    def writes_over(self, region: Region, device: Device) -> bool:
        """Whether the engine does so that runs the region; both, where both may."""
        if missing() is not None:
            return _NUMPY.writes_over(region, device)
        if begins_compiled(region):
            return _LLVM.writes_over(region, device)
        return _NUMPY.writes_over(region, device)  # exact ops have no rare sides

    def copies_reshaped(self, region: Region, device: Device) -> bool:
        """Whether NumPy may run a region."""
        if missing() is not None or not has_kernel(region):
            return True
        return not (is_sparse(region) or begins_compiled(region))

    def source(self, region: Region, device: Device) -> str:
        """Return the text of the kernels that a region gets."""
        return "" if unusable() else kernel_source(region)


def _or_numpy(
    compiled: Callable[[], Program], region: Region, device: Device
) -> Callable[[], Program]:
    """Return what compiles, and has NumPy run a region where LLVM is installed and does not load."""
    return lambda: _NUMPY.compile(region, device) if unusable() else compiled()


def _functions() -> Functions:
    return CpuFunctions(ANY - COMPLEX, for_complex=CpuFunctions(ANY))


_NUMPY, _LLVM, _FUNCTIONS = NumpyBackend(), LlvmBackend(), _functions()
