"""Recording: launches wait in a list until they are submitted together, in one compute pass.

A submission costs as much as ten launches. The order between launches is the device's business; that of writes, which
come before everything recorded, is the queue's. A launch is in the list or not, wherever an interrupt comes, and the
list is submitted in a critical section: tensors that count as computed may depend on every launch in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any
from weakref import WeakSet

import numpy as np
import wgpu

from tensorframe.backends.critical import critical_section
from tensorframe.backends.wgpu.modules import shader_module
from tensorframe.codegen.raw.text import RawText
from tensorframe.codegen.wgsl import Shader
from tensorframe.errors import KernelError
from tensorframe.quick_tuples import NamedTuple

# launches of one submission: the device should begin before the last one is recorded
_MOST = 128
# bind groups that a pipeline remembers
_REMEMBERED = 256
_ARENA = 1 << 16
# unlike addresses, of which a later buffer may get one that bind groups are remembered with
_serial = count()


class Memory:
    """A buffer of the device, and in which submission it was last used."""

    __slots__ = ("handle", "nbytes", "pipelines", "serial", "used")
    offset = 0

    def __init__(self, handle: Any, nbytes: int) -> None:
        self.handle = handle
        self.nbytes = nbytes
        self.serial = next(_serial)
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
        for pipeline in self.pipelines:
            pipeline.forget(self)
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

    def __init__(self, device: Any, shader: Shader | RawText, accesses: Sequence[str]) -> None:
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
        entries = [_entry(index, {"type": access}) for index, access in enumerate(accesses)]
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
        gone = [key for key in self.groups if any(serial == memory.serial for serial, _, _ in key)]
        for key in gone:
            del self.groups[key]


def _entry(index: int, buffer: dict[str, Any]) -> dict[str, Any]:
    return {"binding": index, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": buffer}


class Launch(NamedTuple):
    """A kernel to be run: its words are immediates, or have their `offset` in the arena once they are recorded."""

    pipeline: Pipeline
    group: Any
    groups: int
    buffers: Sequence[Memory]
    words: np.ndarray[Any, Any]
    offset: tuple[int, ...] = ()
    times: dict[str, Any] | None = None  # timestamps of a compute pass of its own


class _Copy(NamedTuple):
    """Bytes to be copied from one buffer to another one."""

    source: Any
    start: int
    target: Any
    offset: int
    nbytes: int


class Recording:
    """What the device has not been given yet."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._commands: list[Launch | _Copy] = []
        self.submissions = 0
        limits = device.limits
        self._step = max(limits["min-uniform-buffer-offset-alignment"], 16)
        self._arena: Any = None  # words that are not immediates
        self._words = np.zeros(0, np.uint32)
        self._filled = 0

    def close(self) -> None:
        """Release everything: the device is about to be destroyed."""
        self._commands.clear()
        self._arena = self._device = None

    @property
    def is_empty(self) -> bool:
        """Whether the device has been given all."""
        return not self._commands

    def uses(self, buffer: Memory) -> bool:
        """Whether something recorded uses a buffer."""
        return buffer.used == self.submissions and bool(self._commands)

    def use(self, buffers: Sequence[Memory]) -> None:
        """Note that something recorded uses these."""
        for buffer in buffers:
            buffer.used = self.submissions

    def ready(
        self,
        pipeline: Pipeline,
        groups: int,
        buffers: Sequence[Memory | Window],
        words: np.ndarray[Any, Any],
    ) -> Launch:
        """Return a launch, which can be recorded again and again."""
        passed = np.zeros(pipeline.nbytes // 4, np.uint32)
        passed[: words.size] = words
        wholes = [buffer.whole for buffer in buffers]
        return Launch(pipeline, self._group(pipeline, buffers), groups, wholes, passed)

    def launch(self, launch: Launch, times: dict[str, Any] | None = None) -> None:
        """Record a launch; with `times`, timestamps of when it begins and ends."""
        if not launch.pipeline.immediate:
            launch = launch._replace(offset=(self._store_words(launch.words),))
        self.use(launch.buffers)
        self._commands.append(launch if times is None else launch._replace(times=times))
        if len(self._commands) >= _MOST:
            self.submit()

    def copy(self, source: Any, start: int, target: Any, offset: int, nbytes: int) -> None:
        """Record a copy between buffers; ValueError for what no device copies, which would spoil a submission."""
        if start % 4 or offset % 4 or nbytes % 4:
            raise ValueError(f"{nbytes} bytes from {start} to {offset} are not whole words")
        self._commands.append(_Copy(source, start, target, offset, nbytes))

    def submit(self) -> None:
        """Give the device everything, in one submission."""
        if not self._commands:
            return
        with critical_section():
            commands, self._commands = self._commands, []
            self.submissions += 1
            filled, self._filled = self._filled, 0
            encoded = self._encode(commands)
            if filled:
                self._device.queue.write_buffer(self._arena, 0, self._words, 0, filled)
            self._device.queue.submit([encoded])

    def _encode(self, commands: Sequence[Launch | _Copy]) -> Any:
        """Return the commands as the device takes them; launches between two copies share a compute pass."""
        encoder = self._device.create_command_encoder()
        launches = None
        for command in commands:
            if isinstance(command, Launch):
                if command.times is not None and launches is not None:
                    launches.end()
                    launches = None
                launches = launches or encoder.begin_compute_pass(timestamp_writes=command.times)
                launches.set_pipeline(command.pipeline.handle)
                launches.set_bind_group(0, command.group, command.offset)
                if command.pipeline.immediate:
                    launches.set_immediates(0, command.words, 0, command.words.nbytes)
                launches.dispatch_workgroups(command.groups)
                if command.times is not None:
                    launches.end()
                    launches = None
                continue
            if launches is not None:
                launches.end()
                launches = None
            encoder.copy_buffer_to_buffer(*command)
        if launches is not None:
            launches.end()
        return encoder.finish()

    def _group(self, pipeline: Pipeline, buffers: Sequence[Memory | Window]) -> Any:
        key = tuple([(buffer.whole.serial, buffer.offset, buffer.nbytes) for buffer in buffers])
        group = pipeline.groups.get(key)
        if group is None:
            if len(pipeline.groups) >= _REMEMBERED:
                pipeline.groups.clear()
            for buffer in buffers:
                buffer.whole.pipelines.add(pipeline)
            group = pipeline.groups[key] = self._new_group(pipeline, buffers)
        return group

    def _new_group(self, pipeline: Pipeline, buffers: Sequence[Memory | Window]) -> Any:
        resources = [(buffer.whole.handle, buffer.offset, buffer.nbytes) for buffer in buffers]
        if not pipeline.immediate:
            self._open_arena()
            resources.append((self._arena, 0, pipeline.nbytes))
        entries = [
            {"binding": index, "resource": {"buffer": buffer, "offset": offset, "size": size}}
            for index, (buffer, offset, size) in enumerate(resources)
        ]
        return self._device.create_bind_group(layout=pipeline.layout, entries=entries)

    def _open_arena(self) -> None:
        if self._arena is None:
            usage = wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST
            self._arena = self._device.create_buffer(size=_ARENA, usage=usage)
            self._words = np.zeros(_ARENA // 4, np.uint32)

    def _store_words(self, words: np.ndarray[Any, Any]) -> int:
        """Return where in the arena the words of a launch are."""
        if self._filled + words.nbytes > _ARENA:
            self.submit()
        offset = self._filled
        self._words[offset // 4 : offset // 4 + words.size] = words
        self._filled = -(-(offset + words.nbytes) // self._step) * self._step
        return offset
