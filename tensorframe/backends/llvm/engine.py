"""The llvm backend: every region that kernels can compute is compiled by LLVM, NumPy runs the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from tensorframe.backends.base import DeviceInfo, Program
from tensorframe.backends.collector import paused
from tensorframe.backends.entries import Failure, guarded, is_installed
from tensorframe.backends.host_pool import pool
from tensorframe.backends.llvm.contiguous import ReshapeProgram, flattened
from tensorframe.backends.numpy.engine import CAPABILITIES, NumpyBackend, host_device
from tensorframe.backends.numpy.epilogue_region import epilogue_of, has_chain, has_epilogue
from tensorframe.cached import cached_property
from tensorframe.dtypes import COMPLEX
from tensorframe.errors import KernelError
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.ops.convolution import CONVOLUTION
from tensorframe.ops.indexing import SCATTER, SCATTER_ADD
from tensorframe.ops.sparse import SPARSE

if TYPE_CHECKING:
    from tensorframe.backends.bound import Calls, NativeCall
    from tensorframe.backends.llvm.program import KernelProgram
    from tensorframe.backends.llvm.scatter import ScatterProgram
    from tensorframe.backends.numpy.convolution.convolution import Make
    from tensorframe.backends.numpy.products.chain import MakeTiles
    from tensorframe.backends.numpy.products.product import Multiply
    from tensorframe.backends.numpy.products.small_product import Find

    Kernels: TypeAlias = KernelProgram | ScatterProgram

Array = Any

# Bytes that LLVM takes at most to be loaded, and to compile a kernel, beside pages of its file: measured.
COMPILER = 8 << 20

# what runs together in one kernel
COMPILED = frozenset(
    {Kind.MAP, Kind.REDUCE, Kind.SCAN, Kind.VIEW, Kind.GATHER, Kind.SCATTER, Kind.SOURCE}
)

KERNELS = replace(
    CAPABILITIES,
    fuses=COMPILED,
    epilogues=CAPABILITIES.epilogues | {Kind.REDUCE},
    chains=True,
    compiles=True,
    one_pass_variance=True,
    row_by_row=True,
    max_ops=128,
    language="cpu",
)


@cache
def missing() -> str | None:
    """Return why there are no compiled kernels here, or None if there are, for all that can be seen from outside."""
    return None if is_installed("llvmlite") else "llvmlite is not installed"


@cache
def unusable() -> str | None:
    """Return why LLVM compiles nothing here, or None if it does; this loads it."""
    reason = missing()
    if reason is not None:
        return reason

    def load() -> None:
        pool.budget.has_room(COMPILER)  # or as much as there is
        with paused(ages=True):
            from tensorframe.backends.llvm.library import load_beside

            load_beside()
            from tensorframe.backends.llvm.target import target_machine  # with most of kernel/

            target_machine()

    loading = guarded(load)
    return f"llvmlite does not load: {loading.reason}" if isinstance(loading, Failure) else None


def is_loaded() -> bool:
    """Whether this process loaded LLVM, or tried to."""
    return unusable.cache_info().currsize > 0


_COMPUTING = frozenset({Kind.MAP, Kind.REDUCE, Kind.SCAN, Kind.GATHER})


def is_combined(region: Region) -> bool:
    """Whether a region is a scatter that combines elements with values, which a kernel of its own does."""
    scatter, *others = region.ops
    op = scatter.op
    if others or op.kind is not Kind.SCATTER or op.combination is None:
        return False
    return scatter.dtype not in COMPLEX or (op is SCATTER_ADD and () not in dict(region.inputs))


def is_sparse(region: Region) -> bool:
    """Whether a region is a product with sparse matrices, which has kernels of its own."""
    return region.ops[0].op in SPARSE


def has_kernel(region: Region) -> bool:
    """Whether a region is a loop that computes something, and nothing that kernels cannot compute."""
    latest, known = _State.latest
    if latest is not region:  # who plans a step wants to know several times in a row
        known = _has_kernel(region)
        _State.latest = (region, known)
    return known


class _State:
    latest: tuple[Region | None, bool] = (None, False)


def _has_kernel(region: Region) -> bool:
    from tensorframe.kernel.nest.support import computable  # brings most of kernel/

    return (
        (
            is_combined(region)
            or is_sparse(region)
            or (
                all(
                    computable(op.op, [region.dtype_of(s) for s in op.inputs], op.dtype)
                    for op in region.ops
                )
                and any(op.op.kind in _COMPUTING for op in region.ops)
            )
        )
        # of operands without elements, a load outside an empty loop would read one
        and all(0 not in shape for shape, _ in region.inputs)
        and all(0 not in region.shape_of(value) for value in region.outputs)
    )


def with_placing(region: Region, program: Program) -> Program:
    """Return NumPy's program of a region, which can be bound if it is a scatter that replaces elements."""
    if len(region.ops) > 1 or region.ops[0].op is not SCATTER:
        return program
    from tensorframe.backends.llvm.placing import PlacingProgram  # few programs need it

    return PlacingProgram(region, program)


