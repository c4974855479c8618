"""A device of WebGPU: its memory and its queue, to which whole plans are submitted at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import wgpu

from tensorframe.backends.critical import critical_section
from tensorframe.backends.device.promises import Mark
from tensorframe.backends.device.queue import Bytes, Launched, Queue, Traits
from tensorframe.backends.device.trials import joins, run_on
from tensorframe.backends.host_pool import free_memory
from tensorframe.backends.wgpu.adapters import Adapter
from tensorframe.backends.wgpu.compiling import Built, Compiler
from tensorframe.backends.wgpu.error_translation import translated_errors
from tensorframe.backends.wgpu.exactness import exact, fused
from tensorframe.backends.wgpu.recording import Launch, Memory, Recording, Window
from tensorframe.backends.wgpu.timestamps import Timestamps
from tensorframe.backends.wgpu.windows import Ranges
from tensorframe.codegen.raw.text import RawText
from tensorframe.codegen.wgsl_functions import Wgsl
from tensorframe.codegen.wide_loops import WIDEST
from tensorframe.dtypes import float32, float64
from tensorframe.errors import TensorFrameError
from tensorframe.kernel.ir import Kernel, Loop, ParallelAxis
from tensorframe.ops.raw_kernels import RawCall

_LANES = 256
# Iterations of a thread's loops, all together, after which Mesa's llvmpipe leaves them.
_LOOPED = 65_535
_USES = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
# bytes of a staging buffer, which larger reads take piece by piece
_STAGE = 1 << 24
# staging words that are kept for later marks
_STAGES = 8


def over_groups(kernel: Kernel) -> bool:
    """Whether whole work-groups run the iterations of a kernel's outermost loop."""
    return any(
        isinstance(statement, Loop) and statement.over is ParallelAxis.GROUPS
        for statement in kernel.body
    )


