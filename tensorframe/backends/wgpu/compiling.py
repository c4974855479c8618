"""Compiling for WebGPU: kernels as shaders and pipelines, each made when it is launched first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import wgpu

from tensorframe.backends.spans import Work, spanned
from tensorframe.backends.wgpu.error_translation import translated_errors
from tensorframe.backends.wgpu.recording import Memory, Pipeline, Window
from tensorframe.codegen.raw.failures import failure
from tensorframe.codegen.raw.text import RawText
from tensorframe.codegen.raw.wgsl import print_raw
from tensorframe.codegen.wgsl import Shader, print_kernel
from tensorframe.codegen.wgsl_functions import Wgsl
from tensorframe.codegen.wide_loops import WIDEST
from tensorframe.kernel.ir import Kernel
from tensorframe.ops.raw_kernels import RawCall
from tensorframe.quick_dataclasses import dataclass


@dataclass(slots=True)
class Built:
    """A kernel, and its pipelines for operands of any kind: each is made when it is launched first."""

    kernel: Kernel | None
    pipeline: Pipeline | None = None
    vectors: Pipeline | None = None  # for operands that can be bound as vectors
    multiples: Sequence[tuple[int, int]] = ()  # words that are multiples of numbers there
    windowed: Pipeline | None = None  # for operands that are larger than shaders may be given

    def takes_vectors(
        self, buffers: Sequence[Memory | Window], words: np.ndarray[Any, Any]
    ) -> bool:
        """Whether vectors begin at multiples of their size, and none ends beyond its buffer."""
        return (
            self.vectors is not None
            and not any(buffer.nbytes % WIDEST for buffer in buffers)
            and not any(words[word] % size for word, size in self.multiples)
        )


class Compiler:
    """The pipelines of one device, for groups of `lanes` threads at most; equal shaders are compiled once."""

    def __init__(self, device: Any, dialect: Wgsl, lanes: int) -> None:
        self._device, self.dialect, self._lanes = device, dialect, lanes
        # for as long as some plan has a use for them
        self._pipelines: WeakValueDictionary[str, Pipeline] = WeakValueDictionary()

    def source(self, kernel: Kernel) -> str:
        """Return a kernel in WGSL: with vectors, if it has any."""
        return print_kernel(kernel, self.dialect, vectors=True).source

    def built(self, kernel: Kernel) -> Built:
        """Return a kernel ready for `launch`."""
        shader = print_kernel(kernel, self.dialect, vectors=True)
        pipeline = self._pipeline(shader, kernel)
        if shader.multiples:
            return Built(kernel, vectors=pipeline, multiples=shader.multiples)
        return Built(kernel, pipeline)

    def _pipeline(self, shader: Shader, kernel: Kernel) -> Pipeline:
        pipeline = self._pipelines.get(shader.name)
        if pipeline is None:
            accesses = ["read-only-storage"] * len(kernel.inputs)
            accesses += ["storage"] * len(kernel.outputs)
            failing = translated_errors(f"the driver does not compile {shader.name}")
            with spanned(Work.COMPILE, shader.name, "wgpu"), failing:
                pipeline = self._pipelines[shader.name] = Pipeline(self._device, shader, accesses)
        return pipeline

    def raw_text(self, call: RawCall) -> RawText:
        """Return the text of a user's kernel."""
        return print_raw(call, immediates=self.dialect.immediates, most=self._lanes)

    def built_raw(self, text: RawText) -> Built:
        """Return a user's kernel ready for `launch`."""
        pipeline = self._pipelines.get(text.name)
        if pipeline is None:
            accesses = ["read-only-storage"] * len(text.call.arrays)
            accesses += ["storage"] * len(text.call.outputs)
            with spanned(Work.COMPILE, text.name, "wgpu"):
                try:
                    pipeline = Pipeline(self._device, text, accesses)
                except wgpu.GPUError as error:
                    raise failure(text, str(error)) from error
            self._pipelines[text.name] = pipeline
        return Built(None, pipeline)

    def fitting(
        self, built: Built, buffers: Sequence[Memory | Window], words: np.ndarray[Any, Any]
    ) -> Pipeline:
        """Return the pipeline for operands that are where they are."""
        if built.takes_vectors(buffers, words):
            assert built.vectors is not None
            return built.vectors
        if built.pipeline is None:
            assert built.kernel is not None  # users' kernels have one
            built.pipeline = self._pipeline(print_kernel(built.kernel, self.dialect), built.kernel)
        return built.pipeline

    def windowed(self, built: Built, kernel: Kernel) -> Pipeline:
        """Return the pipeline for operands that are larger than shaders may be given."""
        if built.windowed is None:
            shader = print_kernel(kernel, self.dialect, windowed=True)
            built.windowed = self._pipeline(shader, kernel)
        return built.windowed

    def clear(self) -> None:
        """Forget all pipelines."""
        self._pipelines.clear()
