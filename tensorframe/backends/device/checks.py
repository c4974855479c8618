"""Checks of indices: kernels set a flag where one is out of bounds, and a plan reads it once, when it has run.

Reading the flag synchronises with the device. Kernels read the first element in place of such an index, so all of them
may run until then; their results are dropped. For the error, NumPy is given the indices again, and zeros for all else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import local
from typing import Any

import numpy as np

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.memory import Block, Pool
from tensorframe.backends.device.queue import Queue
from tensorframe.dtypes import DType
from tensorframe.errors import IndexingError
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.kernel.spaces.gather import GATHERS
from tensorframe.ops.indexing import SCATTER
from tensorframe.ops.sorting import SELECT
from tensorframe.quick_tuples import NamedTuple

# Bytes of an operand that indices are made of, up to which it is kept until the plan has run.
_KEPT = 1 << 16
# what is written before, and read after, kernels that mark indices out of bounds; some devices write words only
FLAG = np.zeros(16, np.uint8)
# what loops over elements take from their operands is no index
_ELEMENTS = frozenset({Kind.MAP, Kind.VIEW, Kind.REDUCE, Kind.SCAN, Kind.SOURCE, Kind.SCATTER})


class Zeros(NamedTuple):
    """An operand that says nothing of indices: zeros, made where they are asked for."""

    shape: Shape
    dtype: DType


class Check(NamedTuple):
    """What says what is wrong with an index, its operands, and the step of the plan that they belong to."""

    refuse: Callable[[Sequence[Any]], Any]
    inputs: Sequence[Any]
    step: int


class Checks:
    """What kernels of a plan are to be asked when it has run, and the step that runs, or that was wrong."""

    def __init__(self) -> None:
        self.step = 0
        self._marks: dict[Pool, tuple[Queue, Block]] = {}
        self._noted: list[Check] = []

    def mark(
        self, queue: Queue, pool: Pool, refuse: Callable[[Sequence[Any]], Any], inputs: Any
    ) -> Block:
        """Return the memory for the mark of a kernel, which all kernels of the queue share."""
        if pool not in self._marks:
            block = pool.block(FLAG.nbytes)
            with queue.lock:
                queue.write(block.buffer, 0, FLAG)
            self._marks[pool] = queue, block
        self._noted.append(Check(refuse, inputs, self.step))
        return self._marks[pool][1]

    def settle(self) -> None:
        """Raise IndexingError if there is a mark."""
        if not any(_is_marked(queue, block) for queue, block in self._marks.values()):
            return
        for check in self._noted:
            self.step = check.step
            check.refuse([_there(value) for value in check.inputs])
        raise IndexingError("an index is out of bounds")


def _there(value: Any) -> Any:
    is_zeros = isinstance(value, Zeros)
    return np.broadcast_to(np.zeros((), value.dtype), value.shape) if is_zeros else value


def _is_marked(queue: Queue, block: Block) -> bool:
    with queue.lock:
        return bool(queue.read(block.buffer, 0, FLAG.nbytes).any())


class _Here(local):
    checks: Checks | None = None


_here = _Here()


@contextmanager
def deferred() -> Iterator[Checks]:
    """Have kernels that this thread launches be asked for marks by who asks for it."""
    before, _here.checks = _here.checks, Checks()
    try:
        yield _here.checks
    finally:
        _here.checks = before


def checks_here() -> Checks | None:
    """Return what kernels of this thread note what is to be asked; None where each is asked at once."""
    return _here.checks


def index_sources(region: Region) -> frozenset[int]:
    """Return the inputs that indices are made of."""
    wanted: set[int] = set()
    for value, op in reversed(list(enumerate(region.ops, start=len(region.inputs)))):
        if op.op is SELECT:  # elements of its first operand are compared, whatever they are
            wanted.update(op.inputs[1:])
        elif value in wanted or (op.op not in GATHERS and op.op.kind not in _ELEMENTS):
            wanted.update(op.inputs)
        elif op.op in GATHERS:
            wanted.update(op.inputs[1:])
        elif op.op is SCATTER:
            wanted.update(op.inputs[2:])
    return frozenset([value for value in wanted if value < len(region.inputs)])


def kept_for(region: Region, sources: frozenset[int], inputs: Sequence[Any]) -> list[Any] | None:
    """Return operands with zeros in the place of what says nothing of indices; None if that takes much memory."""
    kept: list[Any] = []
    for index, (value, (shape, dtype)) in enumerate(zip(inputs, region.inputs, strict=True)):
        is_array = isinstance(value, DeviceArray)
        if index not in sources and is_array:
            value = Zeros(shape, dtype)
        elif is_array and value.nbytes > _KEPT:
            return None
        kept.append(value)
    return kept
