"""Reshapes: views where strides can say them, else copies, which kernels make in tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from tensorframe.backends.base import Program
from tensorframe.backends.foreseeing import StandIns, foresee
from tensorframe.backends.host_pool import pool
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.ops.movement import RESHAPE

# Elements from which tiles are faster than NumPy's copy: 4 times for a 512x512 transposed, 9 times for 2048x2048.
_LARGE = 1 << 16


def flattened(region: Region) -> Region | None:
    """Return a large reshape as one to a vector, whose loops are those of any operand; None for other regions."""
    op = region.ops[-1]
    size = prod(op.shape)
    if len(region.ops) > 1 or op.op is not RESHAPE or size < _LARGE:
        return None
    from tensorframe.kernel.nest.support import computable  # brings most of kernel/

    if not computable(op.op, [op.dtype], op.dtype):
        return None
    return replace(region, ops=(replace(op, attrs=((size,),), shape=(size,)),))


class ReshapeProgram:
    """Runs a reshape; `copy` runs it to a vector."""

    quiet = True

    def __init__(self, shape: Shape, copy: Program) -> None:
        self._shape = shape
        self._copy = copy

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the elements of the input, in C order, under another shape."""
        try:
            return (inputs[0].reshape(self._shape, copy=False),)
        except ValueError:  # strides cannot say it
            pool.budget.take(inputs[0].nbytes)  # which plans do not know
            (flat,) = self._copy(inputs, (None,))
            return (flat.reshape(self._shape),)

    def foresee(self, operands: Sequence[Any], stand_ins: StandIns) -> Sequence[Any] | None:
        """Have the copy's kernel made, if there will be a copy."""
        try:
            return (operands[0].reshape(self._shape, copy=False),)
        except ValueError:
            foresee(self._copy, operands, stand_ins)
            return None
