"""Single ops as NumPy calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.backends.base import Program, quiet
from tensorframe.backends.numpy.creation import generate
from tensorframe.backends.numpy.functions import implementation
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.ops.indexing import SET_SLICE

_MOVING = frozenset({Kind.VIEW, Kind.GATHER})


def single_call(region: Region) -> Program:
    """Return a program of one op; a scatter may work in the memory of its first operand."""
    (op,) = region.ops
    if op.op.kind is Kind.SOURCE:
        return lambda _inputs, _buffers: (generate(op),)
    function = implementation[op.op]
    attrs = op.attrs
    order = op.inputs
    in_place = op.op.kind is Kind.SCATTER

    def run(inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        operands = [inputs[source] for source in order]
        if in_place and buffers[0] is not None:
            return (function(*operands, *attrs, out=buffers[0]),)
        return (function(*operands, *attrs),)

    # what moves elements gives no warnings, and to silence them takes as long as to move a thousand
    return quiet(run) if op.op.kind in _MOVING or op.op is SET_SLICE else run
