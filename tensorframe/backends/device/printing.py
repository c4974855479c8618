"""Printing: the kernels of a region in a dialect, whichever device it is planned for."""

from __future__ import annotations

from typing import Any

from tensorframe.backends.device.engine import KernelBackend, OpenDevice
from tensorframe.backends.device.queue import Traits
from tensorframe.backends.entries import Failure, guarded
from tensorframe.backends.extension_points import DIALECTS
from tensorframe.codegen import cuda, opencl
from tensorframe.codegen.c import print_kernel
from tensorframe.codegen.c_dialect import Dialect
from tensorframe.codegen.raw.c import print_raw
from tensorframe.codegen.raw.text import RawText
from tensorframe.dtypes import float64
from tensorframe.errors import ArgumentError, DeviceError
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.kernel.groups.algorithms.tunings import Tunings
from tensorframe.kernel.ir import Kernel
from tensorframe.ops.raw_kernels import RawCall

# of a device that has everything
_TRAITS = Traits(
    lanes=256, widest=float64, wide_index=True, max_groups=1 << 16, held={}, max_block=1 << 40
)


def dialect_called(name: str) -> Dialect:
    """Return a dialect of C by its name; ArgumentError if there is none."""
    known = {"opencl": opencl.dialect(double=True), "cuda": cuda.DIALECT}
    if name in known:
        return known[name]
    extension = DIALECTS.extension(name)
    if extension is None or extension.value is None:
        problem = "" if extension is None else f": {extension.failure}"
        listed = ", ".join([*known, *DIALECTS.names()])
        raise ArgumentError(
            f"explain: there is no dialect {name!r}{problem}", suggestions=(f"one of {listed}",)
        )
    dialect: Dialect = extension.value
    return dialect


def source_in(dialect: Dialect, region: Region, device: Device) -> str:
    """Return the text of a region's kernels; a comment where it has none in loops."""
    if region.ops[0].op.kind is Kind.TRANSFER:
        return ""
    backend = _Printing(dialect)
    ops = region.ops
    computed = all(
        backend.supports(op.op, [region.dtype_of(source) for source in op.inputs], op.dtype, device)
        or op.op.raw is not None
        for op in ops
    )
    # regions are made for the device that they are planned for, whose kernels may fuse more
    text = guarded(lambda: backend.source(region, device)) if computed else Failure("")
    if isinstance(text, Failure):
        names = ", ".join([op.op.name for op in ops])
        return f"// no kernels of work-groups: {names}, as {device} runs them"
    return str(text)


class _Printing(KernelBackend):
    """A backend whose devices print kernels, and run none."""

    name = "printing"

    def __init__(self, dialect: Dialect) -> None:
        super().__init__()
        queue: Any = _Paper(dialect)
        pool: Any = None
        self._open = OpenDevice(queue, pool)

    def probe(self) -> str:
        """There is no device."""
        return "it only prints"

    def open_queue(self, device: Device) -> Any:
        """Return what prints."""
        return self._open.queue

    def open_device(self, device: Device) -> OpenDevice:
        """Return what prints, for any device."""
        return self._open


class _Paper:
    """What printing asks of a queue."""

    traits = _TRAITS

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.tunings = Tunings()

    def source(self, kernel: Kernel) -> str:
        """Return a kernel in the dialect."""
        return print_kernel(kernel, self._dialect).source

    def print_raw(self, call: RawCall) -> RawText:
        """Return a user's kernel in the dialect; DeviceError if it has no source in it."""
        name = self._dialect.name
        if self._dialect.bodies is None or call.source(name) is None:
            raise DeviceError(f"{call.name}: there is no source in {name}")
        return print_raw(call, self._dialect, most=self.traits.lanes)


__all__ = ["dialect_called", "source_in"]
