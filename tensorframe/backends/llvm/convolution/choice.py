"""Which way a convolution takes: that which takes the least time, by sizes and strides alone."""

from __future__ import annotations

from typing import Any

from tensorframe.backends.llvm.convolution.channels import ByChannels
from tensorframe.backends.llvm.convolution.dots import ByDots
from tensorframe.backends.llvm.convolution.plan import Plan
from tensorframe.backends.llvm.convolution.points import (
    ByColumns,
    SumsByColumns,
    sums_columns,
    takes_points,
)
from tensorframe.backends.llvm.convolution.positions import ByPositions
from tensorframe.backends.llvm.convolution.sizes import DTYPES
from tensorframe.backends.llvm.convolution.sums import InSums
from tensorframe.backends.llvm.indirect_product import functions
from tensorframe.backends.llvm.products.packed import packed_or_blas
from tensorframe.backends.numpy.convolution import Undilated, undilated
from tensorframe.backends.numpy.points import PointProduct, PointSums, sums_points
from tensorframe.ops.convolution import Geometry

Array = Any


def compiled(x: Array, weight: Array, geometry: Geometry, groups: int) -> Undilated:
    """Return the convolution of an input without zeros between its elements, in the way that takes the least time."""
    if x.dtype not in DTYPES:
        return undilated(x, weight, geometry, groups)
    if sums_points(x.shape, weight.shape, geometry, groups):
        if sums_columns(x, weight):
            return SumsByColumns(x, weight, geometry)
        return PointSums(x, weight, geometry, packed_or_blas)
    if groups == 1 and max(weight.shape[2:]) == 1:  # windows share nothing
        if takes_points(x, weight, geometry):
            return ByColumns(x, weight, geometry)
        return PointProduct(x, weight, geometry, packed_or_blas)
    plan = Plan(x, weight, geometry, groups)
    fills = plan.channels >= functions(plan.dtype).lanes // 2
    if not fills:
        return ByDots(plan) if plan.is_turned else ByPositions(plan)
    if plan.is_in_sums:
        return InSums(plan)
    always = plan.is_turned or max(geometry.stride) > 1
    if always or plan.channels_cost() < plan.positions_cost():
        return ByChannels(plan)
    return ByPositions(plan)
