"""Exactness: what a device rounds correctly, found out by asking it when it is opened.

WebGPU promises neither that fma rounds once nor that quotients and square roots are the nearest numbers; most
processors do the latter, and the former where they have such an instruction. Where one does not, kernels take the
long way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorframe.dtypes import DType, uint32
from tensorframe.kernel.ir import (
    START,
    STOP,
    Buffer,
    Expr,
    Kernel,
    Loop,
    ParallelAxis,
    Role,
    Store,
    argument,
    index,
    load,
)
from tensorframe.kernel.ir.formula import fma, sqrt
from tensorframe.kernel.ir.multiply_add import multiply_add

Array = np.ndarray[Any, Any]
# runs a kernel on arrays of one length, and returns its outputs
Run = Callable[[Kernel, list[Array]], list[Array]]

_COUNT = 1024


def fused(dtype: DType, run: Run) -> bool:
    """Whether fma rounds once."""
    x, y = _numbers(dtype)
    z = -(x * y)
    (results,) = run(_kernel(dtype, 3, lambda x, y, z: (fma(x, y, z),)), [x, y, z])
    return bool(np.array_equal(results, multiply_add(x, y, z)))


def exact(dtype: DType, run: Run) -> bool:
    """Whether quotients and square roots are rounded correctly."""
    x, y = _numbers(dtype)
    quotient, root = run(_kernel(dtype, 2, lambda x, y: (x / y, sqrt(y))), [x, y])
    return bool(np.array_equal(quotient, x / y) and np.array_equal(root, np.sqrt(y)))


def _numbers(dtype: DType) -> tuple[Array, Array]:
    drawn = np.random.default_rng(1).uniform(0.5, 4.0, (2, _COUNT)).astype(dtype)
    return drawn[0], drawn[1]


def _kernel(dtype: DType, operands: int, formula: Callable[..., tuple[Expr, ...]]) -> Kernel:
    """Return a kernel that computes formulas of one element of each operand."""
    position = index("i", uint32)
    inputs = tuple([Buffer(f"x{k}", dtype, Role.INPUT) for k in range(operands)])
    values = formula(*[load(source, position) for source in inputs])
    outputs = tuple([Buffer(f"y{k}", dtype, Role.OUTPUT) for k in range(len(values))])
    stores = tuple(
        [Store(output, position, value) for output, value in zip(outputs, values, strict=True)]
    )
    first, last = argument(START.name, uint32), argument(STOP.name, uint32)
    loop = Loop(position, first, last, stores, parallel=True, over=ParallelAxis.GRID)
    return Kernel(inputs, outputs, (), (), (loop,), lanes=64)
