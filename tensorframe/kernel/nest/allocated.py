"""Allocated memory: how many bytes a kernel allocates for itself when it is called."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.kernel import ir
from tensorframe.kernel.ir.interpret import evaluate
from tensorframe.kernel.nest.assemble import Launch


def allocated_bytes(launch: Launch) -> int:
    """Return the bytes of scratch memory of one call of a kernel."""
    sizes = zip(launch.kernel.sizes, launch.numbers, strict=True)
    # strides may be negative: positions wrap
    values: dict[ir.Expr, Any] = {
        size: np.uint64(int(number) % (1 << 64)) for size, number in sizes if size.dtype == ir.INDEX
    }
    total = 0
    for statement in launch.kernel.body:
        if isinstance(statement, ir.Let):
            _define(statement, values)
        elif isinstance(statement, ir.Allocate):
            total += int(evaluate(statement.count, values)) * statement.buffer.dtype.itemsize
    return total


def _define(let: ir.Let, values: dict[ir.Expr, Any]) -> None:
    """Give a name its value, if sizes alone say it."""
    try:
        values[let.variable] = evaluate(let.value, values)
    except KeyError:  # an element, or where a share of the loop begins
        return
