"""What runs inside a task: a region, by the kernels of the cpu, on blocks that are NumPy arrays.

Nothing here knows of graphs or schedulers. A call is pickled with each task, so it is small: regions travel as ops by
name, and each process compiles a region once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.base import Program
from tensorframe.backends.dask.blocks import Restricted, restricted
from tensorframe.backends.dask.grids import Span
from tensorframe.backends.dask.pieces import pieces
from tensorframe.backends.dask.windows import joined, shown, windows
from tensorframe.backends.numpy.blas import one_thread
from tensorframe.backends.numpy.creation import generate
from tensorframe.graph.device import CPU
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.ops.creation import FULL
from tensorframe.quick_dataclasses import dataclass
from tensorframe.schedule.blocks import Block, extents, whole

# Programs that a process keeps: a layer of tasks needs a few, for blocks in the middle and at each end.
_KEPT = 1024


@lru_cache(_KEPT)
def _compiled(key: tuple[Any, ...]) -> Program:
    from tensorframe.backends.cpu import CpuBackend  # it looks for LLVM
    from tensorframe.kernel.spaces.analyse import NotFusibleError

    region: Region = key[0]
    try:
        return CpuBackend().compile(region, CPU)
    except NotFusibleError:
        if len(region.ops) == 1:
            raise
        # loops that the whole shares are not always those of a block: where it has one element along an axis, say
        return partial(_one_by_one, region)


@lru_cache(_KEPT)
def _elementwise(
    key: tuple[Any, ...], values: tuple[int, ...], sizes: tuple[int, ...]
) -> tuple[Restricted, Program] | None:
    """Return what makes a block of such sizes that begins at the origin, and its program; None for other regions.

    Wherever a block of an elementwise region lies, it is made so: all tasks of a layer have the same region, and to
    restrict it, and to look for its program, takes longer than to run it.
    """
    region: Region = key[0]
    if not all(entry.op.kind is Kind.MAP or entry.op is FULL for entry in region.ops):
        return None
    made = restricted(region, dict.fromkeys(values, whole(sizes)))
    if not made.region.ops or min(made.region.outputs) < len(made.region.inputs):
        return None
    return made, _compiled(made.region.key())


def _product_and_rest(region: Region, inputs: Sequence[Any]) -> list[Any]:
    """Run a region of a product, what its operands are made of, and what is made of it: that as one."""
    last = max([place for place, entry in enumerate(region.ops) if entry.op.kind is Kind.CONTRACT])
    count = len(inputs) + last + 1
    head = region.part(range(len(inputs)), range(len(inputs), count), range(len(inputs), count))
    values = [*inputs, *_one_by_one(head, inputs, ())]
    if count == len(inputs) + len(region.ops):
        return [values[output] for output in region.outputs]
    rest = range(count, len(inputs) + len(region.ops))
    read = {source for entry in region.ops[last + 1 :] for source in entry.inputs}
    taken = sorted({value for value in {*read, *region.outputs} if value < count})
    return run_region(region.part(taken, rest, region.outputs), [values[value] for value in taken])


def _one_by_one(region: Region, inputs: Sequence[Any], _: Sequence[Any]) -> list[Any]:
    """Run the ops of a region one after the other."""
    values = list(inputs)
    first = len(values)
    for number, entry in enumerate(region.ops):
        sources = tuple(dict.fromkeys(entry.inputs))
        alone = region.part(sources, (first + number,), (first + number,))
        values += _compiled(alone.key())([values[source] for source in sources], (None,))
    return [values[output] for output in region.outputs]


def run_region(
    region: Region, inputs: Sequence[Any], buffers: Sequence[Any] | None = None
) -> list[Any]:
    """Return the outputs of a region for blocks and numbers: in `buffers`, where kernels can write there."""
    if not region.ops:
        return [inputs[output] for output in region.outputs]
    if any(output < len(inputs) for output in region.outputs):
        # some outputs are blocks of inputs as they are
        made = tuple([output for output in region.outputs if output >= len(inputs)])
        results = iter(run_region(replace(region, outputs=made), inputs))
        return [
            inputs[output] if output < len(inputs) else next(results) for output in region.outputs
        ]
    with np.errstate(all="ignore"):
        if len(region.ops) > 1 and _has_product(region):
            return _product_and_rest(region, inputs)
        free = buffers or (None,) * len(region.outputs)
        return list(_compiled(region.key())(inputs, free))


def _has_product(region: Region) -> bool:
    """Whether a region has a product: those that plans make begin with it, blocks of them may not."""
    return any(entry.op.kind is Kind.CONTRACT for entry in region.ops)


@contextmanager
def by_one_thread(alone: bool) -> Iterator[None]:
    """Have kernels and BLAS work with one thread where other tasks run beside this one."""
    if alone and not _is_worker():
        yield
        return
    with config.override(threads=1), one_thread():
        yield


def _is_worker() -> bool:
    """Whether this is a task of a cluster's worker, which has as many threads as it has tasks at once."""
    worker = sys.modules.get("distributed.worker")
    return worker is not None and getattr(worker.thread_state, "execution_state", None) is not None


def without_loops(region: Region) -> Region:
    """Return a region as it travels: without what is found again where it runs, or belongs to this process."""
    return replace(region, site=None)