class CompilingBackend(NumpyBackend):
    """What NumPy's engine calls, made by compiled code: both devices of the host that have LLVM are one."""

    compiles_blocks = True

    def convolution(self) -> Make:
        """Return what makes convolutions by compiled products."""
        from tensorframe.backends.llvm.compiled_calls import compiled_convolution

        return compiled_convolution

    def small_products(self) -> Find:
        """Return what finds kernels for products of small elements."""
        from tensorframe.backends.llvm.compiled_calls import small_kernels

        return small_kernels

    def quantized_products(self) -> Any:
        """Return what finds kernels for products with quantised matrices."""
        from tensorframe.backends.llvm.compiled_calls import quantized_kernels

        return quantized_kernels

    def native_products(self) -> Callable[[], Any]:
        """Return what finds calls of BLAS in compiled code."""
        from tensorframe.backends.llvm.compiled_calls import blas_kernels

        return blas_kernels

    def products(self) -> Multiply:
        """Return what makes products, by compiled tiles."""
        from tensorframe.backends.llvm.compiled_calls import compiled_product

        return compiled_product

    def chains(self) -> MakeTiles:
        """Return what makes both products of a chain, by compiled tiles."""
        from tensorframe.backends.llvm.compiled_calls import tiled_chain

        return tiled_chain

    def prepared_calls(self, calls: Sequence[NativeCall | None]) -> Calls | None:
        """Return what runs calls of kernels without the interpreter; None where LLVM does not load."""
        if unusable() is not None:
            return None
        from tensorframe.backends.llvm.prepared_calls import PreparedCalls  # imports LLVM

        return PreparedCalls(calls)


class LlvmBackend(CompilingBackend):
    """Compiles at once, whatever it takes: what the engine can do, without NumPy in front of it."""

    name = "llvm"

    def probe(self) -> list[DeviceInfo] | str:  # type: ignore[override]
        """Return the device if LLVM is there."""
        reason = unusable()
        if reason is not None:
            return reason
        from tensorframe.backends.llvm.target import compiler_name  # imports LLVM

        capabilities = replace(KERNELS, runs_small=False)
        return [host_device(self.name, compiler_name(), capabilities)]

    def compile(self, region: Region, device: Device) -> Program:
        """Return the kernels of a region."""
        if region.ops[0].op.raw is not None:
            return raw_program(region)
        flat = flattened(region)
        if flat is not None:
            return ReshapeProgram(region.ops[0].shape, self.kernels(flat, device))
        if not has_kernel(region):
            return with_placing(region, super().compile(region, device))
        return self.kernels(region, device)

    def scratch(self, region: Region, device: Device) -> int:
        """Return what kernels take for partial results, NumPy's functions for themselves where it has none."""
        if flattened(region) is not None:
            return 0
        if region.ops[0].op is CONVOLUTION:
            from tensorframe.backends.llvm.convolution.scratch import (
                scratch_of_convolution,  # plans need it
            )

            taken = scratch_of_convolution(region)
            return super().scratch(region, device) if taken is None else taken
        if not has_kernel(region):
            return super().scratch(region, device)
        from tensorframe.backends.llvm.scratch import kernel_scratch  # plans need it

        return kernel_scratch(region)

    def writes_over(self, region: Region, device: Device) -> bool:
        """Whether the kernels of a region do so."""
        if not has_kernel(region):
            return super().writes_over(region, device)
        from tensorframe.backends.llvm.scratch import writes_over  # plans need it

        return writes_over(region)

    def copies_reshaped(self, region: Region, device: Device) -> bool:
        """Whether NumPy runs a region."""
        return not has_kernel(region)

    def kernels(self, region: Region, device: Device) -> Kernels:
        """Return the program of compiled kernels of a region that has them."""
        return _kernels(region, _Later(partial(super().compile, region, device)))

    def source(self, region: Region, device: Device) -> str:
        """Return the text of a region's kernels."""
        return kernel_source(region)


class _Later:
    """A program that is made when it first runs: what kernels leave to it, few programs ever do."""

    def __init__(self, make: Callable[[], Program]) -> None:
        self._make = make

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        return self._program(inputs, buffers)

    @cached_property
    def _program(self) -> Program:
        return self._make()


def raw_program(region: Region) -> Program:
    """Return what runs a user's function, which Numba compiles; KernelError where there is none, or no Numba."""
    call = region.ops[0].op.raw
    if call.source("cpu") is None:
        raise KernelError(
            f"{call.name}: neither a source in Python nor a reference, so the host cannot run it",
            suggestions=('source={"cpu": function}', "reference=function of tensors"),
        )
    if not is_installed("numba"):
        raise KernelError(
            f"{call.name}: Numba, which compiles its source in Python, is not installed",
            suggestions=("pip install tensorframe-lazy[numba]",),
        )
    from tensorframe.backends.llvm.raw import RawProgram  # imports LLVM
    from tensorframe.backends.numpy.interruptible import interruptible

    return interruptible(RawProgram(region), region)


def kernel_source(region: Region) -> str:
    """Return the text of the kernels of a region for operands in C order; empty if NumPy runs it."""
    if region.ops[0].op.raw is not None:
        from tensorframe.backends.llvm.raw import RawProgram  # imports LLVM

        return RawProgram(region).source()
    if has_chain(region):
        from tensorframe.backends.numpy.products.sweep import parts_of  # it looks at kernels

        return "\n".join(filter(None, map(kernel_source, parts_of(region))))
    loops = epilogue_of(region) if has_epilogue(region) else region
    if loops is None or not has_kernel(loops):
        return ""
    return _kernels(loops).source()


def _kernels(region: Region, *fallback: Program) -> Kernels:
    """Return the program of a region's kernels, and, for what they cannot say of errors, another one."""
    if is_combined(region):
        from tensorframe.backends.llvm.scatter import ScatterProgram  # imports LLVM

        return ScatterProgram(region, *fallback)
    if is_sparse(region):
        from tensorframe.backends.llvm.sparse import SparseProgram  # imports LLVM

        return SparseProgram(region, *fallback)
    from tensorframe.backends.llvm.program import KernelProgram  # imports LLVM

    return KernelProgram(region, *fallback)
