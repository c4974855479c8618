"""Compiling for a device of OpenCL: dialect and options, what is declared, shuffles where it has them, raw kernels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pyopencl as cl

from tensorframe.backends.device.trials import Array, joins
from tensorframe.backends.interruptible import is_interrupted_here, run_interruptibly
from tensorframe.backends.opencl import subgroups
from tensorframe.backends.opencl.declarations import OPTION, declarations, is_needed
from tensorframe.backends.spans import Work, log, spanned
from tensorframe.codegen.c import print_kernel
from tensorframe.codegen.opencl import dialect
from tensorframe.codegen.raw.c import print_raw
from tensorframe.codegen.raw.failures import failure
from tensorframe.codegen.raw.text import RawText
from tensorframe.codegen.text import Text
from tensorframe.errors import KernelError
from tensorframe.kernel.ir import Kernel
from tensorframe.ops.raw_kernels import RawCall

_SHUFFLE = "sub_group_shuffle("

# the kernel, the threads of a group, and how many of its buffers it reads
Built = tuple[Any, int, int]
Run = Callable[[Kernel, list[Array]], list[Array]]


class Compiler:
    """The kernels compiled for one device, for groups of `lanes` threads; equal texts are compiled once."""

    def __init__(self, context: Any, device: Any, lanes: int) -> None:
        self._context, self._device, self.lanes = context, device, lanes
        self.has_double = "cl_khr_fp64" in device.extensions.split()
        is_processor = bool(device.type & cl.device_type.CPU)
        self.dialect = dialect(double=self.has_double, processor=is_processor)
        self._without_shuffles = self.dialect
        self._options = ["-cl-std=CL1.2", "-w"]
        if device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
            self._options.append("-cl-fp32-correctly-rounded-divide-sqrt")
        self.declared = declarations(double=self.has_double) if is_needed(device) else None
        """What stands before our own kernels, in the place of the header of everything."""
        self._kernels: dict[str, Built] = {}

    def try_shuffles(self, run: Run) -> None:
        """Have threads join their values by shuffles, among as many as a trial run finds to be neighbours."""
        version = subgroups.language(self._device)
        if version is None:
            return
        before = self._options
        self._options = [f"-cl-std={version}", *before[1:]]
        for size in subgroups.SIZES:
            self.dialect = replace(self._without_shuffles, subgroup=size)
            with suppress(KernelError, MemoryError):
                if joins(self.lanes, partial(self._run_trial, run)):
                    return
        self.dialect, self._options = self._without_shuffles, before

    def _run_trial(self, run: Run, kernel: Kernel, operands: list[Array]) -> list[Array]:
        """Run a kernel of shuffles; KernelError where subgroups have fewer threads than it takes them for."""
        text = self.text(kernel)
        built = self._built(text)
        if not self._shuffles(built, kernel.lanes):
            raise KernelError(f"subgroups of fewer than {self.dialect.subgroup} threads")
        self._kernels[text.name] = (built, kernel.lanes, len(kernel.inputs))
        return run(kernel, operands)

    def text(self, kernel: Kernel) -> Text:
        """Return a kernel in OpenCL C."""
        return print_kernel(kernel, self.dialect)

    def build(self, kernel: Kernel) -> Built:
        """Return a kernel ready to be launched."""
        text = self.text(kernel)
        if text.name not in self._kernels:
            with spanned(Work.COMPILE, text.name, "opencl"):
                built = self._built(text)
                if _SHUFFLE in text.source and not self._shuffles(built, kernel.lanes):
                    built = self._built(print_kernel(kernel, self._without_shuffles))
                self._kernels[text.name] = (built, kernel.lanes, len(kernel.inputs))
        return self._kernels[text.name]

    def _built(self, text: Text) -> Any:
        return cl.Kernel(self.compile(text), text.name)

    def _shuffles(self, built: Any, lanes: int) -> bool:
        """Whether the subgroups of a kernel, in groups of so many threads, have as many as its text takes them for."""
        size = subgroups.size_in(built, self._device, lanes)
        return size >= self.dialect.subgroup and lanes % size == 0

    def compile(self, text: Text) -> Any:
        """Return the program of a text of ours."""
        try:
            if self.declared is not None:
                return self.compiled(f"{self.declared}\n{text.source}", OPTION)
        except cl.Error as error:
            log("opencl: no kernel without the declarations of everything: %s", error)
            self.declared = None
        try:
            return self.compiled(text.source)
        except cl.Error as error:
            raise KernelError(f"OpenCL does not compile {text.name}: {error}") from error

    def compiled(self, source: str, *options: str) -> Any:
        """Return the program of any text."""
        # drivers compile for seconds, and hear of no interrupt
        build = partial(cl.Program(self._context, source).build, [*self._options, *options])
        return run_interruptibly(build) if is_interrupted_here() else build()

    def print_raw(self, call: RawCall) -> RawText:
        """Return the text of a user's kernel."""
        return print_raw(call, self.dialect, most=self.lanes)

    def build_raw(self, text: RawText) -> Built:
        """Return a user's kernel ready to be launched."""
        if text.name not in self._kernels:
            with spanned(Work.COMPILE, text.name, "opencl"):
                try:
                    program = self.compiled(text.source)
                except cl.Error as error:
                    raise failure(text, str(error)) from error
                made = cl.Kernel(program, text.name)
                self._kernels[text.name] = (made, text.lanes, len(text.call.arrays))
        return self._kernels[text.name]

    def close(self) -> None:
        """Release kernels and the context."""
        self._kernels.clear()
        self._context = None
