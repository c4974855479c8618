"""Rows of functions that users write: what such a function does with scalars, as ops that every operand goes through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tensorframe.dtypes import ANY, DType, as_scalar
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.record import constant
from tensorframe.graph.shape import broadcast
from tensorframe.ops.creation import CONSTANT
from tensorframe.ops.movement import EXPAND
from tensorframe.ops.term import Term


class Instruction(NamedTuple):
    """One op on values that are numbered: parameters first, then the result of each instruction."""

    op: Op
    attrs: tuple[Any, ...]
    arguments: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True)
class Formula:
    """What a user's function means: straight-line code over scalars. Called with terms, it is a row's expansion."""

    name: str
    parameters: tuple[DType, ...]
    instructions: tuple[Instruction, ...]
    result: int

    @property
    def dtype(self) -> DType:
        """The dtype of the result."""
        dtypes = [*self.parameters, *[one.dtype for one in self.instructions]]
        return dtypes[self.result]

    def __call__(self, *operands: Term) -> Term:
        """Return the result for operands, which broadcast."""
        apply = operands[0].apply
        values = [one.node for one in operands]
        for op, attrs, arguments, dtype in self.instructions:
            if op is CONSTANT:
                values.append(_number(attrs[0], dtype, values[0]))
            else:
                values.append(apply(op, *[values[at] for at in arguments], attrs=attrs))
        found = values[self.result]
        shape = broadcast(self.name, *[one.shape for one in operands])
        if found.shape != shape:  # it does not depend on all operands
            found = apply(EXPAND, found, attrs=(shape,))
        return Term(found, apply)


def _number(value: complex, dtype: DType, beside: Any) -> Any:
    """Return a number of the function's own: a node among nodes, NumPy's scalar among arrays."""
    if isinstance(beside, Node):
        return constant(value, dtype, beside.device, beside.site)
    return as_scalar(value, dtype)


def user_row(formula: Formula, doc: str) -> Op:
    """Return the row of a user's function for operands of certain dtypes, which stay as they are."""
    cost = sum([one.op.cost for one in formula.instructions if one.op is not CONSTANT])
    dtype = formula.dtype
    return Op(
        formula.name,
        Kind.MAP,
        len(formula.parameters),
        ANY,
        lambda *_: dtype,
        doc,
        expand=formula,
        in_standard=False,
        user_defined=True,
        cost=cost,
    )
