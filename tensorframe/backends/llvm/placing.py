"""Scatters that replace elements: NumPy's calls, which are bound as compiled ones where whole rows are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.backends.base import Program
from tensorframe.backends.bound import Bound
from tensorframe.dtypes import int32, int64
from tensorframe.graph.region import Region

Array = Any

# Indexed axes, which are the first ones, that the compiled function takes.
_MOST = 2


class PlacingProgram:
    """NumPy's program of a scatter, whose rows are written without the interpreter where they can be."""

    quiet = True

    def __init__(self, region: Region, numpy_program: Program) -> None:
        self._op = region.ops[0]
        self._numpy = numpy_program

    def __call__(self, inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Sequence[Array]:
        """Return the outputs for these inputs."""
        return self._numpy(inputs, buffers)

    def bind(self, inputs: Sequence[Array], buffers: Sequence[Array | None]) -> Bound | None:
        """Return the call for these operands, if rows are written over others in the memory of the first."""
        x, value, *indices = [inputs[source] for source in self._op.inputs]
        axes, position = self._op.attrs
        count = len(indices)
        known = {index.dtype for index in indices} <= {int32, int64}
        is_first = axes == tuple(range(count)) and not position
        is_taken = buffers[0] is x
        if not is_taken or not is_first or count > _MOST or not known:
            return None
        shape = np.broadcast_shapes(*[index.shape for index in indices])
        try:
            rows = _flat(np.broadcast_to(value, (*shape, *x.shape[count:])), len(shape))
            places = [_flat(np.broadcast_to(index, shape), len(shape)) for index in indices]
        except ValueError:  # strides cannot say it
            return None
        if not len(rows) or np.may_share_memory(rows, x):
            return None
        row = x[(0,) * count]
        if not (row.flags.c_contiguous and rows[0].flags.c_contiguous):
            return None
        from tensorframe.backends.llvm.placed_rows import placing_call  # imports LLVM

        return Bound([x], [placing_call(x, rows, places, row.nbytes)])


def _flat(array: Array, axes: int) -> Array:
    """Return a view with the first axes as one; ValueError if there is none."""
    return array.reshape((-1, *array.shape[axes:]), copy=False)
