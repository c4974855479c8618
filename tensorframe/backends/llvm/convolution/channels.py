"""Convolutions by vectors of channels: rows of the product are windows.

The kernel is turned first, and all blocks read it. Where it is large, and windows are few, blocks have some channels of
the result each instead, and turn their part of the kernel, some terms at a time, in the second-level cache; then they
share the padded input. What that takes is recorded once for operands of the same sizes and strides.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.llvm.convolution.plan import Operands, Plan
from tensorframe.backends.llvm.convolution.ways import (
    INPUT,
    KERNEL,
    RESULT,
    InParts,
    Recorded,
    Turned,
    block_in,
    plan_of,
)
from tensorframe.backends.llvm.indirect_product import copy
from tensorframe.backends.numpy.convolution.convolution import Store
from tensorframe.backends.numpy.products.grid import Index
from tensorframe.backends.numpy.products.product import extents
from tensorframe.backends.numpy.threads import share_out
from tensorframe.graph.shape import Shape

Array = Any

# Elements of a result from which blocks are too many to keep what they do.
_MANY = 1 << 25


class ByChannels:
    """A convolution by vectors of channels."""

    in_parts = False

    def __init__(self, plan: Plan, x: Array, weight: Array) -> None:
        """`plan` is that of all convolutions with such operands."""
        self._plan, self._given = plan, {INPUT: x, KERNEL: weight}
        self.shape, self.dtype = plan.shape, plan.dtype

    @property
    def blocks(self) -> list[Index]:
        """The indices of blocks."""
        return _recorded(self._plan, None).blocks

    def array(self, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""
        in_memory = out.swapaxes(0, 1) if out is not None and self._plan.is_turned else out
        fits = in_memory is not None and in_memory.flags.c_contiguous
        result: Array = out if fits else self._empty(self.shape)
        recorded = _recorded(self._plan, result.strides)
        is_long = self._plan.is_long(len(recorded.blocks))
        operands = {**self._given, RESULT: result}
        recorded.each.run(operands, long=is_long, before=recorded.before)
        if out is not None and result is not out:
            copy(result, out)
            return out
        return result

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""
        recorded = _recorded(self._plan, None)
        prepared = recorded.before.filled_for(self._given)
        script, blocks = recorded.each, recorded.blocks
        most = max([prod(extents(index)) for index in blocks])

        def work(mine: Iterator[int]) -> None:
            memory = script.memory()
            (block,) = host_pool.scratch(most, [self.dtype])
            with config.override(threads=1):  # the others have blocks of their own
                for number in mine:
                    script.run_block(number, prepared | {RESULT: block}, memory)
                    index = blocks[number]
                    store(index, block_in(self._plan, block, extents(index)))

        share_out(range(len(blocks)), work, long=self._plan.is_long(len(blocks)))

    def _empty(self, shape: Shape) -> Array:
        batch, out, *sizes = shape
        if not self._plan.is_turned:
            return host_pool.empty(shape, self.dtype)
        return host_pool.empty((out, batch, *sizes), self.dtype).swapaxes(0, 1)


def _recorded(plan: Plan, strides: Shape | None) -> Recorded:
    """Return what makes a result of these strides, or each block in memory of its own."""
    record = _record if prod(plan.shape) < _MANY else _record.__wrapped__
    return record(plan.operands, strides)


@lru_cache(maxsize=128)
def _record(operands: Operands, strides: Shape | None) -> Recorded:
    plan = plan_of(operands)
    way = InParts(plan) if plan.is_in_parts else Turned(plan)
    return way.recorded(strides)
