"""Exactness: what a device rounds correctly, found out by asking it when it is opened.

WebGPU promises neither that fma rounds once nor that quotients and square roots are the nearest numbers; most
processors do the latter, and the former where they have such an instruction. Where one does not, kernels take the
long way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorframe.backends.device.trials import Array, Run
from tensorframe.dtypes import DType, uint32
from tensorframe.kernel import ir
from tensorframe.kernel.ir.formula import fma, sqrt
from tensorframe.kernel.ir.multiply_add import multiply_add

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


def _kernel(dtype: DType, operands: int, formula: Callable[..., tuple[ir.Expr, ...]]) -> ir.Kernel:
    """Return a kernel that computes formulas of one element of each operand."""
    position = ir.index("i", uint32)
    inputs = tuple([ir.Buffer(f"x{k}", dtype, ir.Role.INPUT) for k in range(operands)])
    values = formula(*[ir.load(source, position) for source in inputs])
    outputs = tuple([ir.Buffer(f"y{k}", dtype, ir.Role.OUTPUT) for k in range(len(values))])
    stores = tuple(
        [ir.Store(output, position, value) for output, value in zip(outputs, values, strict=True)]
    )
    first, last = ir.argument(ir.START.name, uint32), ir.argument(ir.STOP.name, uint32)
    loop = ir.Loop(position, first, last, stores, parallel=True, over=ir.ParallelAxis.GRID)
    return ir.Kernel(inputs, outputs, (), (), (loop,), lanes=64)
