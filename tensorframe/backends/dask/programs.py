"""Programs of tasks: the kernels of the cpu that run a region on blocks, compiled once in each process."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends.base import Program
from tensorframe.backends.dask.blocks import Restricted, bytes_of, restricted
from tensorframe.backends.numpy.products.blas import one_thread
from tensorframe.graph.device import CPU
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.ops.creation import FULL
from tensorframe.quick_tuples import NamedTuple
from tensorframe.schedule.blocks import Block, whole

# Programs that a process keeps: a layer of tasks needs a few, for blocks in the middle and at each end.
_KEPT = 1024


@lru_cache(_KEPT)
def compiled(key: tuple[Any, ...]) -> Program:
    """Return the program of a region with this key."""
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
def scratch(key: tuple[Any, ...]) -> int:
    """Return the bytes that a region with this key takes in a task, beside its inputs and outputs."""
    from tensorframe.backends.cpu import CpuBackend  # as above

    region: Region = key[0]
    if not region.ops:
        return 0
    between = 0
    if _has_product(region):  # which is not fused with what its operands are made of
        values = range(len(region.inputs), len(region.inputs) + len(region.ops))
        between = sum([bytes_of(region, value) for value in values if value not in region.outputs])
    return between + CpuBackend().scratch(region, CPU)


class Alike(NamedTuple):
    """What makes blocks of one size wherever they lie: what it takes of inputs is that of a block at the origin."""

    inputs: tuple[tuple[int, Block], ...]
    program: Program
    outputs: int


def at_the_origin(
    region: Region, values: tuple[int, ...], sizes: tuple[int, ...]
) -> Restricted | None:
    """Return what makes a block of such sizes that begins at the origin; None but for elementwise regions.

    Wherever a block of those lies, it is made so: all tasks of a layer have the same region, and to restrict it, and to
    look for its program, takes longer than to run it.
    """
    if not all(entry.op.kind is Kind.MAP or entry.op is FULL for entry in region.ops):
        return None
    return restricted(region, dict.fromkeys(values, whole(sizes)))


def run_alike(made: Restricted, region: Region) -> Alike:
    """Return what runs a region, which begins with one for a block at the origin, for blocks wherever they lie."""
    return Alike(made.inputs, compiled(region.key()), len(region.outputs))


@lru_cache(_KEPT)
def elementwise(
    key: tuple[Any, ...], values: tuple[int, ...], sizes: tuple[int, ...]
) -> Alike | None:
    """Return what makes blocks of such sizes; None for regions that are not elementwise, or give an input as it is."""
    made = at_the_origin(key[0], values, sizes)
    if made is None or min(made.region.outputs) < len(made.region.inputs):
        return None
    return run_alike(made, made.region)


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
        values += compiled(alone.key())([values[source] for source in sources], (None,))
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
        return list(compiled(region.key())(inputs, free))


def _has_product(region: Region) -> bool:
    """Whether a region has a product: those that plans make begin with it, blocks of them may not."""
    return any(entry.op.kind is Kind.CONTRACT for entry in region.ops)


@contextmanager
def by_one_thread(alone: bool) -> Iterator[None]:
    """Have kernels and BLAS work with one thread where other tasks run beside this one."""
    if alone and not _is_worker():
        yield
        return
    with of_one_thread(), one_thread():
        yield


def of_one_thread() -> AbstractContextManager[Any]:
    """Return a context whose kernels have one thread, which costs nothing where they have no more."""
    return nullcontext() if config.get().threads == 1 else config.override(threads=1)


def _is_worker() -> bool:
    """Whether this is a task of a cluster's worker, which has as many threads as it has tasks at once."""
    worker = sys.modules.get("distributed.worker")
    return worker is not None and getattr(worker.thread_state, "execution_state", None) is not None
