"""Rows that a backend computes as they are, and what is done to their results: products of several matrices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tensorframe.backends.base import Program, quiet
from tensorframe.backends.numpy.epilogue import (
    Compile,
    epilogue_of,
    others_of,
    permutation_of,
    with_positions,
)
from tensorframe.backends.numpy.functions import Function, implementation
from tensorframe.backends.numpy.product import Multiply
from tensorframe.backends.numpy.small_product import Find
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region
from tensorframe.ops.quantization import JOINED_MATMUL

Array = Any


class Ways(NamedTuple):
    """How a backend multiplies: what finds kernels for quantised matrices and small elements, what makes products."""

    quantized: Any
    small: Find
    multiply: Multiply

    def function(self, op: Op) -> Function:
        """Return what computes such a row."""
        if op is JOINED_MATMUL:
            return partial(implementation[op], multiply=self.multiply, small=self.small)
        return partial(implementation[op], find=self.quantized)


def whole_program(region: Region, ways: Ways, compile_: Compile) -> Program:
    """Return the program of a row that devices may compute as it is, and of what is done to all of its result."""
    region, positions = with_positions(region)
    op = region.ops[0]
    function = ways.function(op.op)
    permutation, epilogue = permutation_of(region), epilogue_of(region)
    rest = None if epilogue is None else compile_(epilogue)
    others = others_of(region)

    def run(inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Sequence[Array]:
        with np.errstate(all="ignore"):
            result = function(*[inputs[source] for source in op.inputs], *op.attrs)
            if permutation is not None:
                result = result.transpose(permutation)
            if rest is None:
                return (result,)
            given = (*inputs, *positions)
            return rest([result, *[given[source] for source in others]], buffers)

    return quiet(run)
