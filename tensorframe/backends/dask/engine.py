"""The Dask backend: handles are `dask.array.Array`s, steps of a plan add layers of tasks, and `settle` runs them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from math import isnan
from typing import Any

import numpy as np

from tensorframe.backends import host_memory, host_pool
from tensorframe.backends.base import (
    Backend,
    Capabilities,
    DeviceInfo,
    Program,
    byte_count,
    quiet,
)
from tensorframe.backends.budget import Budget
from tensorframe.backends.dask.settings import Settings
from tensorframe.backends.selection import show_bytes
from tensorframe.backends.spans import log
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import ANY, DType
from tensorframe.errors import ArgumentError, DTypeError
from tensorframe.files.reader import Reader
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape

# Kinds that run after a product, in its tasks.
_AFTER_PRODUCTS = frozenset({Kind.MAP, Kind.VIEW, Kind.SOURCE})


class DaskBackend(Backend):
    """Runs regions of the cpu as tasks on blocks; what those cannot do in blocks, as one task on all of them."""

    name = "dask"

    def __init__(self) -> None:
        self.settings = Settings()

    def probe(self) -> list[DeviceInfo] | str:
        """Return the one device: this machine by threads, or a cluster. Dask is not imported for that."""
        from tensorframe.backends.cpu import CpuBackend

        cpu = CpuBackend().probe()[0].capabilities
        capabilities = replace(
            cpu,
            host_memory=False,
            runs_small=False,
            chains=False,
            epilogues=_AFTER_PRODUCTS,
            chunked=True,
        )
        return [self._info(capabilities)]

    def _info(self, capabilities: Capabilities) -> DeviceInfo:
        try:
            driver = f"dask {version('dask')}"
        except PackageNotFoundError:
            driver = "dask"
        if self.settings.client is None:
            total, free = host_memory.total(), host_memory.available()
            return DeviceInfo(
                Device(self.name), "blocks by tasks, here", capabilities, total, free, driver
            )
        from tensorframe.backends.dask.cluster import memory_of, title_of  # it asks the scheduler

        client = self.settings.client
        total, free = memory_of(client)
        return DeviceInfo(Device(self.name), title_of(client), capabilities, total, free, driver)

    def configure(self, **options: Any) -> None:
        """Take `client` and `chunk`; see `tfr.backends.configure`."""
        self.settings.configure(options)

    def allocate(self, device: Device, nbytes: int) -> Any:
        """Return the handle of that many zeros, which take no memory before they are computed with."""
        from tensorframe.backends.dask.arrays import in_blocks

        count = byte_count(nbytes)
        total = host_memory.total()
        if self.settings.client is None and total is not None and count > total:
            raise MemoryError(f"{show_bytes(count)} are more than this machine has")
        if count > np.iinfo(np.int64).max >> 16:
            raise MemoryError(f"{show_bytes(count)} are more than any cluster has")
        zeros = np.broadcast_to(np.zeros((), np.uint8), (count,))
        return in_blocks(zeros, self._chunks((count,), zeros.dtype))

    def free(self, handle: Any) -> None:
        """Garbage collection frees blocks, those on workers too."""

    def upload(self, device: Device, array: np.ndarray[Any, Any]) -> Storage:
        """Return a copy in blocks: here, or in the memory of workers."""
        from tensorframe.backends.dask.arrays import in_blocks

        host_pool.pool.budget.take(array.nbytes)
        copied = np.array(array, copy=True, order="C", subok=False)
        copied.flags.writeable = False
        blocks = in_blocks(copied, self._chunks(copied.shape, copied.dtype))
        if self.settings.client is not None:
            from tensorframe.backends.dask.cluster import scattered

            blocks = scattered(self.settings.client, blocks)
        return self.wrap(device, blocks)

    def download(self, storage: Storage) -> np.ndarray[Any, Any]:
        """Return the values as one array, which is not to be written to: it may be a block itself."""
        from tensorframe.backends.dask.running import computed

        array = np.asarray(computed(storage.handle, self.settings.client)).view()
        array.flags.writeable = False
        return array

    def wrap(self, device: Device, handle: Any) -> Storage:
        """Return the storage of an array in blocks."""
        return Storage(device, handle, np.dtype(handle.dtype), handle.shape)

    def compile(self, region: Region, device: Device) -> Program:
        """Return what adds the tasks of a region to the graphs of its inputs."""
        from tensorframe.backends.dask.repeating import Repeating
        from tensorframe.backends.dask.room import of_client

        repeating = Repeating(region)
        reason = self.bottleneck(region, device)
        if reason is not None:
            log("%s", reason)

        def add_tasks(inputs: Sequence[Any], _: Sequence[Any | None]) -> Sequence[Any]:
            ready = repeating.ready(inputs, self.settings)
            if ready is not None:
                return ready
            # of hundred thousands of tasks none is garbage, and to look through them takes as long as to make them
            collects = gc.isenabled()
            gc.disable()
            try:
                with of_client(self.settings.client):
                    return repeating.pending(inputs, self.settings)
            finally:
                if collects:
                    gc.enable()

        return quiet(add_tasks)

    def bottleneck(self, region: Region, device: Device) -> str | None:
        """Return which op has no tasks for blocks, with the bytes that its one task takes."""
        from tensorframe.backends.dask.bottlenecks import bottleneck

        return bottleneck(region, self.settings.chunk)

    def budget(self, device: Device) -> Budget | None:
        """Return that of the host's memory if tasks run in this process; workers of clusters have limits of theirs."""
        from tensorframe.backends.dask.running import run_here

        return host_pool.pool.budget if self.settings.client is None and run_here() else None

    def settle(self, device: Device, handles: Sequence[Any]) -> list[Any]:
        """Run all tasks that the handles are made by, each once, and return handles of what they gave."""
        from tensorframe.backends.dask.running import persisted

        return persisted(handles, self.settings.client)

    def boolean_mask(self, mask: Storage, values: Storage | None) -> Storage:
        """Return what tasks select, or the positions that they find, block by block."""
        from tensorframe.backends.dask.masks import selected
        from tensorframe.backends.dask.room import of_client

        with of_client(self.settings.client):
            array = selected(mask.handle, None if values is None else values.handle, self.settings)
        return self.wrap(mask.device, array)

    def adopt(
        self, obj: Any, shape: Shape | None = None, dtype: DType | None = None
    ) -> Storage | None:
        """Return storage of a `dask.array.Array` of known sizes and NumPy's blocks; None for anything else.

        An array of tasks that have not run stays one: every plan that needs it runs them, unless it is persisted first.
        """
        module = sys.modules.get("dask.array")
        if module is None or not isinstance(obj, module.Array):
            return None
        if any(isnan(size) for sizes in obj.chunks for size in sizes):
            raise ArgumentError(
                "from_native: the array has blocks of unknown sizes",
                suggestions=("array.compute_chunk_sizes() before",),
            )
        if not isinstance(obj._meta, np.ndarray | np.generic):
            kind = type(obj._meta).__module__.partition(".")[0]
            raise ArgumentError(
                f"from_native: blocks are of {kind}, not of NumPy",
                suggestions=("array.map_blocks(numpy.asarray) before",),
            )
        if obj.dtype not in ANY:
            raise DTypeError(f"from_native: there is no dtype {obj.dtype}")
        return self.wrap(Device(self.name), obj)

    def read_in_blocks(self, device: Device, reader: Reader) -> Storage | None:
        """Return storage whose blocks tasks read: on a cluster, workers find the file under the same name."""
        from tensorframe.backends.dask.files import blocks_of_reader

        return self.wrap(device, blocks_of_reader(reader, self.settings.chunk))

    def synchronize(self, device: Device) -> None:
        """What a plan began is done when the plan is."""

    def _chunks(self, shape: Shape, dtype: DType) -> Any:
        from tensorframe.backends.dask.arrays import chunks_for

        return chunks_for(shape, dtype, self.settings.chunk)
