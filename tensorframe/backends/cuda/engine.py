"""The backends of NVIDIA's GPUs, and AMD's where CuPy was built for these: our kernels, and the makers' libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any

from tensorframe.backends.base import DeviceInfo, LaunchGraph, Program
from tensorframe.backends.cuda.devices import find
from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.engine import KernelBackend
from tensorframe.backends.device.queue import Queue
from tensorframe.backends.device.selection import is_partitioned, places_of
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import ANY, DType
from tensorframe.errors import DeviceError, KernelError
from tensorframe.graph.device import Device
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.kernel.groups.algorithms.merge_sort import reads_once
from tensorframe.kernel.spaces.dot import is_dot
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.sorting import ARGPARTITION, PARTITION, TOPK

if TYPE_CHECKING:
    from tensorframe.backends.cuda.queue import CudaQueue
    from tensorframe.backends.settings import Setting

# the types of devices in DLPack: memory of CUDA, managed memory of CUDA, memory of ROCm
_HOMES = {2: "cuda", 13: "cuda", 10: "rocm"}


class CudaBackend(KernelBackend):
    """Kernels in CUDA C++; products, transforms, decompositions and orders by CuPy."""

    name = "cuda"

    def probe(self) -> list[DeviceInfo] | str:
        """Return the GPUs, or the reason that there are none."""
        return find(self.name)

    def open_queue(self, device: Device) -> Queue:
        """Return the queue of a GPU; DeviceError if it takes no programs now."""
        from tensorframe.backends.cuda.queue import CudaQueue

        try:
            return CudaQueue(device.index)
        except (KernelError, MemoryError, RuntimeError) as error:
            raise DeviceError(f"{device} cannot be used: {error}") from error

    def device_settings(self, device: Device) -> Mapping[str, Setting]:
        """Return those of every device with kernels, of pinned memory, and of what CUDA alone has."""
        from tensorframe.backends.settings import noted, switch  # loads what few programs need

        def pin(pinned: bool) -> None:
            if self.is_open(device):
                self._queue(device).pin(pinned)

        def round_products(allow: bool) -> None:
            if self.is_open(device):
                self._queue(device).tensor_cores = allow

        settings = {**super().device_settings(device), "pinned": switch(pin, default=True)}
        if self.name == "cuda":  # HIP has neither
            settings["tensor_cores"] = switch(round_products, default=False)
            settings["graphs"] = noted()
        return settings

    def call(self, region: Region, device: Device) -> Program:
        """Return a library's function, or kernels of ours."""
        from tensorframe.backends.cuda.libraries import LibraryProgram, is_called

        op = region.ops[0]
        # no library multiplies factors of several dtypes
        of_kernels = op.op is MATMUL and (bool(op.attrs) or is_dot(region, 0))
        by_kernels = len(region.ops) > 1 or of_kernels or self._selects(region, device)
        if by_kernels or not is_called(region):
            return super().call(region, device)
        return LibraryProgram(region, self._queue(device), self.open_device(device).pool)

    def _selects(self, region: Region, device: Device) -> bool:
        """Whether kernels find the first few elements of rows, or those at some places, which CuPy would sort."""
        op = region.ops[0]
        if op.op in (PARTITION, ARGPARTITION):
            kth, axis = op.attrs
            return is_partitioned(op.shape[axis], len(places_of(kth, op.shape[axis])))
        if op.op is not TOPK:
            return False
        count, axis, _ = op.attrs
        length = region.shape_of(op.inputs[0])[axis]
        return reads_once(length, count, self._queue(device).traits.lanes)

    def supports(self, op: Op, operands: Sequence[DType], result: DType, device: Device) -> bool:
        """Whether a library or a kernel computes the op on these dtypes."""
        from tensorframe.backends.cuda.libraries import has_call

        return has_call(op, operands) or super().supports(op, operands, result, device)

    def _queue(self, device: Device) -> CudaQueue:
        queue: Any = self.open_device(device).queue
        cuda_queue: CudaQueue = queue
        return cuda_queue

    def reaches(self, source: Device, target: Device) -> bool:
        """Whether both are GPUs of the same maker: the driver copies from one to the other."""
        return source.backend == target.backend

    def copy_from(self, storage: Storage, target: Device) -> Storage:
        """Return storage on `target` with a copy of another GPU's values."""
        from tensorframe.backends.cuda.peers import copy

        array: DeviceArray = storage.handle
        if array.block is not None and not array.is_contiguous:
            array = self._programs.gathered(storage.device, array)
        made = copy(
            array, self._queue(storage.device), self._queue(target), self.open_device(target).pool
        )
        return self.wrap(target, made)

    def native(self, storage: Storage) -> Any:
        """Return a CuPy array over the same memory; what CuPy's current stream does comes after our work."""
        from tensorframe.backends.cuda.arrays import have_others_wait, to_cupy

        queue = self._queue(storage.device)
        self.wait_for_promised(storage)
        have_others_wait(queue)
        return to_cupy(storage.handle, queue, lent=True)

    def in_order_of(self, device: Device, stream: Any) -> AbstractContextManager[None] | None:
        """Return a context in the order of a stream of CUDA: CuPy's, PyTorch's, or a handle."""
        from tensorframe.backends.cuda.streams import in_order, stream_of

        queue = self._queue(device)
        known = stream_of(stream, queue)
        return None if known is None else in_order(queue, known)

    def capture(
        self,
        device: Device,
        operands: Sequence[Any],
        run: Callable[[Sequence[Any]], Sequence[Any]],
    ) -> LaunchGraph | None:
        """Return a CUDA graph; HIP has none that captures."""
        if self.name != "cuda":
            return None
        from tensorframe.backends.cuda.graphs import Captured
        from tensorframe.backends.cuda.queue import Refused

        try:
            return Captured(self._queue(device), self.open_device(device).pool, operands, run)
        except Refused:
            return None

    def adopt(
        self, obj: Any, shape: Shape | None = None, dtype: DType | None = None
    ) -> Storage | None:
        """Return storage over the memory of a CuPy array."""
        if type(obj).__module__.partition(".")[0] != "cupy":
            return None
        from tensorframe.backends.cuda.arrays import borrowed, is_array, wait_for_others

        if not is_array(obj) or obj.dtype not in ANY or _family() != self.name:
            return None
        device = Device(self.name, int(obj.device.id))
        queue = self._queue(device)
        wait_for_others(queue)
        return self.wrap(device, borrowed(obj, queue, self.open_device(device).pool))

    def export_dlpack(self, storage: Storage) -> Any:
        """Return what hands the memory over in the order of the stream that asks for it."""
        from tensorframe.backends.cuda.arrays import Exported

        return Exported(storage.handle, self._queue(storage.device))

    def import_dlpack(self, obj: Any, device: Device) -> Storage | None:
        """Return storage over the memory of a GPU's array of any library."""
        kind, index = obj.__dlpack_device__()
        if self.dlpack_home(int(kind), int(index)) is not device:
            return None
        from tensorframe.backends.cuda.arrays import borrowed, imported

        queue = self._queue(device)
        array = imported(obj, queue)
        if array.dtype not in ANY:
            return None
        return self.wrap(device, borrowed(array, queue, self.open_device(device).pool))

    def dlpack_home(self, kind: int, index: int) -> Device | None:
        """Return the GPU that DLPack means."""
        if _HOMES.get(kind) != self.name or index < 0:
            return None
        device = Device(self.name, index)
        return device if device in _found(self.name) else None


class RocmBackend(CudaBackend):
    """The same for AMD's GPUs, whose libraries CuPy calls by the same names."""

    name = "rocm"


@cache
def _found(family: str) -> frozenset[Device]:
    infos = find(family)
    return frozenset() if isinstance(infos, str) else frozenset(info.device for info in infos)


@cache
def _family() -> str:
    import cupy

    return "rocm" if cupy.cuda.runtime.is_hip else "cuda"
