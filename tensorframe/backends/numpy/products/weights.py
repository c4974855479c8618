"""Weights: what is made of rows of scores, a block of them at a time, before it is the factor of another product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.backends.base import Program
from tensorframe.backends.numpy.epilogue_region import for_blocks
from tensorframe.backends.numpy.products.epilogue import Compile
from tensorframe.backends.numpy.products.hidden import Columns, Known
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape
from tensorframe.kernel.nest.stages import stages_of
from tensorframe.kernel.spaces.analyse import analyse
from tensorframe.kernel.spaces.expand import expanded
from tensorframe.ops.elementwise import DIVIDE, EXP, SUBTRACT, WHERE
from tensorframe.ops.reduction import MAX

Array = Any


class Weights:
    """What is made of rows of a product, the first input of a region: programs for blocks of each size.

    Where it `may_wait`, a quotient by a number of each row is taken after the second product, where there is less to
    divide, if what is divided is no larger than 1: exponentials of what the largest has been subtracted from.
    """

    def __init__(
        self,
        region: Region,
        lasting: frozenset[int],
        compile_: Compile,
        *,
        may_wait: bool = True,
    ) -> None:
        """`lasting` inputs are the same in every call."""
        last = region.ops[-1]
        (output,) = region.outputs
        self.is_divided = may_wait and _may_divide_later(region)
        if self.is_divided:
            takes = range(len(region.inputs))
            region = region.part(takes, range(len(takes), output), last.inputs)
        self.region = region
        self.dtype = region.dtype_of(region.outputs[0])
        self.writes_over = _may_write_over(region)
        self._lasting = lasting
        self._known: Known = {}
        self._compile = compile_
        self._programs: dict[Shape, Program] = {}

    def program(self, whole: Shape, block: Shape) -> Program:
        """Return the program for blocks of a shape, which gives weights, and what to divide by if that comes later."""
        known = self._programs.get(block)
        if known is None:
            known = self._programs[block] = self._compile(for_blocks(self.region, whole, block))
        return known

    def columns(self, inputs: Sequence[Array], shape: Shape) -> Columns:
        """Return which columns of scores of this shape are needed; the first input stands for these."""
        return Columns(self.region, inputs, shape, self._lasting, self._known)


def _may_divide_later(region: Region) -> bool:
    """Whether the last op divides exponentials of at most 1 by a number for each row."""
    first = len(region.inputs)
    (output,) = region.outputs
    last = region.ops[-1]
    if last.op is not DIVIDE or output != first + len(region.ops) - 1 or min(last.inputs) < first:
        return False
    numerator, divisor = last.inputs
    above = _op(region, numerator)
    if above is None or above.op is not EXP or above.shape != last.shape:
        return False
    inner = _op(region, above.inputs[0])
    return (
        region.shape_of(divisor) == (*last.shape[:-1], 1)
        and inner is not None
        and inner.op is SUBTRACT
        and _is_largest(region, inner.inputs[1], inner.inputs[0])
    )


def _is_largest(region: Region, value: int, of: int) -> bool:
    """Whether a value is the largest of each row, or a number where that is -inf, so that there is nothing larger."""
    op = _op(region, value)
    if op is not None and op.op is WHERE:
        return _is_largest(region, op.inputs[2], of) and region.shape_of(op.inputs[1]) == ()
    return op is not None and op.op is MAX and op.inputs[0] == of


def _op(region: Region, value: int) -> RegionOp | None:
    first = len(region.inputs)
    return None if value < first else region.ops[value - first]


def _may_write_over(region: Region) -> bool:
    """Whether weights may be written over the scores that they are made of, which no later pass reads."""
    if region.dtype_of(region.outputs[0]) != region.dtype_of(0):
        return False
    region = expanded(region)
    space = analyse(region)
    if isinstance(space, str):
        return False
    first, output = len(region.inputs), region.outputs[0]
    stages = stages_of(region, space, scratch=False)
    full = [level for level, is_full in zip(stages.level, stages.full, strict=True) if is_full]
    # there is none where rows have one element
    return stages.level[output] == max(full, default=None) and all(
        space.maps[value, index] == space.maps[output]
        for value, op in enumerate(region.ops, start=first)
        for index, source in enumerate(op.inputs)
        if source == 0
    )