class WgpuQueue(Queue):
    """Runs kernels on one adapter, in the order of the calls: recorded ones are submitted when a result is read."""

    def __init__(self, adapter: Adapter) -> None:
        super().__init__()
        with translated_errors("the device does not open"):
            self._device = adapter.handle.request_device_sync(
                required_features=sorted(adapter.features)
            )
        self.native = self._device
        # borrowed buffers that nobody uses any more: finalisers only note them
        self._given_up: deque[Memory] = deque()
        self._borrowed: set[Memory] = set()
        limits = self._device.limits
        self._recording = Recording(self._device)
        self._timestamps = Timestamps(self._device)
        self.has_clock = "timestamp-query" in adapter.features
        self._stage: Any = None
        self._fence: Memory | None = None
        self._stages: list[Any] = []  # staging words of earlier marks
        self._writes = self._awaited = 0
        # The collector of cycles finalises wgpu's buffer together with the block that hands it to the pool; what is
        # referred to from here is none of its business.
        self._alive: set[Memory] = set()
        self._largest = limits["max-buffer-size"]
        self._in_host_memory = adapter.software or adapter.kind == "IntegratedGPU"
        self._step = max(limits["min-storage-buffer-offset-alignment"], 16)
        immediates = limits["max-immediate-size"] if "immediates" in adapter.features else 0
        floats = (float32, float64) if adapter.double else (float32,)
        names = frozenset({"f32", "f64"})
        dialect = Wgsl(adapter.half, adapter.double, immediates, names, names)
        threads = min(
            limits["max-compute-invocations-per-workgroup"],
            limits["max-compute-workgroup-size-x"],
            _LANES,
        )
        shared = limits["max-compute-workgroup-storage-size"]
        self.traits = Traits(
            lanes=1 << (threads.bit_length() - 1),
            widest=float64 if adapter.double else float32,
            wide_index=False,
            max_groups=limits["max-compute-workgroups-per-dimension"],
            held=adapter.held,
            max_block=min(limits["max-storage-buffer-binding-size"], self._largest),
            max_buffers=limits["max-storage-buffers-per-shader-stage"],
            max_threads=min(
                limits["max-compute-invocations-per-workgroup"],
                limits["max-compute-workgroup-size-x"],
            ),
            # software rasterisers vectorise over neighbouring threads: formulas take as long either way there
            access=0 if adapter.software else WIDEST,
            rows=0 if adapter.software else shared,
            double_buffer=0 if adapter.software else shared,
            neighbours=True,
            # llvmpipe leaves a thread's loops then, and says nothing
            max_iterations=_LOOPED if adapter.software else 0,
            max_shared=shared,
        )
        compiler = self.compiler = Compiler(self._device, dialect, self.traits.lanes)
        compiler.dialect = replace(
            dialect,
            fused=frozenset(
                f"f{8 * dtype.itemsize}" for dtype in floats if fused(dtype, partial(run_on, self))
            ),
            exact=frozenset(
                f"f{8 * dtype.itemsize}" for dtype in floats if exact(dtype, partial(run_on, self))
            ),
        )
        compiler.dialect = replace(compiler.dialect, subgroup=adapter.shuffles)
        if adapter.shuffles and not self._shuffles_in_order():
            compiler.dialect = replace(compiler.dialect, subgroup=0)

    def _shuffles_in_order(self) -> bool:
        """Whether subgroups are neighbouring threads, as many as kernels take them for."""
        try:
            return joins(self.traits.lanes, partial(run_on, self))
        except TensorFrameError:
            return False

    @property
    def submissions(self) -> int:
        """How many submissions of commands the device has had."""
        return self._recording.submissions

    def free_memory(self, taken: int) -> int | None:
        """Return what is left of the host's memory where it is that; WebGPU has no query for others."""
        return free_memory() if self._in_host_memory else None

    def allocate(self, nbytes: int) -> Memory:
        """Return a buffer."""
        if nbytes > self._largest:
            raise MemoryError(f"{nbytes} bytes: a buffer of the device has {self._largest} at most")
        self._forget_given_up()
        with translated_errors(f"{nbytes} bytes are not to be had"):
            memory = Memory(self._device.create_buffer(size=nbytes, usage=_USES), nbytes)
        self._alive.add(memory)
        return memory

    def largest_buffer(self) -> int | None:
        """Return the adapter's limit, of which kernels see a part at a time."""
        return int(self._largest)

    def release(self, buffer: Memory) -> None:
        """Release a buffer; recorded commands that use it are submitted before."""
        if self._recording.uses(buffer):
            self.flush()
        buffer.forget()
        self._alive.discard(buffer)
        with translated_errors("a buffer is not given back"):
            buffer.handle.destroy()

    def borrow(self, buffer: Any, nbytes: int) -> Memory | None:
        """Return a buffer of wgpu's as kernels take it; None if it is of another device."""
        if buffer._device is not self._device:
            return None
        with self.lock:
            self._forget_given_up()
            memory = Memory(buffer, nbytes)
            self._borrowed.add(memory)
        return memory

    def give_up(self, buffer: Memory) -> None:
        """Note that a borrowed buffer is used no more."""
        self._given_up.append(buffer)

    def _forget_given_up(self) -> None:
        """Release what refers to borrowed buffers that nobody uses any more; they are their owners' to destroy."""
        while self._given_up:
            memory = self._given_up.popleft()
            memory.forget()
            self._borrowed.discard(memory)

    def owns(self, buffer: Any) -> bool:
        """Whether a buffer of wgpu's is one that `allocate` has made."""
        return any(memory.handle is buffer for memory in self._alive)

    def write(self, buffer: Memory, offset: int, data: Bytes) -> None:
        """Copy bytes into a buffer, before what is recorded: so nothing of that may use the buffer."""
        if self._recording.uses(buffer):
            self.flush()
        if data.nbytes % 4:
            data = np.concatenate((data, np.zeros(-data.nbytes % 4, np.uint8)))
        self._writes += 1
        with translated_errors("a copy to the device fails"), critical_section():  # as in `read`
            self._device.queue.write_buffer(buffer.handle, offset, data)

    def read(self, buffer: Memory, offset: int, nbytes: int) -> Bytes:
        """Wait, and return a copy of bytes of a buffer."""
        result = np.empty(nbytes, np.uint8)
        begin = offset // 4 * 4
        end = -(-(offset + nbytes) // 4) * 4
        for first in range(begin, end, _STAGE):
            size = min(_STAGE, end - first)
            with translated_errors("a copy from the device fails"):
                with critical_section():
                    stage = self._staging(min(end - begin, _STAGE))
                    # an interrupt of the wait leaves it mapped, or about to be: nobody may use it then
                    self._stage = None
                    self._recording.copy(buffer.handle, first, stage, 0, size)
                    self._recording.submit()
                    mapped = stage.map_async(wgpu.MapMode.READ, 0, size)
                    given = self._given
                mapped.sync_wait()
                self._await(given)
                low, high = max(first, offset), min(first + size, offset + nbytes)
                # A traceback through wgpu's frames would hold memoryviews, and Python up to 3.12 crashes where the
                # collector of cycles meets these.
                with critical_section():
                    data = np.frombuffer(stage.read_mapped(0, size, copy=False), np.uint8)
                    result[low - offset : high - offset] = data[low - first : high - first]
                    del data
                    stage.unmap()
                    self._stage = stage
        return result

    def _staging(self, nbytes: int) -> Any:
        """Return a staging buffer, which the host can map."""
        if self._stage is None or self._stage.size < nbytes:
            size = max(1 << (nbytes - 1).bit_length(), 1 << 16)
            usage = wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.COPY_DST
            with translated_errors(f"{size} bytes are not to be had"):
                self._stage = self._device.create_buffer(size=size, usage=usage)
        return self._stage

    def copy(self, source: Memory, start: int, target: Memory, offset: int, nbytes: int) -> None:
        """Copy bytes from one buffer to another one, in words."""
        with translated_errors("a copy on the device fails"):
            self._recording.use((source, target))
            self._recording.copy(source.handle, start, target.handle, offset, -(-nbytes // 4) * 4)

    def source(self, kernel: Kernel) -> str:
        """Return a kernel in WGSL: with vectors, if it has any."""
        return self.compiler.source(kernel)

    def build(self, kernel: Kernel) -> Built:
        """Return a kernel ready for `launch`."""
        return self.compiler.built(kernel)

    def print_raw(self, call: RawCall) -> RawText:
        """Return the text of a user's kernel."""
        return self.compiler.raw_text(call)

    def build_raw(self, text: RawText) -> Built:
        """Return a user's kernel ready for `launch`."""
        return self.compiler.built_raw(text)

    def launch(
        self,
        built: Built,
        groups: int,
        buffers: Sequence[Memory | Window],
        words: np.ndarray[Any, Any],
    ) -> None:
        """Record a kernel, as several launches if operands are larger than shaders may be given."""
        with translated_errors("a kernel does not run"):
            if self._is_in_parts(buffers):
                self._launch_in_parts(built, buffers, words)
            else:
                pipeline = self.compiler.fitting(built, buffers, words)
                self._record(self._recording.ready(pipeline, groups, buffers, words))

    def bound(self, launches: Sequence[Launched]) -> Callable[[], None]:
        """Return a function that records launches each time, whose pipelines and bind groups are looked up once."""
        if any(self._is_in_parts(buffers) for _, _, buffers, _ in launches):
            return super().bound(launches)
        with translated_errors("a kernel does not run"):
            ready = [
                self._recording.ready(
                    self.compiler.fitting(built, buffers, words), groups, buffers, words
                )
                for built, groups, buffers, words in launches
            ]

        def run() -> None:
            with translated_errors("a kernel does not run"):
                for launch in ready:
                    self._record(launch)

        return run

    def _is_in_parts(self, buffers: Sequence[Memory | Window]) -> bool:
        """Whether operands are larger than shaders may be given."""
        return any(buffer.nbytes > self.traits.max_block for buffer in buffers)

    def _record(self, ready: Launch) -> None:
        times = None
        if self.clocks:
            launch = self._timestamps.another()
            self.timed(launch)
            times = self._timestamps.writes(launch)
        self._recording.launch(ready, times)

    def count_time(self, on: bool) -> None:
        """Use queries from the first one on."""
        if on:
            self._timestamps.begin()

    def nanoseconds(self, launches: Sequence[Any]) -> list[int]:
        """Return the time between the timestamps of launches."""
        with translated_errors("timestamps are not to be had"):
            return self._timestamps.nanoseconds(launches, self.read)

    def _launch_in_parts(
        self, built: Built, buffers: Sequence[Memory | Window], words: np.ndarray[Any, Any]
    ) -> None:
        kernel = built.kernel
        assert kernel is not None  # users' kernels are given whole buffers
        held = self.traits.held
        operands = (*kernel.inputs, *kernel.outputs)
        sizes = [held.get(operand.dtype, operand.dtype).itemsize for operand in operands]
        most = self.traits.max_block
        ranges = Ranges(kernel, sizes, buffers, words, most=most, step=self._step)
        windowed = self.compiler.windowed(built, kernel)
        for passed, parts, count in ranges.parts():
            groups = count if over_groups(kernel) else -(-count // kernel.lanes)
            groups = min(groups, self.traits.max_groups)
            self._record(self._recording.ready(windowed, groups, parts, passed))

    def window(self, buffer: Memory, first: int, nbytes: int) -> tuple[Memory | Window, int]:
        """Return the part of a buffer with these bytes, if it is not larger than shaders may be given."""
        begin = first // self._step * self._step
        end = min(-(-(first + nbytes) // WIDEST) * WIDEST, buffer.nbytes)
        if end - begin > self.traits.max_block:
            return buffer, 0
        return buffer.part(begin, end - begin), begin

    def flush(self) -> None:
        """Submit the recorded commands."""
        with translated_errors("kernels do not run"):
            self._recording.submit()

    def close(self) -> None:
        """Destroy the device, and with it everything that was made on it."""
        self.compiler.clear()
        self._alive.clear()
        self._borrowed.clear()
        self._given_up.clear()
        self._recording.close()
        self._stage = self._fence = None
        self._stages.clear()
        with translated_errors("the device does not close"):
            self._device.destroy()
        self._device = self.native = None

    def mark(self) -> Mark:
        """Return a mark: a copy after all commands, which is polled for its completion."""
        if self._fence is None:
            self._fence = self.allocate(4)
        usage = wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.COPY_DST
        with translated_errors("kernels do not run"), critical_section():
            stage = self._stages.pop() if self._stages else None
            stage = stage or self._device.create_buffer(size=4, usage=usage)
            self._recording.copy(self._fence.handle, 0, stage, 0, 4)
            self._recording.submit()
            mapped = stage.map_async(wgpu.MapMode.READ, 0, 4)
            return Arrival(mapped, partial(self._arrived, stage, self._given))

    def _arrived(self, stage: Any, given: int) -> None:
        """Keep the staging word of a mark for a later one, and note that all commands before it are done."""
        stage.unmap()
        if len(self._stages) < _STAGES:
            self._stages.append(stage)
        self._await(given)

    @property
    def _given(self) -> int:
        """How many submissions and writes the device has had."""
        return self._recording.submissions + self._writes

    def _await(self, given: int) -> None:
        """Note that so many submissions and writes are done: the device executes them in order."""
        self._awaited = max(self._awaited, given)

    def synchronize(self) -> None:
        """Wait for all commands, by a copy after them, since wgpu's own wait does not work in every release.

        Commands that are known to be done are not waited for again.
        """
        if self._recording.is_empty and self._awaited == self._given:
            return
        if self._fence is None:
            self._fence = self.allocate(4)
        self.read(self._fence, 0, 4)


class Arrival:
    """The mark of a copy, which is done when all commands before it are."""

    def __init__(self, mapped: Any, noted: Callable[[], None]) -> None:
        self._mapped, self._noted = mapped, noted
        # set by wgpu's own thread; without it, only who waits knows
        self._arrived = getattr(mapped, "_thread_event", None)

    def is_done(self) -> bool:
        """Whether the copy is done."""
        return self._mapped is None or (self._arrived is not None and self._arrived.is_set())

    def wait(self) -> None:
        """Wait for it."""
        if self._mapped is not None:
            with translated_errors("kernels do not run"):
                self._mapped.sync_wait()
                self._mapped = None
                self._noted()
