"""Rows of functions that users write: recorded ones are formulas of other rows, compiled ones machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.dtypes import ANY, DType, as_scalar, real_of
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.record import constant
from tensorframe.graph.shape import broadcast
from tensorframe.ops.creation import CONSTANT
from tensorframe.ops.movement import EXPAND
from tensorframe.ops.term import Term
from tensorframe.quick_dataclasses import dataclass
from tensorframe.quick_tuples import NamedTuple


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
        dtypes = [*self.parameters, *[instruction.dtype for instruction in self.instructions]]
        return dtypes[self.result]

    def __call__(self, *operands: Term) -> Term:
        """Return the result for operands, which broadcast."""
        apply = operands[0].apply
        values = [operand.node for operand in operands]
        for op, attrs, arguments, dtype in self.instructions:
            if op is CONSTANT:
                values.append(_number(attrs[0], dtype, values[0]))
            else:
                values.append(apply(op, *[values[argument] for argument in arguments], attrs=attrs))
        result = values[self.result]
        shape = broadcast(self.name, *[operand.shape for operand in operands])
        if result.shape != shape:  # it does not depend on all operands
            result = apply(EXPAND, result, attrs=(shape,))
        return Term(result, apply)


def _number(value: complex, dtype: DType, beside: Any) -> Any:
    """Return a number of the function's own: a node among nodes, NumPy's scalar among arrays."""
    if isinstance(beside, Node):
        return constant(value, dtype, beside.device, beside.site)
    return as_scalar(value, dtype)


def user_row(formula: Formula, doc: str, vjp: Any = None, printed: Any = None) -> Op:
    """Return the row of a user's function for operands of certain dtypes, which stay as they are.

    `vjp` is its rule for gradients, where there is one, and `printed` the texts that some devices run in its place.
    """
    cost = sum([instruction.op.cost for instruction in formula.instructions if instruction.op is not CONSTANT])
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
        vjp=vjp,
        printed=printed,
        cost=cost,
    )


@dataclass(frozen=True, eq=False)
class Compiled:
    """What runs a result of a user's function that no formula says: code for the cpu, and the same for arrays.

    The code takes and gives real numbers, in which a complex one is a pair: `calls` are names of what it gives for this
    result, one of a real result and two of a complex one. `arrays` takes NumPy's arrays.
    """

    calls: tuple[str, ...]
    arrays: Callable[..., Any]


class Module(NamedTuple):
    """Code for LLVM that defines one function, and the dtypes of what that gives."""

    text: str
    results: tuple[DType, ...]


# by the name of the function, which contains a hash of the text
MODULES: dict[str, Module] = {}


def call_name(function: str, result: int) -> str:
    """Return the name of one of the results of a function."""
    return f"{function}.{result}"


def compiled_row(name: str, arity: int, dtype: DType, compiled: Compiled, doc: str) -> Op:
    """Return the row of a result of a compiled function; operands stay as they are."""
    return Op(
        name,
        Kind.MAP,
        arity,
        ANY,
        lambda *_: dtype,
        doc,
        in_standard=False,
        user_defined=True,
        compiled=compiled,
        cost=100,
    )


def part_of(op: Op, part: int) -> Op:
    """Return the row of one part of a complex result, over parts of operands."""
    compiled: Compiled = op.compiled
    return compiled_row(
        op.name, 0, real_of(op.result()), Compiled((compiled.calls[part],), compiled.arrays), op.doc
    )
