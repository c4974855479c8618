"""Foreseeing: programs begin to make the kernels of a plan before its steps run, from stand-ins of their operands.

A program that can do so has a method `foresee(operands, stand_ins)`. It returns what stands in for its outputs, or None
where it cannot tell how they will lie in memory: then C order is taken for granted. To be wrong costs a kernel that
nobody needs, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from mmap import mmap
from typing import Any

import numpy as np

from tensorframe.backends.base import Program
from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape, strides_of

Array = Any

# called when all programs of a plan have begun their kernels, before its first step
afterwards: list[Callable[[], None]] = []


class StandIns:
    """Arrays of which only shape, dtype and strides matter: all in the same memory, which no page is needed for."""

    def __init__(self, nbytes: int, *, often: bool = False) -> None:
        """Make room for arrays of at most so many bytes; `often` says that the plan is to run many times."""
        self._memory = mmap(-1, max(nbytes, 1))
        self.often = often

    def new(self, shape: Shape, dtype: DType, layout: Sequence[int] | None = None) -> Array:
        """Return an array whose axes are in this order in memory; None is C order."""
        strides = [step * dtype.itemsize for step in strides_of(shape, layout)]
        return np.ndarray(shape, dtype, self._memory, 0, strides)


def foresees(program: Program) -> bool:
    """Whether a program can make kernels before it runs."""
    return hasattr(program, "foresee")


def foresee(
    program: Program, operands: Sequence[Array], stand_ins: StandIns
) -> Sequence[Array] | None:
    """Have a program make its kernels for operands that lie like these; return what its outputs will be like.

    What is wrong is raised by the step, when it runs.
    """
    with suppress(Exception):
        outputs: Sequence[Array] | None = program.foresee(operands, stand_ins)  # type: ignore[attr-defined]
        return outputs
    return None
