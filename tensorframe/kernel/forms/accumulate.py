"""Accumulation: how a reduction begins, takes in one element, joins two parts and ends.

Sums of floating-point numbers accumulate in float64, in any order: more accurate than adding in their own dtype, and
the order is what lets the loop run on whole vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np

from tensorframe.dtypes import BOOL, FLOAT, INTEGER, DType, bool_, float64
from tensorframe.graph.op import Op
from tensorframe.kernel.ir import Expr, apply, literal
from tensorframe.kernel.scalars import converted, truth
from tensorframe.ops.reduction import (
    ALL_TRUE,
    ANY_TRUE,
    CUMULATIVE_PROD,
    CUMULATIVE_SUM,
    MAX,
    MIN,
    PROD,
    SUM,
)


class Accumulation(NamedTuple):
    """`first` is the accumulator before any element; `take` makes an element what is combined; `join` combines."""

    dtype: DType  # of the accumulator
    first: complex
    take: Callable[[Expr], Expr]
    join: Callable[[Expr, Expr], Expr]

    def start(self) -> Expr:
        """Return the accumulator of no elements."""
        return literal(self.first, self.dtype)


def accumulation(op: Op, dtype: DType, widest: DType = float64) -> Accumulation | None:
    """Return how `op` accumulates elements of `dtype`, or None if kernels do not.

    Sums of floating-point numbers have the `widest` dtype that there is.
    """
    if dtype not in BOOL | INTEGER | FLOAT:
        return None
    if op in (ANY_TRUE, ALL_TRUE):
        name = "logical_or" if op is ANY_TRUE else "logical_and"
        return Accumulation(bool_, op is ALL_TRUE, truth, _joined(name))
    if op in (SUM, PROD):
        wide = widest if dtype in FLOAT else dtype
        name = "add_any" if op is SUM else "multiply_any"
        return Accumulation(wide, op is PROD, lambda x: converted(x, wide), _joined(name))
    if op in (CUMULATIVE_SUM, CUMULATIVE_PROD):  # each step has a result: the order is given
        wide = widest if dtype in FLOAT else dtype
        name = "add" if op is CUMULATIVE_SUM else "multiply"
        return Accumulation(
            wide, op is CUMULATIVE_PROD, lambda x: converted(x, wide), _joined(name)
        )
    if op in (MAX, MIN):
        return _extreme(op, dtype)
    return None


def _extreme(op: Op, dtype: DType) -> Accumulation:
    if dtype == bool_:
        name = "logical_or" if op is MAX else "logical_and"
        return Accumulation(bool_, op is MIN, lambda x: x, _joined(name))
    if dtype in FLOAT:
        first: float = -inf if op is MAX else inf
    else:
        limits = np.iinfo(dtype)
        first = int(limits.min if op is MAX else limits.max)
    wide = np.dtype(np.float32) if dtype.itemsize == 2 and dtype in FLOAT else dtype
    name = "maximum" if op is MAX else "minimum"
    return Accumulation(wide, first, lambda x: converted(x, wide), _joined(name))


def _joined(name: str) -> Callable[[Expr, Expr], Expr]:
    return lambda x, y: apply(name, x, y, dtype=x.dtype)
