"""Calls with a rule of their own: functions whose gradient somebody else gives, and blocks that are computed twice.

A call is a row of the results and the arguments, from which `custom_part` takes the results one by one. Every plan writes
the parts out as the results themselves; the backward walk comes to the call and asks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.dtypes import ANY
from tensorframe.graph.op import Kind, Op, refused, register, same
from tensorframe.graph.shape import Shape
from tensorframe.ops.derivatives import ForPart
from tensorframe.ops.term import Term


def _first(shapes: tuple[Shape, ...], *_: Any) -> Shape:
    return shapes[0]


def _asked(cts: Sequence[Term | None], out: Term, *operands_and_call: Any) -> Sequence[Any]:
    *operands, call = operands_and_call
    cotangents: Sequence[Any] = call.pull_back(cts, out, operands)
    return cotangents


# Operands: the results, then the arguments; `call` says how many there are, and pulls cotangents back.
CUSTOM_CALL = register(
    Op("custom_call", Kind.VIEW, None, ANY, same, "Results of a function with a rule of its own.", shape=_first, attributes=("call",), expand=lambda *operands: operands[0], parts=2, cost=0.0, alias=True, vjp=_asked)
)
# Operands: the result, and the call.
CUSTOM_PART = register(
    Op("custom_part", Kind.VIEW, 2, ANY, same, "One of the results of a function with a rule of its own.", shape=_first, attributes=("index",), expand=lambda result, _call, _index: result, cost=0.0, alias=True, vjp=lambda ct, _out, _result, _call, index: (None, ForPart(index, ct)))
)
# Operands: values that were computed at once, and what they were computed from. Recorded while a gradient is, so that what
# has been lost is not taken for a constant.
COMPUTED = register(
    Op("distinct", Kind.VIEW, None, ANY, same, "Distinct elements, which are computed at once.", shape=_first, expand=lambda *operands: operands[0], in_standard=False, cost=0.0, alias=True, vjp=refused("distinct elements are computed at once, outside of the graph"))
)
