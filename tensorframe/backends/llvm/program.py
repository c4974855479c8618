"""Programs: a region's kernels for each layout of operands that it meets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from tensorframe.backends.base import Program
from tensorframe.backends.bound import Bound
from tensorframe.backends.collector import paused
from tensorframe.backends.foreseeing import StandIns
from tensorframe.backends.host_pool import contiguous
from tensorframe.backends.llvm.functions import begin
from tensorframe.backends.llvm.launcher import Run, launcher
from tensorframe.backends.llvm.lowering import kernels_of, loops_of, print_kernel
from tensorframe.backends.llvm.target import target
from tensorframe.backends.llvm.workers import begin_workers
from tensorframe.backends.spans import Work, spanned
from tensorframe.dtypes import COMPLEX
from tensorframe.errors import IndexingError
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape, strides_of
from tensorframe.kernel.build import build
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.spaces.complex import Parts


def _refuse(inputs: Sequence[Any], buffers: Sequence[Any | None]) -> NoReturn:
    raise IndexingError("an index is out of bounds")


class KernelProgram:
    """Runs a region through kernels. These depend on the layout of the operands: each layout is bound once."""

    quiet = True

    def __init__(self, region: Region, fallback: Program = _refuse) -> None:
        """Take a region, and a program of it that says more of an index that is out of bounds than kernels can."""
        self._original = region
        self._parts = self._lowered(region)
        self.region = self._parts.region
        self._fallback = fallback
        self._arrays = [index for index, (shape, _) in enumerate(region.inputs) if shape != ()]
        self._bound: dict[tuple[Any, ...], Run] = {}
        self._run: Run = self._choose

    def _lowered(self, region: Region) -> Parts:
        """Return the region with complex numbers taken apart."""
        return loops_of(region).parts

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the outputs for these inputs."""
        return self._run(inputs, buffers)

    def _choose(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Run the kernels of this layout, which are expected to be those of the next call too."""
        inputs = self._in_steps(inputs)
        run = self._run = self._found(inputs)
        return run(inputs, buffers)

    def foresee(self, operands: Sequence[Any], stand_ins: StandIns) -> Sequence[Any] | None:
        """Have the kernels for operands of these layouts compiled by other threads; return outputs as they will lie."""
        if any(self._remainders(index, operands[index]) for index in self._arrays):
            return None
        built = self.built(operands)
        for launch in built.launches:
            text = print_kernel(launch.kernel, target())
            begin(text.name, text.source)
            if launch.total > launch.grain:
                begin_workers()
        region = self._original
        return [
            stand_ins.new(region.shape_of(value), region.dtype_of(value), layout)
            for value, layout in zip(region.outputs, built.layouts, strict=True)
        ]

    def prepare(self, inputs: Sequence[Any]) -> None:
        """Make the kernels for operands of these layouts, which the first call would do otherwise."""
        self._found(self._in_steps(inputs))

    def bind(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Bound | None:
        """Return the calls of the kernels for these operands, if they are read as they are."""
        from tensorframe.backends.llvm.binding import bound_kernels  # with the first recording

        built = self.built_alone(inputs)
        return None if built is None else bound_kernels(self._original, built, inputs, buffers)

    def _found(self, inputs: Sequence[Any]) -> Run:
        key = tuple([inputs[index].strides for index in self._arrays])
        run = self._bound.get(key)
        if run is None:
            with spanned(Work.LAYOUT, "loops of a new layout", "llvm"), paused():
                run = self._bound[key] = self._bind(inputs)
        return run

    def _bind(self, inputs: Sequence[Any]) -> Run:
        """Return what runs the kernels for operands of these layouts."""
        strides = [getattr(array, "strides", ()) for array in inputs]
        built = self.built(inputs)
        return launcher(self._original, self._parts, built, strides, self._choose, self._fallback)

    def _in_steps(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return the inputs with those copied whose elements are not whole steps apart: fields of records."""
        odd = [index for index in self._arrays if self._remainders(index, inputs[index])]
        if not odd:
            return inputs
        return [
            contiguous(source) if index in odd else source for index, source in enumerate(inputs)
        ]

    def _remainders(self, index: int, array: Any) -> bool:
        size = self.region.inputs[index][1].itemsize
        return any(step % size for step in array.strides)

    def source(self) -> str:
        """Return the text of the kernels for operands that are contiguous in C order."""
        from tensorframe.codegen import python  # for people

        strides = [strides_of(shape) for shape, _ in self.region.inputs]
        kernels = [launch.kernel for launch in self._build(strides).launches]
        return "\n".join([python.print_kernel(kernel).source for kernel in kernels])

    def built(self, inputs: Sequence[Any]) -> Built:
        """Return the kernels for operands of these layouts."""
        strides: list[Shape] = [()] * len(self.region.inputs)
        for index in self._arrays:
            dtype = self.region.inputs[index][1]
            steps = tuple([step // dtype.itemsize for step in inputs[index].strides])
            # the parts of a complex number are one element apart
            strides[index] = (*steps, 1) if self._original.inputs[index][1] in COMPLEX else steps
        return self._build(strides)

    def built_alone(self, inputs: Sequence[Any]) -> Built | None:
        """Return the kernels if operands need no preparation: no parts of complex numbers, no copies."""
        if self._parts.imaginary or any(
            self._remainders(position, inputs[position]) for position in self._arrays
        ):
            return None
        return self.built(inputs)

    def _build(self, strides: Sequence[Shape]) -> Built:
        return kernels_of(build, self._original, tuple(strides))