@dataclass(frozen=True, slots=True)
class NamedCall:
    """What a task calls, with the name of its layer, which errors carry to whoever waits."""

    name: str
    call: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        """Return what the call returns."""
        try:
            return self.call(*arguments)
        except Exception as error:
            error.key = self.name  # type: ignore[attr-defined]
            raise


@dataclass(frozen=True, slots=True)
class WholeCall:
    """One task that runs a region on all of its inputs: `grids` are their numbers of blocks, None for a number."""

    region: Region
    grids: tuple[tuple[int, ...] | None, ...]
    alone: bool = True

    def __call__(self, *parts: Any) -> Any:
        """Return the one output, or a tuple of them, of blocks in C order."""
        given = iter(parts)
        inputs = [next(given) if grid is None else joined(given, grid) for grid in self.grids]
        with by_one_thread(self.alone):
            program = _compiled(self.region.key())
            with np.errstate(all="ignore"):
                made = program(inputs, (None,) * len(self.region.outputs))
            results = [owned(result) for result in made]
        return results[0] if len(results) == 1 else tuple(results)


def owned(result: Any) -> Any:
    """Return a result as a block: an array that keeps no larger one alive, or a tuple of such."""
    if type(result) is tuple:
        return tuple([owned(part) for part in result])
    array = np.asarray(result)
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    return array.copy() if base.nbytes > array.nbytes else array


@dataclass(frozen=True, slots=True)
class BlockCall:
    """A task for each block of the results of a region, which have one grid; `numbers` are inputs that are no arrays.

    It is called with the interval of the block along each axis, the spans of blocks of each array, and these.
    """

    region: Region
    values: tuple[int, ...]
    """Of which values of the region a block is made."""
    numbers: dict[int, Any]

    def __call__(self, block: Block, spans: tuple[tuple[Span, ...], ...], *parts: Any) -> Any:
        """Return a block of the value, or a tuple of one of each."""
        alike = _elementwise(self.region.key(), self.values, extents(block))
        if alike is not None:
            made, program = alike
            moved = made._replace(inputs=self._moved(made.inputs, block))
            inputs = self._inputs(moved, spans, parts)
            with config.override(threads=1), np.errstate(all="ignore"):
                outputs = program(inputs, (None,) * len(made.region.outputs))
        else:
            with by_one_thread(alone=False):
                outputs = self._run(block, spans, parts)
        results = [owned(result) for result in outputs]
        return results[0] if len(results) == 1 else tuple(results)

    def _run(
        self, block: Block, spans: tuple[tuple[Span, ...], ...], parts: Sequence[Any]
    ) -> list[Any]:
        """Return what a block is made of: as a whole or, in pieces, what reads one block of each operand there."""
        cut = pieces(self.region, self.values[0], block, self._by_number(spans), parts)
        if len(cut) == 1:
            return run_region(*self.prepared(block, spans, parts))
        results = [
            host_pool.empty(extents(block), self.region.dtype_of(value)) for value in self.values
        ]
        ((first, _), *_) = block
        for piece in cut:
            ((low, high), *_) = piece
            targets = [result[low - first : high - first] for result in results]
            made = run_region(*self.prepared(piece, spans, parts), targets)
            for own, target in zip(made, targets, strict=True):
                if own is not target:
                    target[...] = own
        return results

    def _moved(
        self, inputs: Sequence[tuple[int, Block]], block: Block
    ) -> tuple[tuple[int, Block], ...]:
        """Return what a block needs of inputs, from what one at the origin does: axes of one place are repeated."""
        moved = []
        for number, needed in inputs:
            shape = self.region.shape_of(number)
            starts = block[len(block) - len(shape) :]
            own = tuple(
                [
                    (low, high) if size == 1 else (low + start, high + start)
                    for (low, high), size, (start, _) in zip(needed, shape, starts, strict=True)
                ]
            )
            moved.append((number, own))
        return tuple(moved)

    def prepared(
        self, block: Block, spans: tuple[tuple[Span, ...], ...], parts: Sequence[Any]
    ) -> tuple[Region, list[Any]]:
        """Return the region that makes a block, and its inputs."""
        made = restricted(self.region, dict.fromkeys(self.values, block))
        return made.region, self._inputs(made, spans, parts)

    def _inputs(
        self, made: Restricted, spans: tuple[tuple[Span, ...], ...], parts: Sequence[Any]
    ) -> list[Any]:
        """Return the inputs of a region that makes a block."""
        given = windows(self._by_number(spans), made.inputs, iter(parts))
        inputs = [
            shown(*given[number], needed) if number in given else self.numbers[number]
            for number, needed in made.inputs
        ]
        return [*inputs, *[counted(entry, interval) for entry, (interval,) in made.ranges]]

    def _by_number(self, spans: tuple[tuple[Span, ...], ...]) -> dict[int, tuple[Span, ...]]:
        """Return the spans of blocks by the numbers of the inputs that these are of."""
        arrays = [number for number in range(len(self.region.inputs)) if number not in self.numbers]
        return dict(zip(arrays, spans, strict=True))


def counted(entry: RegionOp, interval: tuple[int, int]) -> Any:
    """Return a part of what an `arange` of a region counts, which kernels are given so that one serves all parts."""
    start, step, first, stride = entry.attrs
    low, high = interval
    if entry.dtype.kind in "iu":
        attrs = (start + step * (first + stride * low), step * stride, 0, 1)
    else:
        attrs = (start, step, first + stride * low, stride)
    return generate(replace(entry, attrs=attrs, shape=(high - low,)))
