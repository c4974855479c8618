"""A GPU: streams of its own for kernels and for copies, memory, by the driver's calls as CuPy has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import cupy
import numpy as np

from tensorframe.backends.cuda.compiler import architecture_for, code_of
from tensorframe.backends.cuda.error_translation import translated_errors
from tensorframe.backends.cuda.loaded import Loaded
from tensorframe.backends.cuda.staging import Staging
from tensorframe.backends.cuda.timeline import Timeline
from tensorframe.backends.device.promises import Mark
from tensorframe.backends.device.queue import Bytes, Gate, Queue, Traits
from tensorframe.backends.device.uses import Uses
from tensorframe.codegen.c import print_kernel
from tensorframe.codegen.cuda import DIALECT
from tensorframe.codegen.raw.c import print_raw
from tensorframe.codegen.raw.failures import failure
from tensorframe.codegen.raw.text import RawText
from tensorframe.codegen.words import parameters
from tensorframe.dtypes import NARROW, float64
from tensorframe.errors import DeviceError, KernelError
from tensorframe.kernel.ir import WARP, Kernel
from tensorframe.ops.raw_kernels import RawCall

_LANES = 256
# Bytes of the widest load and store there is: with as many in flight for each thread as memory needs to be busy.
_ACCESS = 16
# Groups of a launch for each multiprocessor: several times as many as it runs at once, so that none waits for the last.
_GROUPS_EACH = 32
# Bytes that a group may have for its rows: 16,384 elements of float32, and what joins them. With more, too few groups
# would run at once for memory to be busy.
_ROWS = 72 << 10


class Refused(Exception):  # noqa: N818 - an answer, which nobody outside hears of
    """A plan has steps that a graph cannot capture."""


class CudaQueue(Queue):
    """Runs kernels and CuPy's functions on one GPU, in the order of the calls.

    Copies from and to the host have a stream of their own: one follows what used its buffer, and nothing that came
    later; what comes next on the stream of kernels follows the copy.
    """

    tensor_cores = False  # whether products of float32 may be rounded for them
    has_clock = True
    copies_beside = True
    capturing = False  # whether what is launched becomes a graph, and nothing can be waited for

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index
        self.device = self.native = cupy.cuda.Device(index)
        facts = cupy.cuda.runtime.getDeviceProperties(index)
        self._architecture = architecture(facts)
        self.lock = Current(self.device)  # a lock, and more
        with self.lock, translated_errors:
            # not synchronised with the default stream, which everything else in the process uses
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self.copies = cupy.cuda.Stream(non_blocking=True)
        self._timeline = Timeline(self.stream)
        self._uses: Uses[int] = Uses()  # by their numbers in the timeline
        self._staging = Staging(self.copies, self.stream)
        self._kernels: dict[str, Loaded] = {}
        largest = 1 << (int(facts["maxThreadsPerBlock"]).bit_length() - 1)
        declared = int(facts["sharedMemPerBlock"])
        # of HIP every kernel has all there is
        shared = max(declared, int(facts.get("sharedMemPerBlockOptin", 0)))
        is_ampere = not cupy.cuda.runtime.is_hip and int(facts["major"]) >= 8
        has_tiles = is_ampere and min(_LANES, largest) % WARP == 0
        self.traits = Traits(
            lanes=min(_LANES, largest),
            widest=float64,
            wide_index=True,
            max_groups=_GROUPS_EACH * int(facts["multiProcessorCount"]),
            held={},
            max_block=int(facts["totalGlobalMem"]),
            access=_ACCESS,
            rows=min(shared, _ROWS),
            max_threads=int(facts["maxThreadsPerBlock"]),
            max_shared=declared,
            double_buffer=declared,
            # tensor cores multiply these, with sums of float32
            tile_products=NARROW if has_tiles else frozenset(),
            copies=is_ampere,
            neighbours=True,
        )

    def allocate(self, nbytes: int) -> Any:
        """Return memory of the device, not CuPy's pool's: ours keeps what is freed."""
        try:
            with translated_errors:
                return cupy.cuda.Memory(nbytes)
        except MemoryError:
            cupy.get_default_memory_pool().free_all_blocks()  # what programs freed that use CuPy too
            with translated_errors:
                return cupy.cuda.Memory(nbytes)

    def total_memory(self) -> int | None:
        """Return the memory of the GPU in bytes."""
        return self.traits.max_block

    def free_memory(self, taken: int) -> int | None:
        """Return what the driver has left, for all processes, and what CuPy's own pool gives back when need be."""
        with self.lock, translated_errors:
            free, _ = cupy.cuda.runtime.memGetInfo()
        return int(free) + int(cupy.get_default_memory_pool().free_bytes())

    def release(self, buffer: Any) -> None:
        """Forget memory; CuPy frees it with its last reference, after the commands that run."""
        self._uses.forget(buffer)

    @contextmanager
    def for_libraries(self) -> Iterator[None]:
        """Have functions of CuPy work on the stream of kernels; which buffers they use is not known."""
        with self.stream:
            try:
                yield
            finally:
                self.note_unseen()

    def note_unseen(self) -> None:
        """Note commands on the stream that did not go through `launch` and `copy`, such as a library's kernels."""
        self._timeline.given += 1
        self._uses.note_unseen(self._timeline.given)

    def _note(self, buffers: Sequence[Any], read: int) -> None:
        self._timeline.given = number = self._timeline.given + 1
        self._uses.note(number, buffers, read)

    def _follow(self, command: int | None) -> None:
        """Have the stream of copies wait for a command, unless it is done."""
        event = None if command is None else self._timeline.behind(command)
        if event is not None:
            self.copies.wait_event(event)

    def is_busy(self, buffer: Any) -> bool:
        """Whether a kernel that uses a buffer is not known to be done."""
        used = self._uses.using(buffer)
        with translated_errors:
            return used is not None and not self._timeline.is_past(used)

    def write(self, buffer: Any, offset: int, data: Bytes) -> None:
        """Copy bytes into a buffer, after the kernels that use it."""
        self._check_capture()
        with translated_errors:
            self._follow(self._uses.using(buffer))
            self._staging.write(buffer.ptr + offset, data)

    def read(self, buffer: Any, offset: int, nbytes: int) -> Bytes:
        """Wait for what wrote a buffer, and return a copy of bytes of it."""
        self._check_capture()
        with translated_errors:
            self._follow(self._uses.writing(buffer))
            return self._staging.read(buffer.ptr + offset, nbytes)

    def _check_capture(self) -> None:
        if self.capturing:
            raise Refused

    def copy(self, source: Any, start: int, target: Any, offset: int, nbytes: int) -> None:
        """Copy bytes from one buffer of the device to another one."""
        kind = cupy.cuda.runtime.memcpyDeviceToDevice
        with translated_errors:
            cupy.cuda.runtime.memcpyAsync(
                target.ptr + offset, source.ptr + start, nbytes, kind, self.stream.ptr
            )
        self._note((source, target), 1)

    def source(self, kernel: Kernel) -> str:
        """Return a kernel in CUDA C++."""
        return print_kernel(kernel, DIALECT).source

    def build(self, kernel: Kernel) -> Any:
        """Return a kernel ready for `launch`."""
        text = print_kernel(kernel, DIALECT)
        if text.name not in self._kernels:
            code = code_of(text.name, text.source, self._architecture)
            with translated_errors:
                last = parameters(kernel)[-1]
                count = len(kernel.inputs) + len(kernel.outputs)
                words = last.word + last.words
                read = len(kernel.inputs)
                loaded = Loaded(
                    *(text.name, code, kernel.lanes, count, read, words), text.dynamic_shared
                )
                self._kernels[text.name] = loaded
        return self._kernels[text.name]

    def print_raw(self, call: RawCall) -> RawText:
        """Return the text of a user's kernel."""
        return print_raw(call, DIALECT, most=self.traits.lanes)

    def build_raw(self, text: RawText) -> Any:
        """Return a user's kernel ready for `launch`."""
        if text.name not in self._kernels:
            try:
                code = code_of(text.name, text.source, self._architecture)
            except KernelError as error:
                raise failure(text, error.message) from error
            read = len(text.call.arrays)
            count = read + len(text.call.outputs)
            with translated_errors:
                loaded = Loaded(text.name, code, text.lanes, count, read, text.words)
                self._kernels[text.name] = loaded
        return self._kernels[text.name]

    def launch(
        self, built: Any, groups: int, buffers: Sequence[Any], words: np.ndarray[Any, Any]
    ) -> None:
        """Run a kernel."""
        if self.clocks and not self.capturing:
            with translated_errors:
                began, ended = cupy.cuda.Event(), cupy.cuda.Event()
                began.record(self.stream)
                self._launch(built, groups, buffers, words)
                ended.record(self.stream)
            self.timed((began, ended))
        else:
            self._launch(built, groups, buffers, words)

    def nanoseconds(self, launches: Sequence[Any]) -> list[int]:
        """Return the time between two events of each launch."""
        with translated_errors:
            return [int(cupy.cuda.get_elapsed_time(*events) * 1e6) for events in launches]

    def _launch(
        self, built: Any, groups: int, buffers: Sequence[Any], words: np.ndarray[Any, Any]
    ) -> None:
        built.pointers[:] = [buffer.ptr for buffer in buffers]
        built.words[:] = words
        with translated_errors:
            cupy.cuda.driver.launchKernel(
                built.function.ptr,
                *(groups, 1, 1),
                *(built.lanes, 1, 1),
                built.shared,
                self.stream.ptr,
                built.arguments,
                0,
            )
        self._note(buffers, built.read)

    def pin(self, pinned: bool) -> None:
        """Have transfers go through pinned memory, or be the driver's business."""
        with self.lock:
            self.copies.synchronize()
            self._staging = Staging(self.copies, self.stream, pinned=pinned)

    def close(self) -> None:
        """Release kernels, pinned memory and the streams: CuPy frees each with its last reference."""
        self._kernels.clear()
        self._staging = Staging(self.copies, self.stream)

    def mark(self) -> Mark:
        """Return an event."""
        with translated_errors:
            return Event(self._timeline.mark())

    def synchronize(self) -> None:
        """Wait for all commands."""
        self._check_capture()
        with translated_errors:
            self.stream.synchronize()
        self._timeline.finish()


