"""What is inside an op: the dtypes that its formula computes in, of which a device may lack one."""

from __future__ import annotations

from functools import cache

from tensorframe.dtypes import DType
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.ir import argument
from tensorframe.kernel.ir.walk import in_order
from tensorframe.kernel.math.scalars import element
from tensorframe.kernel.spaces.complex import in_parts
from tensorframe.ops.elementwise import CAST


@cache
def dtypes_inside(
    op: Op, operands: tuple[DType, ...], result: DType, *, double: bool
) -> frozenset[DType]:
    """Return the dtypes of all expressions that an elementwise op is written in; of others, none.

    `double` says that there is float64, with which some formulas are shorter.
    """
    if op.kind is not Kind.MAP or (op.attributes and op is not CAST):
        return frozenset()
    attrs = (result,) if op is CAST else ()
    inputs = tuple([((2,), dtype) for dtype in operands])
    whole = RegionOp(op, attrs, tuple(range(len(inputs))), (2,), result)
    region = in_parts(Region(inputs, (whole,), (len(inputs),))).region
    inside: set[DType] = set()
    for region_op in region.ops:
        if region_op.op.kind is Kind.MAP:
            scalars = [
                argument(f"x{index}", region.dtype_of(source))
                for index, source in enumerate(region_op.inputs)
            ]
            root = element(region_op.op, region_op.attrs, scalars, region_op.dtype, double=double)
            inside.update(inner.dtype for inner in in_order((root,), {}))
    return frozenset(inside)
