"""Raw kernels on devices: operands in C order, the user's body as a kernel of the queue's, one launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.memory import Block, Pool
from tensorframe.backends.device.program import made
from tensorframe.backends.device.queue import Queue, Traits
from tensorframe.codegen.raw.text import RawText, launches, parameters, values
from tensorframe.codegen.words import packed
from tensorframe.errors import ArgumentError, KernelError
from tensorframe.graph.region import Region
from tensorframe.ops.raw_kernels import Operand, RawCall

# what stands for an array without elements: no buffer is empty
_LEAST = 16


def check_limits(call: RawCall, traits: Traits, device: str) -> None:
    """Raise ArgumentError if a device cannot launch a kernel: its groups or their memory are too large."""
    threads = prod(call.group or ())
    if threads > traits.max_threads:
        raise ArgumentError(
            f"{call.name}: a group of {' x '.join(map(str, call.group or ()))} has {threads} threads, "
            f"{device} takes {traits.max_threads}",
            suggestions=("a smaller group=",),
        )
    needed = sum([entry.elements * entry.dtype.itemsize for entry in call.shared])
    if needed > traits.max_shared:
        raise ArgumentError(
            f"{call.name}: shared memory of {needed} bytes, a group of {device} has {traits.max_shared}",
            suggestions=("fewer elements in shared=",),
        )
    count = len(call.arrays) + len(call.outputs)
    if count > traits.max_buffers:
        raise ArgumentError(
            f"{call.name}: {count} arrays are more than a kernel of {device} is given, {traits.max_buffers}",
            suggestions=("several values in one array", "two kernels"),
        )


class RawProgram:
    """Launches a raw kernel. Its text is compiled when it first runs, so a plan of it can be read before."""

    quiet = True

    def __init__(
        self,
        region: Region,
        queue: Queue,
        pool: Pool,
        gathered: Callable[[DeviceArray], DeviceArray],
        device: str,
        reopen: Callable[[], tuple[Queue, Pool]] | None = None,
    ) -> None:
        """`gathered` copies the elements of a view in C order, `reopen` gives a queue once the device was closed."""
        self._reopen = reopen
        (op,) = region.ops
        self._call: RawCall = op.op.raw
        self._operands = op.inputs
        self._queue, self._pool, self._gathered = queue, pool, gathered
        check_limits(self._call, queue.traits, device)
        self._text: RawText = queue.print_raw(self._call)
        self._built: Any = None

    def source(self) -> str:
        """Return the whole text."""
        return self._text.source

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the one output, or a tuple of all."""
        if self._pool.closed and self._reopen is not None:
            self._queue, self._pool = self._reopen()
            self._built = None
        call, queue = self._call, self._queue
        given = [inputs[place] for place in self._operands]
        held = queue.traits.held
        outputs = [
            made(self._pool, held, entry.shape or (), entry.dtype, range(len(entry.shape or ())))
            for entry in call.outputs
        ]
        if call.extent:
            arrays = [
                self._block(value, entry)
                for entry, value in zip(call.inputs, given, strict=True)
                if entry.shape is not None
            ]
            arrays += [output.block or self._pool.block(_LEAST) for output in outputs]
            numbers = [
                self._number(value)
                for entry, value in zip(call.inputs, given, strict=True)
                if entry.shape is None
            ]
            self._launch(arrays, numbers)
        return (tuple(outputs),) if len(outputs) > 1 else outputs

    def _number(self, value: Any) -> Any:
        """Return the value of a number, which is waited for where the device has computed it."""
        if not isinstance(value, DeviceArray):
            return value
        assert value.block is not None
        held = self._queue.traits.held.get(value.dtype, value.dtype)
        with self._queue.lock:
            data = self._queue.read(value.block.buffer, value.offset * held.itemsize, held.itemsize)
        return data.view(held)[0].item()

    def _block(self, value: Any, entry: Operand) -> Block:
        """Return memory that begins with the elements of an operand, in C order."""
        if not isinstance(value, DeviceArray):  # a number, as an array without axes
            held = self._queue.traits.held.get(entry.dtype, entry.dtype)
            block: Block = self._pool.block(max(held.itemsize, _LEAST))
            with self._queue.lock:
                data = np.asarray(value, entry.dtype).astype(held).reshape(1).view(np.uint8)
                self._queue.write(block.buffer, 0, data)
            return block
        if value.block is None:
            return self._pool.block(_LEAST)
        if value.offset or not value.is_contiguous:
            value = self._gathered(value)
        whole: Block | None = value.block
        assert whole is not None
        if whole.nbytes > self._queue.traits.max_block:
            raise KernelError(
                f"{self._call.name}: {entry.name} is in a buffer of {whole.nbytes} bytes, "
                f"a kernel is given {self._queue.traits.max_block} at most",
                suggestions=("parts of the data, one after the other",),
            )
        return whole

    def _launch(self, arrays: Sequence[Block], numbers: Sequence[Any]) -> None:
        call, queue, text = self._call, self._queue, self._text
        known = [*values(call), *numbers]
        words = packed(parameters(call), known)
        groups = max(1, min(launches(call, text.lanes), queue.traits.max_groups))
        with queue.lock:
            if self._built is None:
                self._built = queue.build_raw(text)
            queue.launch(self._built, groups, [block.buffer for block in arrays], words)
