"""Mixed precision: the dtype that a block sets, and the operands that a row is recorded with there."""

from __future__ import annotations

from contextvars import ContextVar

from tensorframe.dtypes import NARROW, DType, float32
from tensorframe.graph.node import Node
from tensorframe.graph.op import Op, Precision
from tensorframe.graph.record import cast

# None outside such a block
autocast_dtype: ContextVar[DType | None] = ContextVar("tensorframe_autocast", default=None)


def suited(op: Op, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the operands of a row as the block around it wants them: low or full precision, or as they are.

    Only float32 and half precision change; what somebody made wider stays.
    """
    low = autocast_dtype.get()
    if low is None or op.precision is None:
        return nodes
    if op.precision is Precision.LOW:
        return tuple([cast(node, low) if _may_narrow(node.dtype) else node for node in nodes])
    return tuple([cast(node, float32) if node.dtype in NARROW else node for node in nodes])


def _may_narrow(dtype: DType) -> bool:
    return dtype == float32 or dtype in NARROW
