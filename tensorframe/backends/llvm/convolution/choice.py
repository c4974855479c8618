"""Which way a convolution takes: that which takes the least time, by sizes and strides alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from tensorframe.backends.llvm.convolution.channels import ByChannels
from tensorframe.backends.llvm.convolution.dots import ByDots
from tensorframe.backends.llvm.convolution.plan import Operands, Plan
from tensorframe.backends.llvm.convolution.points import (
    ByColumns,
    SumsByColumns,
    sums_columns,
    takes_points,
)
from tensorframe.backends.llvm.convolution.positions import ByPositions
from tensorframe.backends.llvm.convolution.sizes import DTYPES
from tensorframe.backends.llvm.convolution.sums import InSums
from tensorframe.backends.llvm.convolution.ways import plan_of
from tensorframe.backends.llvm.indirect_product import functions
from tensorframe.backends.llvm.products.packed import packed_or_blas
from tensorframe.backends.numpy.convolution.convolution import Undilated, undilated
from tensorframe.backends.numpy.convolution.points import PointProduct, PointSums, sums_points
from tensorframe.ops.convolution import Geometry

Array = Any
Way = Callable[[Array, Array], Undilated]


def compiled(x: Array, weight: Array, geometry: Geometry, groups: int) -> Undilated:
    """Return the convolution of an input without zeros between its elements, in the way that takes the least time."""
    if x.dtype not in DTYPES:
        return undilated(x, weight, geometry, groups)
    sizes = x.shape, x.strides, weight.shape, weight.strides
    return _way(Operands(*sizes, geometry, groups, x.dtype))(x, weight)


@lru_cache(maxsize=256)
def _way(operands: Operands) -> Way:
    """Return what makes convolutions of such operands: to choose takes longer than to look it up."""
    plan, geometry = plan_of(operands), operands.geometry
    x, weight = plan.given
    if sums_points(x.shape, weight.shape, geometry, plan.groups):
        if sums_columns(x, weight):
            return partial(SumsByColumns, geometry=geometry)
        return partial(PointSums, geometry=geometry, multiply=packed_or_blas)
    if plan.groups == 1 and max(plan.kernel) == 1:  # windows share nothing
        if takes_points(x, weight, geometry):
            return partial(ByColumns, geometry=geometry)
        return partial(PointProduct, geometry=geometry, multiply=packed_or_blas)
    if plan.channels < functions(plan.dtype).lanes // 2:
        return partial(_planned, ByDots if plan.is_turned else ByPositions, operands)
    if plan.is_in_sums:
        return partial(InSums, plan)
    always = plan.is_turned or max(geometry.stride) > 1
    if always or plan.channels_cost() < plan.positions_cost():
        return partial(ByChannels, plan)
    return partial(_planned, ByPositions, operands)


def _planned(
    way: type[ByDots | ByPositions], operands: Operands, x: Array, weight: Array
) -> Undilated:
    return way(Plan(x, weight, operands.geometry, operands.groups))
