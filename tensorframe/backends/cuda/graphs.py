"""CUDA graphs: the launches of a plan, captured once, and given to the GPU by one call from then on.

No GPU has run this yet. Where others have lost data, there are rules: a graph owns all memory that its kernels write,
for as long as it lives; the plan has run before, so that capturing compiles and allocates nothing; and a graph that
allocates by itself is refused. Calls of libraries are not captured: CuPy has no way to set cuBLAS's workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorframe.backends.cuda.error_translation import translated_errors
from tensorframe.backends.cuda.queue import CudaQueue, Refused
from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.memory import Block, Pool
from tensorframe.errors import TensorFrameError
from tensorframe.graph.shape import strides_of

# what a driver calls nodes that allocate
_ALLOCATING = ("MEM_ALLOC", "MemAlloc")


class Captured:
    """A graph with the memory that it works in: operands are copied there, and results from there."""

    def __init__(
        self,
        queue: CudaQueue,
        pool: Pool,
        operands: Sequence[DeviceArray],
        run: Callable[[Sequence[DeviceArray]], Sequence[Any]],
    ) -> None:
        """`run` hands the plan over for operands; Refused where it cannot be captured, and nothing has changed."""
        self._queue, self._pool = queue, pool
        if not all(_can_be_copied(array) for array in operands):
            raise Refused
        with queue.lock:
            self._operands = [self._own(array) for array in operands]
            with (
                pool.noting() as blocks
            ):  # compiled and allocated here; what is pooled then serves the capture
                run(self._operands)
            blocks.clear()
            with pool.noting() as self._blocks:
                self._graph, self._results = self._capture(run)

    def _own(self, array: DeviceArray) -> DeviceArray:
        """Return a copy of an operand, in memory that stays."""
        made = DeviceArray(
            self._pool.block(array.nbytes), array.dtype, array.shape, strides_of(array.shape)
        )
        self._fill(made, array)
        return made

    def _fill(self, made: DeviceArray, array: DeviceArray) -> None:
        assert made.block is not None
        assert array.block is not None
        start = array.offset * array.dtype.itemsize
        self._queue.copy(array.block.buffer, start, made.block.buffer, 0, array.nbytes)

    def _capture(self, run: Callable[[Sequence[DeviceArray]], Sequence[Any]]) -> Any:
        queue = self._queue
        with translated_errors:
            queue.stream.begin_capture()
        queue.capturing = True
        failure: BaseException | None = None
        results: Sequence[Any] = ()
        try:
            results = run(self._operands)
        except (TensorFrameError, Refused) as error:
            failure = error
        finally:
            queue.capturing = False
            with translated_errors:  # the stream is of no use before
                graph = queue.stream.end_capture()
        if failure is not None or not all(isinstance(result, DeviceArray) for result in results):
            raise Refused from failure
        with translated_errors:
            text = graph.debug_dot_str()
        if any(name in str(text) for name in _ALLOCATING):
            raise Refused
        return graph, results

    def fits(self, operands: Sequence[DeviceArray]) -> bool:
        """Whether operands can be copied to where the graph reads them."""
        return not self._pool.closed and all(map(_can_be_copied, operands))

    def run(self, operands: Sequence[DeviceArray]) -> list[DeviceArray]:
        """Return the results for operands of the same shapes and dtypes."""
        with self._queue.lock:
            for made, array in zip(self._operands, operands, strict=True):
                self._fill(made, array)
            with translated_errors:
                self._graph.launch(self._queue.stream)
            self._queue.note_unseen()
            return [self._copied(result) for result in self._results]

    def _copied(self, result: DeviceArray) -> DeviceArray:
        """Return a result in memory that the next launch does not write."""
        if result.block is None:
            return result
        block: Block = self._pool.block(result.block.nbytes)
        self._queue.copy(result.block.buffer, 0, block.buffer, 0, result.block.nbytes)
        return DeviceArray(block, result.dtype, result.shape, result.strides, result.offset)


def _can_be_copied(array: DeviceArray) -> bool:
    return array.block is not None and array.is_contiguous
