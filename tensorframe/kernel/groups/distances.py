"""Sums of distances from another reduction's result: which ones kernels take in the pass of that, see `one_pass.py`.

The planner asks it of nodes, kernels of a region's values: `Ops` says how either is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from tensorframe.dtypes import DType
from tensorframe.graph.op import Kind, Op
from tensorframe.kernel.forms.deviations import DTYPES
from tensorframe.ops.elementwise import EXP, MULTIPLY, SUBTRACT, WHERE
from tensorframe.ops.reduction import MAX, SUM
from tensorframe.quick_dataclasses import dataclass
from tensorframe.quick_tuples import NamedTuple

One = TypeVar("One")


@dataclass(frozen=True, slots=True)
class Ops(Generic[One]):
    """How a value is computed: `op_of` is None of what is there already."""

    op_of: Callable[[One], Op | None]
    operands_of: Callable[[One], Sequence[One]]
    dtype_of: Callable[[One], DType]

    def reductions_in(self, value: One) -> list[One]:
        """Return the reductions nearest to a value that it is made of."""
        seen = [value]
        for other in seen:  # grows while it is walked
            op = self.op_of(other)
            if op is not None and op.kind is not Kind.REDUCE:
                seen += [operand for operand in self.operands_of(other) if operand not in seen]
        return [other for other in seen if _is_reduction(self.op_of(other))]


class Distances(NamedTuple, Generic[One]):
    """A sum is one of `distance` from `centre`, which is made of the `source`: the elements' sum or maximum.

    The distances are `squared`, or else exponentials of them are summed.
    """

    distance: One
    centre: One
    source: One
    squared: bool


def distances_in(total: One, ops: Ops[One]) -> Distances[One] | None:
    """Return what a sum is made of; None if it is no sum of squares or exponentials of distances."""
    if ops.op_of(total) is not SUM or ops.dtype_of(total) not in DTYPES:
        return None
    (summed,) = ops.operands_of(total)
    if ops.op_of(summed) not in (MULTIPLY, EXP):
        return None
    squared = ops.op_of(summed) is MULTIPLY
    distance, *others = ops.operands_of(summed)
    if any(other != distance for other in others) or ops.op_of(distance) is not SUBTRACT:
        return None
    element, centre = ops.operands_of(distance)
    sources = ops.reductions_in(centre)
    if len(sources) != 1 or ops.op_of(sources[0]) is not (SUM if squared else MAX):
        return None
    (source,) = sources
    if ops.operands_of(source)[0] != element or not (squared or _is_nearly(centre, source, ops)):
        return None
    return Distances(distance, centre, source, squared)


def _is_reduction(op: Op | None) -> bool:
    return op is not None and op.kind is Kind.REDUCE


def _is_nearly(centre: One, source: One, ops: Ops[One]) -> bool:
    """Whether a value is a reduction's result or, under a condition, something else."""
    while centre != source:
        op, operands = ops.op_of(centre), ops.operands_of(centre)
        if op is None or op.kind is not Kind.VIEW:
            return op is WHERE and source in operands[1:]
        (centre,) = operands
    return True