class Event:
    """An event of CUDA, as a mark."""

    def __init__(self, event: Any) -> None:
        self._event = event

    def is_done(self) -> bool:
        """Whether all commands before it are done."""
        with translated_errors:
            return bool(self._event.done)

    def wait(self) -> None:
        """Wait for it."""
        with translated_errors:
            self._event.synchronize()


class Current(Gate):
    """The lock of a queue: whoever holds it has the GPU as the thread's current one, as all calls need it."""

    __slots__ = ("_gpu",)

    def __init__(self, gpu: Any) -> None:
        super().__init__()
        self._gpu = gpu

    def __enter__(self) -> None:
        super().__enter__()
        try:
            self._gpu.__enter__()
        except BaseException:
            super().__exit__()
            raise

    def __exit__(self, *raised: object) -> None:
        try:
            self._gpu.__exit__(*raised)
        finally:
            super().__exit__()


def architecture(facts: dict[str, Any]) -> str:
    """Return what kernels are compiled for, by the properties of a GPU; DeviceError for one that is too old."""
    if cupy.cuda.runtime.is_hip:
        name: bytes = facts["gcnArchName"]
        return name.decode().partition(":")[0]
    capability = (int(facts["major"]), int(facts["minor"]))
    chosen = architecture_for(capability, cupy.cuda.nvrtc.getSupportedArchs())
    if chosen is None:
        number = ".".join(map(str, capability))
        raise DeviceError(f"the compiler of CUDA here has given up GPUs of capability {number}")
    return chosen
