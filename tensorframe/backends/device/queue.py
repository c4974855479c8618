"""Command queues: the operations that kernels need of a device, in which OpenCL, WebGPU and CUDA differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from tensorframe.backends.device.promises import Finish, Mark
from tensorframe.backends.interruptible import at_the_end, caller
from tensorframe.dtypes import DType
from tensorframe.errors import DeviceError, KernelError
from tensorframe.forks import new_reentrant_lock
from tensorframe.kernel.groups.algorithms.tunings import Tunings
from tensorframe.kernel.ir import Kernel
from tensorframe.quick_dataclasses import dataclass

if TYPE_CHECKING:
    from tensorframe.backends.device.clocks import Clock
    from tensorframe.codegen.raw.text import RawText
    from tensorframe.ops.raw_kernels import RawCall

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
# the arguments of a call of `launch`
Launched = tuple[Any, int, Sequence[Any], np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True)
class Traits:
    """The properties of a device that kernels depend on.

    Work-group sizes, vector widths, limits, and the dtypes and instructions it has: what printers
    and forms of kernels read.
    """

    lanes: int  # threads of a work-group: a power of two
    widest: DType  # the floating dtype with the most digits
    wide_index: bool  # whether positions may have 64 bits
    max_groups: int  # work-groups of one launch; loops over the grid or the groups run on
    held: Mapping[DType, DType]  # dtypes that are held in memory as another one
    max_block: int  # bytes of one buffer that a kernel can be given
    max_buffers: int = 1 << 10  # operands and results of a kernel together
    access: int = 0  # bytes that a thread reads or writes at once, 0 for one element
    # what a group of a user's own kernel may have: threads, and bytes that they share
    max_threads: int = 256
    max_shared: int = 1 << 14
    rows: int = 0  # bytes of a group for rows that several passes read; 0 where caches do as well
    double_buffer: int = 0  # bytes of a group for tiles that are read ahead; 0 where that is slower
    tile_products: frozenset[DType] = frozenset()  # whose products warps make of tiles, in float32
    copies: bool = False  # whether it copies to memory of a group by itself, 16 bytes at once
    neighbours: bool = False  # whether threads that read ahead for products do so by 16 bytes
    max_iterations: int = (
        0  # of a thread's loops, all together; 0 where they have no end but their own
    )


def forked(device: str) -> DeviceError:
    """Return the error of a device that a forked process has inherited."""
    return DeviceError(
        f"{device} cannot be used in a process that was forked: its driver's threads are not there",
        suggestions=(
            "processes that are started anew: multiprocessing.get_context('spawn')",
            "device='cpu', which works in forked processes too",
        ),
    )


class Unusable:
    """The lock of a queue in a forked process: the driver would wait forever for threads that are not there."""

    def __init__(self, device: str) -> None:
        self._device = device

    def __enter__(self) -> None:
        raise forked(self._device)

    def __exit__(self, *_: object) -> None:
        """Do nothing: acquiring it raises."""


def closed(device: str) -> DeviceError:
    """Return the error of a value whose device was closed."""
    return DeviceError(
        f"{device} was closed, and what was in its memory went with it",
        suggestions=(
            f"compute it again: {device} opens when it is used",
            f"x.numpy(), or another device, before tfr.backends.close({device!r})",
        ),
    )


class Gate:
    """The lock of a queue, which raises once the device was closed, in waiting threads too."""

    __slots__ = ("_device", "_lock")

    def __init__(self) -> None:
        self._lock = new_reentrant_lock()
        self._device: str | None = None

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._device is not None:
            self._lock.release()
            raise closed(self._device)

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def shut(self, device: str) -> None:
        """Have every later acquisition raise."""
        self._device = device


class Queue(ABC):
    """A device that runs its commands in order: a later one sees what earlier ones have written.

    Buffers are opaque. Calls come with `lock` held, so they need not be safe by themselves; a kernel runs later than
    `launch` returns, and what goes wrong then is raised by `read` or `synchronize`.
    """

    traits: Traits
    native: Any
    """What makes memory for this queue in the device's own library."""

    has_clock = False
    """Whether the device counts the time of its kernels: then it has `count_time` and `nanoseconds`."""

    copies_beside = False
    """Whether `read` and `write` run beside kernels that do not use their buffers, whenever these were launched."""

    def __init__(self) -> None:
        _here.add(self)
        self.clocks: dict[int, Clock] = {}  # of threads whose launches are timed
        self.lock: Any = Gate()
        self.tunings = Tunings()

    def count_time(self, on: bool) -> None:
        """Have launches from now on be timed, or no longer."""

    def nanoseconds(self, launches: Sequence[Any]) -> list[int]:
        """Return the times of finished launches that `timed` was called with."""
        raise NotImplementedError

    def timed(self, launch: object) -> None:
        """Record a launch, such as its event, if a clock measures what this thread launches."""
        clock = self.clocks.get(caller())
        if clock is not None:
            clock.launches.append(launch)

    @abstractmethod
    def allocate(self, nbytes: int) -> Any:
        """Return a new buffer of at least one byte; MemoryError if there is no memory for it."""

    @abstractmethod
    def release(self, buffer: Any) -> None:
        """Give a buffer back to the device, once everything that uses it has run."""

    @abstractmethod
    def write(self, buffer: Any, offset: int, data: Bytes) -> None:
        """Copy bytes into a buffer; `data` may change as soon as this returns."""

    @abstractmethod
    def read(self, buffer: Any, offset: int, nbytes: int) -> Bytes:
        """Wait for what wrote a buffer before, at least, and return a copy of bytes of it."""

    def is_busy(self, buffer: Any) -> bool:
        """Whether `write` would wait for kernels that use a buffer, where copies run beside others."""
        return False

    @abstractmethod
    def copy(self, source: Any, start: int, target: Any, offset: int, nbytes: int) -> None:
        """Copy bytes from one buffer to another one."""

    @abstractmethod
    def source(self, kernel: Kernel) -> str:
        """Return the text of a kernel in the device's dialect."""

    @abstractmethod
    def build(self, kernel: Kernel) -> Any:
        """Return a kernel ready for `launch`; equal texts are compiled once."""

    @abstractmethod
    def launch(
        self, built: Any, groups: int, buffers: Sequence[Any], words: np.ndarray[Any, Any]
    ) -> None:
        """Run a kernel on so many work-groups, with its inputs' and outputs' buffers and the words of its numbers."""

    def bound(self, launches: Sequence[Launched]) -> Callable[[], None]:
        """Return a function that repeats launches in their order, with the same buffers and numbers each time."""

        def run() -> None:
            for built, groups, buffers, words in launches:
                self.launch(built, groups, buffers, words)

        return run

    def print_raw(self, call: RawCall) -> RawText:
        """Return the text of a user's kernel; only where `Capabilities.language` says that the device has one."""
        raise KernelError(
            f"{call.name}: {type(self).__name__} has no language for kernels of users"
        )

    def build_raw(self, text: RawText) -> Any:
        """Return a user's kernel ready for `launch`; KernelError with the user's own lines if it does not compile."""
        raise KernelError(f"{text.name}: {type(self).__name__} compiles no kernels of users")

    def window(self, buffer: Any, first: int, nbytes: int) -> tuple[Any, int]:
        """Return what `launch` takes for a buffer of more than `max_block` bytes, and the bytes left out in front.

        The kernel reads `nbytes` bytes from `first` on. Called where a buffer is larger, not where an operand is.
        """
        return buffer, 0

    @abstractmethod
    def synchronize(self) -> None:
        """Wait for everything; raise what went wrong meanwhile."""

    def close(self) -> None:
        """Give the device back to its driver: called once, after everything has run and all memory was given back."""

    def borrow(self, buffer: Any, nbytes: int) -> Any:
        """Return what `launch` takes for a buffer of the library's; None if it is of another context or device."""
        return None

    def give_up(self, buffer: Any) -> None:
        """Release a borrowed buffer; finalisers call this, so without `lock`."""

    def owns(self, buffer: Any) -> bool:
        """Whether a buffer of the library's is one that `allocate` has made."""
        return False

    def identity(self, buffer: Any) -> int:
        """Return what identifies a buffer of the library among those that are there at the same time."""
        return id(buffer)

    def largest_buffer(self) -> int | None:
        """Return the most bytes that `allocate` gives; None where that is all that there are."""
        return None

    def total_memory(self) -> int | None:
        """Return the bytes that the device has; None where its driver does not report it."""
        return None

    def free_memory(self, taken: int) -> int | None:
        """Return the bytes that it has left; None where nothing reports it.

        `taken` are those that were allocated here, for drivers that report only how many there are in all.
        """
        total = self.total_memory()
        return None if total is None else max(total - taken, 0)

    def mark(self) -> Mark:
        """Return a mark of the commands enqueued so far, and submit them."""
        self.flush()
        return Finish(self)

    def flush(self) -> None:
        """Submit the commands enqueued so far."""


# those of this process
_here: WeakSet[Queue] = WeakSet()


def _keep_to_this_thread() -> None:
    """Let no other thread in: drivers written in C++ abort where Python ends a thread in the middle of a call."""
    for queue in list(_here):
        with suppress(DeviceError):  # it was closed, or this process was forked
            queue.lock.__enter__()


at_the_end.append(_keep_to_this_thread)
