"""Recording: launches wait in one compute pass until they are submitted together.

A submission costs as much as ten launches. The order between launches is the device's business; that of writes, which
come before everything recorded, is the queue's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

import numpy as np
import wgpu

from tensorframe.backends.wgpu.modules import shader_module
from tensorframe.codegen.wgsl import Shader
from tensorframe.errors import KernelError

# launches of one submission: the device should begin before the last one is recorded
_MOST = 128
# bind groups that a pipeline remembers
_REMEMBERED = 256
_ARENA = 1 << 16


class Memory:
    """A buffer of the device, and in which submission it was last used."""

    __slots__ = ("handle", "nbytes", "pipelines", "used")
    offset = 0

    def __init__(self, handle: Any, nbytes: int) -> None:
        self.handle = handle
        self.nbytes = nbytes
        self.used = -1
        self.pipelines: WeakSet[Pipeline] = WeakSet()  # that remember bind groups with it

    @property
    def whole(self) -> Memory:
        """The buffer."""
        return self

    def part(self, offset: int, nbytes: int) -> Window:
        """Return some bytes of the buffer."""
        return Window(self, offset, nbytes)

    def forget(self) -> None:
        """Let bind groups go that refer to the buffer."""
        for one in self.pipelines:
            one.forget(self)
        self.pipelines.clear()


class Window:
    """Some bytes of a buffer."""

    __slots__ = ("nbytes", "offset", "whole")

    def __init__(self, whole: Memory, offset: int, nbytes: int) -> None:
        self.whole = whole
        self.offset = offset
        self.nbytes = nbytes

    def part(self, offset: int, nbytes: int) -> Window:
        """Return some of the bytes."""
        return Window(self.whole, self.offset + offset, nbytes)


class Pipeline:
    """A shader, compiled, with an explicit layout: one made from the text would drop what the text does not use."""

    def __init__(self, device: Any, shader: Shader, accesses: Sequence[str]) -> None:
        self.name = shader.name
        self.immediate = shader.immediate
        self.nbytes = 4 * shader.words if shader.immediate else -(-shader.words // 4) * 16
        self.groups: dict[tuple[tuple[int, int, int], ...], Any] = {}
        limit = device.limits["max-storage-buffers-per-shader-stage"]
        if len(accesses) > limit:
            count = len(accesses)
            raise KernelError(
                f"a kernel has {count} operands and results, the device allows {limit}",
                suggestions=("compute() some of the operands before",),
            )
        entries = [_entry(at, {"type": access}) for at, access in enumerate(accesses)]
        if not shader.immediate:
            entries.append(_entry(len(accesses), {"type": "uniform", "has_dynamic_offset": True}))
        self.layout = device.create_bind_group_layout(entries=entries)
        layout = device.create_pipeline_layout(
            bind_group_layouts=[self.layout], immediate_size=self.nbytes if shader.immediate else 0
        )
        module = shader_module(device, shader.name, shader.source)
        self.handle = device.create_compute_pipeline(
            label=shader.name, layout=layout, compute={"module": module, "entry_point": shader.name}
        )

    def forget(self, memory: Memory) -> None:
        """Let bind groups go that refer to a buffer."""
        gone = [key for key in self.groups if any(one == id(memory) for one, _, _ in key)]
        for key in gone:
            del self.groups[key]


def _entry(at: int, buffer: dict[str, Any]) -> dict[str, Any]:
    return {"binding": at, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": buffer}


class Recording:
    """What the device has not been given yet."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._encoder: Any = None
        self._pass: Any = None
        self._launches = 0
        self.submissions = 0
        limits = device.limits
        self._step = max(limits["min-uniform-buffer-offset-alignment"], 16)
        self._arena: Any = None  # words that are not immediates
        self._words = np.zeros(0, np.uint32)
        self._filled = 0

    def uses(self, buffer: Memory) -> bool:
        """Whether something recorded uses a buffer."""
        return buffer.used == self.submissions and self._encoder is not None

    def use(self, *buffers: Memory) -> None:
        """Note that something recorded uses these."""
        for one in buffers:
            one.used = self.submissions

    def launch(
        self,
        pipeline: Pipeline,
        groups: int,
        buffers: Sequence[Memory | Window],
        words: np.ndarray[Any, Any],
    ) -> None:
        """Record a launch."""
        passed = np.zeros(pipeline.nbytes // 4, np.uint32)
        passed[: words.size] = words
        offset = () if pipeline.immediate else (self._kept(passed),)
        group = self._group(pipeline, buffers)
        if self._pass is None:
            self._pass = self._open().begin_compute_pass()
        self._pass.set_pipeline(pipeline.handle)
        self._pass.set_bind_group(0, group, offset)
        if pipeline.immediate:
            self._pass.set_immediates(0, passed, 0, passed.nbytes)
        self._pass.dispatch_workgroups(groups)
        self.use(*[one.whole for one in buffers])
        self._launches += 1
        if self._launches >= _MOST:
            self.submit()

    def copy(self, source: Any, start: int, target: Any, offset: int, nbytes: int) -> None:
        """Record a copy between buffers."""
        encoder = self._open()
        self._end_pass()
        encoder.copy_buffer_to_buffer(source, start, target, offset, nbytes)

    def submit(self) -> None:
        """Give the device everything, in one submission."""
        if self._encoder is None:
            return
        self._end_pass()
        encoder, self._encoder = self._encoder, None
        self._launches = 0
        if self._filled:
            self._device.queue.write_buffer(self._arena, 0, self._words, 0, self._filled)
            self._filled = 0
        self.submissions += 1
        self._device.queue.submit([encoder.finish()])

    def _open(self) -> Any:
        if self._encoder is None:
            self._encoder = self._device.create_command_encoder()
        return self._encoder

    def _end_pass(self) -> None:
        if self._pass is not None:
            self._pass.end()
            self._pass = None

    def _group(self, pipeline: Pipeline, buffers: Sequence[Memory | Window]) -> Any:
        key = tuple([(id(one.whole), one.offset, one.nbytes) for one in buffers])
        found = pipeline.groups.get(key)
        if found is None:
            if len(pipeline.groups) >= _REMEMBERED:
                pipeline.groups.clear()
            found = pipeline.groups[key] = self._new_group(pipeline, buffers)
            for one in buffers:
                one.whole.pipelines.add(pipeline)
        return found

    def _new_group(self, pipeline: Pipeline, buffers: Sequence[Memory | Window]) -> Any:
        resources = [(one.whole.handle, one.offset, one.nbytes) for one in buffers]
        if not pipeline.immediate:
            resources.append((self._arena, 0, pipeline.nbytes))
        entries = [
            {"binding": at, "resource": {"buffer": buffer, "offset": offset, "size": size}}
            for at, (buffer, offset, size) in enumerate(resources)
        ]
        return self._device.create_bind_group(layout=pipeline.layout, entries=entries)

    def _kept(self, words: np.ndarray[Any, Any]) -> int:
        """Return where in the arena the words of a launch are."""
        if self._arena is None:
            usage = wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST
            self._arena = self._device.create_buffer(size=_ARENA, usage=usage)
            self._words = np.zeros(_ARENA // 4, np.uint32)
        if self._filled + words.nbytes > _ARENA:
            self.submit()
        offset = self._filled
        self._words[offset // 4 : offset // 4 + words.size] = words
        self._filled = -(-(offset + words.nbytes) // self._step) * self._step
        return offset
