"""A device of OpenCL: its context and memory, and its queue in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl

from tensorframe.backends.device.promises import Mark
from tensorframe.backends.device.queue import Bytes, Launched, Queue, Traits
from tensorframe.backends.device.trials import run_on
from tensorframe.backends.device.uses import Uses, identities
from tensorframe.backends.host_pool import free_memory
from tensorframe.backends.opencl.compiler import Built, Compiler
from tensorframe.backends.opencl.copies import Copies
from tensorframe.backends.opencl.events import (
    Event,
    has_failed,
    is_over,
    raise_failure,
    translated,
)
from tensorframe.codegen.raw.text import RawText
from tensorframe.dtypes import float32, float64
from tensorframe.kernel.ir import Kernel
from tensorframe.ops.raw_kernels import RawCall

_LANES = 256
_ACCESS = 16  # bytes, of the widest load and store that there is


class OpenClQueue(Queue):
    """Runs kernels on one OpenCL device, in the order of the calls.

    Copies from and to the host have a queue of their own, so that they wait for the kernels that use their buffers,
    and for no others.
    """

    has_clock = True
    copies_beside = True

    def __init__(self, device: Any) -> None:
        super().__init__()
        self._context: Any = cl.Context([device])
        self._queue: Any = cl.CommandQueue(self._context, device)
        self._plain: Any = self._queue
        self._with_times: Any = None
        self._latest: Any = None  # the event of what was enqueued last
        self._uses: Uses[Any] = Uses()  # by their events
        # whether the user has the queue, and may give it what is not seen here
        self._is_shared = False
        self._copies = Copies(self._context, device)
        self._allocated: set[int] = set()
        self._total = int(device.global_mem_size)
        self._in_host_memory = bool(device.host_unified_memory)
        # a processor's compiler makes vectors of neighbouring threads, which have to read neighbouring elements; and
        # what its groups share is memory like any other
        is_processor = bool(device.type & cl.device_type.CPU)
        largest = 1 << (int(device.max_work_group_size).bit_length() - 1)
        shared = int(device.local_mem_size)
        self._compiler = Compiler(self._context, device, lanes=min(_LANES, largest))
        self.traits = Traits(
            lanes=self._compiler.lanes,
            widest=float64 if self._compiler.has_double else float32,
            wide_index=True,
            max_groups=1 << 16,
            held={},
            max_block=int(device.max_mem_alloc_size),
            access=0 if is_processor else _ACCESS,
            rows=0 if is_processor else shared,
            double_buffer=0 if is_processor else shared,
            neighbours=True,
            max_threads=int(device.max_work_group_size),
            max_shared=shared,
        )
        self._compiler.try_shuffles(partial(run_on, self))

    @property
    def native(self) -> Any:
        """The queue of kernels, for the user: what it is given from now on is not seen here."""
        self._is_shared = True
        return self._plain

    def allocate(self, nbytes: int) -> Any:
        """Return a buffer, touched at once: drivers put off allocating, and fail when it is too late."""
        if nbytes > self.traits.max_block:
            raise MemoryError(f"{nbytes} bytes: a buffer has {self.traits.max_block} at most")
        try:
            buffer = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, nbytes)
            self._copies.touch(buffer)
        except cl.Error as error:
            raise translated(error) from error
        self._allocated.add(buffer.int_ptr)
        return buffer

    def largest_buffer(self) -> int | None:
        """Return what OpenCL allocates at once."""
        return self.traits.max_block

    def total_memory(self) -> int | None:
        """Return the size of the device's global memory."""
        return self._total

    def free_memory(self, taken: int) -> int | None:
        """Return what is left of it, and of the host's memory where it is that."""
        left = max(self._total - taken, 0)
        host = free_memory() if self._in_host_memory else None
        return left if host is None else min(left, host)

    def release(self, buffer: Any) -> None:
        """Give a buffer back; OpenCL keeps it until commands that use it have run."""
        self._allocated.discard(buffer.int_ptr)
        self._uses.forget(buffer)
        buffer.release()

    def borrow(self, buffer: Any, nbytes: int) -> Any:
        """Return the buffer itself; None if it is of another context."""
        self._latest = None  # whoever made it may have given the queue something since
        return buffer if buffer.context == self._context else None

    def give_up(self, buffer: Any) -> None:
        """Forget a borrowed buffer."""
        self._uses.forget(buffer)

    def owns(self, buffer: Any) -> bool:
        """Whether a buffer is one of ours, whichever object of PyOpenCL's stands for it."""
        return buffer.int_ptr in self._allocated

    def identity(self, buffer: Any) -> int:
        """Return the driver's pointer."""
        return int(buffer.int_ptr)

    def is_busy(self, buffer: Any) -> bool:
        """Whether a kernel uses a buffer, where copies do not take the processors that run kernels."""
        used = self._uses.using(buffer)
        return self._copies.is_pinned and used is not None and not is_over(used)

    def write(self, buffer: Any, offset: int, data: Bytes) -> None:
        """Copy bytes into a buffer, after the kernels that use it."""
        queue, events = self._ordered(self._uses.using(buffer))
        try:
            self._copies.write(queue, buffer, offset, data, events)
        except cl.Error as error:
            if events is None or not any(map(has_failed, events)):
                raise translated(error) from error
            self._copies.write(queue, buffer, offset, data, None)  # what failed is over
        self._uses.forget(buffer)  # which has come to its end, well or not

    def read(self, buffer: Any, offset: int, nbytes: int) -> Bytes:
        """Wait for what wrote a buffer, and return a copy of bytes of it."""
        written = self._uses.writing(buffer)
        queue, events = self._ordered(written)
        try:
            data = self._copies.read(queue, buffer, offset, nbytes, events)
        except cl.Error as error:
            raise translated(error) from error
        raise_failure(written)
        return data

    def _ordered(self, command: Any) -> tuple[Any, list[Any] | None]:
        """Return the queue of a copy that follows a command, and the events that it waits for.

        Where nothing came later, the queue of kernels is as good: it is in order, and no event has to be waited for.
        """
        latest = self._latest
        if self._is_shared or command is latest or latest is None or is_over(latest):
            return self._queue, None
        self._queue.flush()
        return self._copies.queue, None if command is None else [command]

    def copy(self, source: Any, start: int, target: Any, offset: int, nbytes: int) -> None:
        """Copy bytes from one buffer to another one."""
        self._latest = cl.enqueue_copy(
            self._queue, target, source, src_offset=start, dst_offset=offset, byte_count=nbytes
        )
        self._uses.note(self._latest, (source, target), read=1)

    def source(self, kernel: Kernel) -> str:
        """Return a kernel in OpenCL C."""
        return self._compiler.text(kernel).source

    def build(self, kernel: Kernel) -> Built:
        """Return a kernel ready for `launch`."""
        return self._compiler.build(kernel)

    def print_raw(self, call: RawCall) -> RawText:
        """Return the text of a user's kernel."""
        return self._compiler.print_raw(call)

    def build_raw(self, text: RawText) -> Built:
        """Return a user's kernel ready for `launch`."""
        return self._compiler.build_raw(text)

    def launch(
        self, built: Any, groups: int, buffers: Sequence[Any], words: np.ndarray[Any, Any]
    ) -> None:
        """Run a kernel."""
        kernel, lanes, read = built
        try:
            kernel.set_args(*buffers, words)
            event = cl.enqueue_nd_range_kernel(self._queue, kernel, (groups * lanes,), (lanes,))
        except cl.Error as error:
            raise translated(error) from error
        self._latest = event
        self._uses.note(event, buffers, read)
        if self.clocks:
            self.timed(event)

    def bound(self, launches: Sequence[Launched]) -> Callable[[], None]:
        """Return what runs launches again and again.

        Each has a kernel of its own, which keeps its arguments: to set them takes ten times as long as to launch it.
        """
        commands = []
        used: list[Any] = []
        written: list[Any] = []
        for (kernel, lanes, inputs), groups, buffers, words in launches:
            own = cl.Kernel(kernel.program, kernel.function_name)
            own.set_args(*buffers, words)
            commands.append((own, (groups * lanes,), (lanes,)))
            used += buffers
            written += buffers[inputs:]
        # whoever repeats launches keeps their buffers
        all_used, all_written = identities(used), identities(written)

        def run() -> None:
            queue, is_timed, event = self._queue, bool(self.clocks), None
            self._latest = None  # where one of them fails, it is not known which was the last
            try:
                for kernel, size, group in commands:
                    event = cl.enqueue_nd_range_kernel(queue, kernel, size, group)
                    if is_timed:
                        self.timed(event)
            except cl.Error as error:
                raise translated(error) from error
            self._latest = event
            self._uses.note_again(event, all_used, all_written)

        return run

    def count_time(self, on: bool) -> None:
        """Launch through a queue that notes times, or through one that does not have to."""
        self.synchronize()
        if on and self._with_times is None:
            (device,) = self._context.devices
            properties = cl.command_queue_properties.PROFILING_ENABLE
            self._with_times = cl.CommandQueue(self._context, device, properties)
        self._queue = self._with_times if on else self._plain

    def nanoseconds(self, launches: Sequence[Any]) -> list[int]:
        """Return what the device has noted of kernels."""
        return [int(event.profile.end - event.profile.start) for event in launches]

    def mark(self) -> Mark:
        """Return the event of what was enqueued last: the queue is in order, so all before has happened by then.

        A marker would be one more command, which drivers of processors wake up a thread for.
        """
        try:
            if self._latest is None:
                self._latest = cl.enqueue_marker(self._queue)
            self._queue.flush()
        except cl.Error as error:
            raise translated(error) from error
        return Event(self._latest)

    def flush(self) -> None:
        """Have the device begin."""
        self._queue.flush()

    def synchronize(self) -> None:
        """Wait for everything; raise, once, what went wrong with what was enqueued last."""
        try:
            self._queue.finish()
        except cl.Error as error:
            raise translated(error) from error
        latest = self._latest
        if latest is not None and has_failed(latest):
            self._latest = None
            raise_failure(latest)

    def pin(self, pinned: bool | None) -> None:
        """Have transfers go through pinned memory, or be the driver's business; None for what suits the device."""
        with self.lock:
            self._copies.pin(pinned)

    def close(self) -> None:
        """Release kernels, queues and context: drivers count who refers to them."""
        self._compiler.close()
        self._copies.close()
        self._uses = Uses()
        self._queue = self._plain = self._with_times = self._latest = self._context = None
