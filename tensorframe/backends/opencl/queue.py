"""A device of OpenCL: its context, its queue in order, and the kernels compiled for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl

from tensorframe.backends.device.promises import Mark
from tensorframe.backends.device.queue import Bytes, Launched, Queue, Traits
from tensorframe.backends.device.trials import Array, joins, run_on
from tensorframe.backends.device.uses import Uses, identities
from tensorframe.backends.host_pool import free_memory
from tensorframe.backends.interruptible import is_interrupted_here, run_interruptibly
from tensorframe.backends.opencl import subgroups
from tensorframe.backends.opencl.copies import Copies
from tensorframe.backends.opencl.declarations import OPTION, declarations, is_needed
from tensorframe.backends.spans import Work, log, spanned
from tensorframe.codegen.c import print_kernel
from tensorframe.codegen.opencl import dialect
from tensorframe.codegen.raw.c import print_raw
from tensorframe.codegen.raw.failures import failure
from tensorframe.codegen.raw.text import RawText
from tensorframe.codegen.text import Text
from tensorframe.dtypes import float32, float64
from tensorframe.errors import KernelError
from tensorframe.kernel.ir import Kernel
from tensorframe.ops.raw_kernels import RawCall

# what OpenCL calls being out of memory: CL_MEM_OBJECT_ALLOCATION_FAILURE, OUT_OF_RESOURCES, OUT_OF_HOST_MEMORY
_NO_MEMORY = (-4, -5, -6, -61)
_LANES = 256
_ACCESS = 16  # bytes, of the widest load and store that there is
_SHUFFLE = "sub_group_shuffle("


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
        double = "cl_khr_fp64" in device.extensions.split()
        # a processor's compiler makes vectors of neighbouring threads, which have to read neighbouring elements; and
        # what its groups share is memory like any other
        is_processor = bool(device.type & cl.device_type.CPU)
        self._dialect = self._without_shuffles = dialect(double=double, processor=is_processor)
        self._options = ["-cl-std=CL1.2", "-w"]
        if device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
            self._options.append("-cl-fp32-correctly-rounded-divide-sqrt")
        # what stands before our own kernels, in the place of the header of everything
        self._declared = declarations(double=double) if is_needed(device) else None
        self._kernels: dict[str, Any] = {}
        largest = 1 << (int(device.max_work_group_size).bit_length() - 1)
        shared = int(device.local_mem_size)
        self.traits = Traits(
            lanes=min(_LANES, largest),
            widest=float64 if double else float32,
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
        version = subgroups.language(device)
        if version is not None:
            self._try_shuffles(version)

    def _try_shuffles(self, version: str) -> None:
        """Have threads join their values by shuffles, among as many as a trial finds to be neighbours."""
        before = self._options
        self._options = [f"-cl-std={version}", *before[1:]]
        for size in subgroups.SIZES:
            self._dialect = replace(self._without_shuffles, subgroup=size)
            with suppress(KernelError, MemoryError):
                if joins(self.traits.lanes, self._run_trial):
                    return
        self._dialect, self._options = self._without_shuffles, before

    def _run_trial(self, kernel: Kernel, operands: list[Array]) -> list[Array]:
        """Run a kernel of shuffles; KernelError where subgroups have fewer threads than it takes them for."""
        text = print_kernel(kernel, self._dialect)
        built = self._built(text)
        if not self._shuffles(built, kernel.lanes):
            raise KernelError(f"subgroups of fewer than {self._dialect.subgroup} threads")
        self._kernels[text.name] = (built, kernel.lanes, len(kernel.inputs))
        return run_on(self, kernel, operands)

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
            raise self._told(error) from error
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
        return self._copies.is_pinned and used is not None and not _is_over(used)

    def write(self, buffer: Any, offset: int, data: Bytes) -> None:
        """Copy bytes into a buffer, after the kernels that use it."""
        queue, events = self._ordered(self._uses.using(buffer))
        try:
            self._copies.write(queue, buffer, offset, data, events)
        except cl.Error as error:
            if events is None or not _has_failed(events):
                raise self._told(error) from error
            self._copies.write(queue, buffer, offset, data, None)  # what failed is over

    def read(self, buffer: Any, offset: int, nbytes: int) -> Bytes:
        """Wait for what wrote a buffer, and return a copy of bytes of it."""
        queue, events = self._ordered(self._uses.writing(buffer))
        try:
            return self._copies.read(queue, buffer, offset, nbytes, events)
        except cl.Error as error:
            raise self._told(error) from error

    def _ordered(self, command: Any) -> tuple[Any, list[Any] | None]:
        """Return the queue of a copy that follows a command, and the events that it waits for.

        Where nothing came later, the queue of kernels is as good: it is in order, and no event has to be waited for.
        """
        latest = self._latest
        if self._is_shared or command is latest or latest is None or _is_over(latest):
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
        return print_kernel(kernel, self._dialect).source

    def build(self, kernel: Kernel) -> Any:
        """Return a kernel ready for `launch`."""
        text = print_kernel(kernel, self._dialect)
        if text.name not in self._kernels:
            with spanned(Work.COMPILE, text.name, "opencl"):
                built = self._built(text)
                if _SHUFFLE in text.source and not self._shuffles(built, kernel.lanes):
                    built = self._built(print_kernel(kernel, self._without_shuffles))
                self._kernels[text.name] = (built, kernel.lanes, len(kernel.inputs))
        return self._kernels[text.name]

    def _built(self, text: Text) -> Any:
        return cl.Kernel(self._compile(text), text.name)

    def _shuffles(self, built: Any, lanes: int) -> bool:
        """Whether the subgroups of a kernel, in groups of so many threads, have as many as its text takes them for."""
        (device,) = self._context.devices
        size = subgroups.size_in(built, device, lanes)
        return size >= self._dialect.subgroup and lanes % size == 0

    def _compile(self, text: Text) -> Any:
        try:
            if self._declared is not None:
                return self._compiled(f"{self._declared}\n{text.source}", OPTION)
        except cl.Error as error:
            log("opencl: no kernel without the declarations of everything: %s", error)
            self._declared = None
        try:
            return self._compiled(text.source)
        except cl.Error as error:
            raise KernelError(f"OpenCL does not compile {text.name}: {error}") from error

    def _compiled(self, source: str, *options: str) -> Any:
        # drivers compile for seconds, and hear of no interrupt
        build = partial(cl.Program(self._context, source).build, [*self._options, *options])
        return run_interruptibly(build) if is_interrupted_here() else build()

    def print_raw(self, call: RawCall) -> RawText:
        """Return the text of a user's kernel."""
        return print_raw(call, self._dialect, most=self.traits.lanes)

    def build_raw(self, text: RawText) -> Any:
        """Return a user's kernel ready for `launch`."""
        if text.name not in self._kernels:
            with spanned(Work.COMPILE, text.name, "opencl"):
                try:
                    program = self._compiled(text.source)
                except cl.Error as error:
                    raise failure(text, str(error)) from error
                made = cl.Kernel(program, text.name)
                self._kernels[text.name] = (made, text.lanes, len(text.call.arrays))
        return self._kernels[text.name]

    def launch(
        self, built: Any, groups: int, buffers: Sequence[Any], words: np.ndarray[Any, Any]
    ) -> None:
        """Run a kernel."""
        kernel, lanes, read = built
        try:
            kernel.set_args(*buffers, words)
            event = cl.enqueue_nd_range_kernel(self._queue, kernel, (groups * lanes,), (lanes,))
        except cl.Error as error:
            raise self._told(error) from error
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
                raise self._told(error) from error
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
            raise self._told(error) from error
        return Event(self._latest, self._told)

    def flush(self) -> None:
        """Have the device begin."""
        self._queue.flush()

    def synchronize(self) -> None:
        """Wait for everything."""
        try:
            self._queue.finish()
        except cl.Error as error:
            raise self._told(error) from error

    def pin(self, pinned: bool | None) -> None:
        """Have transfers go through pinned memory, or be the driver's business; None for what suits the device."""
        with self.lock:
            self._copies.pin(pinned)

    def close(self) -> None:
        """Release kernels, queues and context: drivers count who refers to them."""
        self._kernels.clear()
        self._copies.close()
        self._uses = Uses()
        self._queue = self._plain = self._with_times = self._latest = self._context = None

    def _told(self, error: cl.Error) -> Exception:
        if error.code in _NO_MEMORY:
            return MemoryError(str(error))
        return KernelError(f"OpenCL: {error}")


def _is_over(event: Any) -> bool:
    """Whether a command has happened, or cannot any more."""
    return int(event.command_execution_status) <= cl.command_execution_status.COMPLETE


def _has_failed(events: list[Any]) -> bool:
    return any(int(event.command_execution_status) < 0 for event in events)


class Event:
    """An event of OpenCL, as a mark; what fails has a negative status."""

    def __init__(self, event: Any, told: Callable[[cl.Error], Exception]) -> None:
        self._event, self._told = event, told

    def is_done(self) -> bool:
        """Whether it has happened, or cannot any more."""
        return _is_over(self._event)

    def wait(self) -> None:
        """Wait for it."""
        try:
            self._event.wait()
        except cl.Error as error:
            raise self._told(error) from error
