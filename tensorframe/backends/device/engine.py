"""The backend of devices with kernels and memory of their own: arrays, views and programs over a queue each."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet

import numpy as np

from tensorframe.backends.base import Backend, Program
from tensorframe.backends.budget import Budget
from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.assign import sets_slice
from tensorframe.backends.device.calls import has_call
from tensorframe.backends.device.clocks import Clock
from tensorframe.backends.device.foreign import (
    Memory,
    array_over,
    block_over,
    of_another_context,
)
from tensorframe.backends.device.make import source_of
from tensorframe.backends.device.memory import Block, Pool
from tensorframe.backends.device.programs import Programs
from tensorframe.backends.device.promises import Outstanding, Promise, finished
from tensorframe.backends.device.queue import Queue, Unusable, forked
from tensorframe.backends.device.scatter import can_scatter, scatters
from tensorframe.backends.device.scratch import scratch_bytes
from tensorframe.backends.interruptible import is_interrupted_here, run_interruptibly
from tensorframe.backends.registry import capabilities
from tensorframe.backends.spans import log, opened
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import DType
from tensorframe.errors import KernelError, TensorFrameError
from tensorframe.forks import in_forked_processes, new_reentrant_lock
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape, strides_of
from tensorframe.kernel.nest.support import computable
from tensorframe.ops.movement import DEPENDS, PART
from tensorframe.ops.reduction import index_dtype
from tensorframe.ops.sorting import TOPK
from tensorframe.quick_dataclasses import dataclass, field

if TYPE_CHECKING:
    from tensorframe.backends.settings import Setting

# what runs together in one kernel
KERNELS = frozenset(
    {Kind.MAP, Kind.REDUCE, Kind.SCAN, Kind.VIEW, Kind.GATHER, Kind.SCATTER, Kind.SOURCE}
)
# what is done to a product in its kernel
EPILOGUES = frozenset({Kind.MAP, Kind.VIEW})


@dataclass(frozen=True, slots=True)
class OpenDevice:
    """A device that is in use: its queue and its memory."""

    queue: Queue
    pool: Pool
    promises: Outstanding = field(default_factory=Outstanding)


class KernelBackend(Backend):
    """What OpenCL, WebGPU and CUDA have in common; each says which devices there are, and opens their queues."""

    has_libraries: ClassVar[bool] = True
    """Whether library calls may go past the queue, such as to libraries of the device's maker."""

    def __init__(self) -> None:
        self._open_devices: dict[Device, OpenDevice] = {}
        self._lock = new_reentrant_lock()
        self._forked = False
        self._programs = Programs(self)
        _here.add(self)

    def forget(self) -> None:
        """Refuse all work from now on, in a forked process: the drivers' state is the parent's."""
        self._forked = True
        for device, open_device in self._open_devices.items():
            open_device.queue.lock = Unusable(str(device))

    @abstractmethod
    def open_queue(self, device: Device) -> Queue:
        """Return the queue of a device that `probe` returned."""

    def open_device(self, device: Device) -> OpenDevice:
        """Return the queue and the memory of a device, opened at its first use."""
        opened_device = self._open_devices.get(device)
        if opened_device is not None and not self._forked:
            return opened_device
        if self._forked:
            raise forked(str(device))
        # an interrupt does not end opening the device: drivers may be unusable when they are left halfway
        return (
            run_interruptibly(partial(self._opened, device))
            if is_interrupted_here()
            else self._opened(device)
        )

    def _opened(self, device: Device) -> OpenDevice:
        with self._lock:
            if device not in self._open_devices:
                with opened(str(device), f"opening {device}"):
                    queue = self.open_queue(device)
                self._open_devices[device] = OpenDevice(queue, Pool(queue, str(device)))
                self._configure_again(device)
            return self._open_devices[device]

    def _configure_again(self, device: Device) -> None:
        """Apply the settings of a device that has just been opened."""
        from tensorframe.backends.device.tuned import recall  # loads what measuring needs

        recall(device, self._open_devices[device].queue)
        known = sys.modules.get("tensorframe.backends.settings")  # else nothing was set
        if known is not None:
            known.restore(self, device)

    def is_open(self, device: Device) -> bool:
        """Whether it has a queue."""
        return device in self._open_devices

    def open(self, device: Device) -> None:
        """Open the queue, if that was not done before."""
        self.open_device(device)

    def close(self, device: Device) -> None:
        """Wait for what runs, and give queue and memory back to the driver."""
        with self._lock:
            open_device = self._open_devices.get(device)
            if open_device is None or self._forked:
                return
            queue, pool = open_device.queue, open_device.pool
            with queue.lock:  # threads that compute finish the current kernel
                # pending errors are lost, as all values are
                with suppress(TensorFrameError, MemoryError):
                    queue.synchronize()
                del self._open_devices[device]
                pool.close()
                queue.lock.shut(str(device))
                queue.close()
        log("closed %s", device)

    def device_settings(self, device: Device) -> Mapping[str, Setting]:
        """Return the limit of its memory, which holds for as long as it is not changed, however often it opens."""
        from tensorframe.backends.settings import memory_limit  # loads what few programs need

        def budget() -> Budget | None:
            open_device = self._open_devices.get(device)
            return None if open_device is None else open_device.pool.budget

        return {"memory_limit": memory_limit(budget)}

    def scratch(self, region: Region, device: Device) -> int:
        """Return what sorting takes for itself; kernels take nothing to speak of."""
        return scratch_bytes(region)

    def reusable(self, handle: Any) -> bool:
        """Whether nobody but this array sees its memory, which is the library's own."""
        return isinstance(handle, DeviceArray) and handle.is_alone

    def writes_over(self, region: Region, device: Device) -> bool:
        """Whether elements of an operand are replaced: kernels over all elements never write to what they read."""
        return sets_slice(region) or scatters(region)

    def budget(self, device: Device) -> Budget:
        """Return that of the device's pool."""
        return self.open_device(device).pool.budget

    def allocate(self, device: Device, nbytes: int) -> Block:
        """Return a block of memory."""
        return self.open_device(device).pool.block(nbytes)

    def free(self, handle: Any) -> None:
        """Blocks go back to their pool when nobody refers to them."""

    def upload(self, device: Device, array: np.ndarray[Any, Any]) -> Storage:
        """Return storage with a copy of a host array."""
        open_device = self.open_device(device)
        held = open_device.queue.traits.held.get(array.dtype, array.dtype)
        block = None
        if array.size:
            data = np.ascontiguousarray(array).astype(held, copy=False)
            block = open_device.pool.block_to_fill(data.nbytes)
            with open_device.queue.lock:
                open_device.queue.write(block.buffer, 0, data.reshape(-1).view(np.uint8))
        steps = strides_of(array.shape)
        return self.wrap(device, DeviceArray(block, array.dtype, array.shape, steps))

    def download(self, storage: Storage) -> np.ndarray[Any, Any]:
        """Return a copy of the values in host memory."""
        array: DeviceArray = storage.handle
        if array.block is None:
            return np.empty(array.shape, array.dtype)
        open_device = self.open_device(storage.device)
        self.wait_for_promised(storage)
        block = array.block
        if not array.is_contiguous:
            array = self._programs.gathered(storage.device, array)
        assert array.block is not None
        held = open_device.queue.traits.held.get(array.dtype, array.dtype)
        with open_device.queue.lock:
            try:
                data = open_device.queue.read(
                    array.block.buffer, array.offset * held.itemsize, array.size * held.itemsize
                )
            except KernelError as error:  # devices say it once
                block.promise = Promise.broken(error)
                raise
        # exact, though NumPy warns of NaN in dtypes without infinities
        with np.errstate(invalid="ignore"):
            return data.view(held).astype(array.dtype, copy=False).reshape(array.shape)

    def hand_over(self, storage: Storage, step: str, location: str | None) -> None:
        """Submit recorded launches, and put a promise of these values on their blocks, unless there is one."""
        blocks = [block for block in _blocks(storage) if block.promise is None]
        open_device = self._open_devices.get(storage.device)
        if blocks and open_device is not None:  # else values are lost, as reading them says
            with open_device.queue.lock:
                promise = Promise(open_device.queue.mark(), step, location)
                open_device.promises.add(promise)
            for block in blocks:
                block.promise = promise

    def wait_for(self, storage: Storage) -> None:
        """Wait for values: for the queue where nothing was promised; raise what went wrong instead."""
        open_device = self._open_devices.get(storage.device)
        if open_device is None:
            return  # it is lost, as reading it says
        blocks = [block for block in _blocks(storage) if block.promise is None]
        if blocks:
            with open_device.queue.lock:
                open_device.promises.settle()  # what has failed before is said of what was promised
                promise = finished(open_device.queue)
            for block in blocks:
                block.promise = promise
        self.wait_for_promised(storage)

    def wait_for_promised(self, storage: Storage) -> None:
        """Wait for what was promised of values, if anything was; raise what went wrong instead."""
        open_device = self._open_devices.get(storage.device)
        promises = [block.promise for block in _blocks(storage) if block.promise is not None]
        if open_device is None or not promises:
            return
        with open_device.queue.lock:
            for promise in promises:
                open_device.promises.settle(promise)
                promise.wait()

    def is_read_early(self, storage: Storage) -> bool:
        """Whether these values were handed over, to a queue whose copies wait for nothing that came later."""
        open_device = self._open_devices.get(storage.device)
        if open_device is None or not open_device.queue.copies_beside:
            return False
        return all(block.promise is not None for block in _blocks(storage))

    def is_done(self, storage: Storage) -> bool:
        """Whether the device has computed these values."""
        self.hand_over(storage, "", None)  # submitted now, if it was not yet
        if not self.is_open(storage.device):
            return True  # it is lost
        with self.open_device(storage.device).queue.lock:
            return all(
                block.promise is None or block.promise.is_done() for block in _blocks(storage)
            )

    def wrap(self, device: Device, handle: DeviceArray) -> Storage:
        """Return the storage of an array of the device."""
        return Storage(device, handle, handle.dtype, handle.shape)

    def native(self, storage: Storage) -> Any:
        """Return the buffer that begins with the elements, after all work on it; valid as long as the tensor lives."""
        array: DeviceArray = storage.handle
        if array.block is None:
            raise ValueError("a tensor without elements has no memory")
        if array.offset or not array.is_contiguous:
            raise ValueError("a buffer holds elements in C order, from its beginning on")
        self.wait_for_promised(storage)
        self.synchronize(storage.device)
        open_device, buffer = (
            self.open_device(storage.device),
            self.library_buffer(array.block.buffer),
        )
        open_device.pool.lent[open_device.queue.identity(buffer)] = array.block
        return buffer

    def library_buffer(self, buffer: Any) -> Any:
        """Return a queue's buffer as the device's own library knows it."""
        return buffer

    def memory_of(self, obj: Any) -> Memory | None:
        """Return what is known of the memory of an object of the device's own library; None if it is no such."""
        return None

    def adopt(
        self, obj: Any, shape: Shape | None = None, dtype: DType | None = None
    ) -> Storage | None:
        """Return storage over a buffer, or an array, that was made in the context of a device in use."""
        memory = self.memory_of(obj)
        if memory is None:
            return None
        memory = memory.seen_as(shape, dtype)
        for device, open_device in tuple(self._open_devices.items()):
            block = block_over(memory, obj, open_device.queue, open_device.pool)
            if block is not None:
                return self.wrap(device, array_over(memory, block, open_device.queue, str(device)))
        raise of_another_context(memory, self.name)

    def native_device(self, device: Device) -> Any:
        """Return what the queue makes memory with."""
        return self.open_device(device).queue.native

    def compile(self, region: Region, device: Device) -> Program:
        """Return the program of a region: kernels, a view, or a library call."""
        return self._programs.program(region, device)

    def call(self, region: Region, device: Device) -> Program:
        """Return the program of a library call that `supports` has said yes to."""
        return self._programs.call(region, device)

    def source(self, region: Region, device: Device) -> str:
        """Return the text of a region's kernels."""
        if region.ops[0].op.kind is Kind.TRANSFER:
            return ""
        return source_of(self.compile(region, device))

    def supports(self, op: Op, operands: Sequence[DType], result: DType, device: Device) -> bool:
        """Whether kernels compute the op on dtypes that the device has."""
        if op is TOPK and not super().supports(op, operands, index_dtype(), device):
            return False  # it has places that the device cannot hold
        if op is PART or op is DEPENDS:  # no kernel: a handle that there is
            return super().supports(op, operands, result, device)
        language = capabilities(device).language if op.printed is not None else ""
        return (
            can_scatter(op, operands)
            or has_call(op, operands)
            or computable(op, operands, result, language)
        )

    def clock(self, device: Device) -> Clock | None:
        """Return a clock of the device's queue."""
        queue = self.open_device(device).queue
        return Clock(queue) if queue.has_clock else None

    def synchronize(self, device: Device) -> None:
        """Wait for the device; what went wrong with results that were handed over names the line of the first."""
        open_device = self.open_device(device)
        with open_device.queue.lock:
            open_device.promises.wait(open_device.queue)


def _blocks(storage: Storage) -> list[Block]:
    """Return the memory of a value, or of the values of a call that gives several."""
    handle = storage.handle
    arrays: Sequence[DeviceArray] = handle if isinstance(handle, tuple) else (handle,)
    return [array.block for array in arrays if array.block is not None]


# those of this process
_here: WeakSet[KernelBackend] = WeakSet()


def _forget() -> None:
    for backend in list(_here):
        backend.forget()


in_forked_processes(_forget)
