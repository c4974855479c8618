"""Accumulation: how a reduction begins, takes in one element, joins two parts and ends, as its row says.

Sums of floating-point numbers accumulate in float64: more accurate than adding in their own dtype. Their order is that
of `kernel/ir/order.py`, which lets loops run on whole vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tensorframe.dtypes import BOOL, FLOAT, INTEGER, DType, bool_, float64, wide_of
from tensorframe.graph.op import Kind, Op
from tensorframe.kernel.ir import Expr, apply, literal
from tensorframe.kernel.math.scalars import converted, element, truth
from tensorframe.ops.term import Term

# machine ops that join elements in the order of lanes, for the rows that are the same op
_ACCUMULATING = {"add": "accumulate_add", "multiply": "accumulate_multiply"}


class Accumulation(NamedTuple):
    """`first` is the accumulator before any element; `take` makes an element what is combined; `join` combines.

    The bits of an `ordered` one depend on the order: elements are joined in that of lanes, parts by `then`.
    """

    dtype: DType  # of the accumulator
    first: complex
    take: Callable[[Expr], Expr]
    join: Callable[[Expr, Expr], Expr]
    finish: Callable[[Expr], Expr]  # in the dtype of the accumulator
    then: Callable[[Expr, Expr], Expr]
    ordered: bool = False

    def start(self) -> Expr:
        """Return the accumulator of no elements."""
        return literal(self.first, self.dtype)


def accumulation(op: Op, dtype: DType, widest: DType = float64) -> Accumulation | None:
    """Return how `op` accumulates elements of `dtype`, or None if kernels do not.

    Sums of floating-point numbers have the `widest` dtype that there is.
    """
    how = op.combination
    if how is None or dtype not in BOOL | INTEGER | FLOAT:
        return None
    held = how.join.result(dtype)
    held = widest if held in FLOAT and how.wide else wide_of(held)
    double = widest == float64
    taken, finish = _formula(how.take, double=double), _formula(how.finish, double=double)

    def take(x: Expr) -> Expr:
        return taken(truth(x) if held == bool_ else converted(x, held))

    # each step of a scan has a result, and a scatter takes values in as they come: the order is given
    name = None if op.kind is not Kind.REDUCE else _ACCUMULATING.get(how.join.name)

    def join(x: Expr, y: Expr) -> Expr:  # short sums are joined in a dtype of their own
        if name is not None:
            return apply(name, x, y, dtype=x.dtype)
        return then(x, y)

    def then(x: Expr, y: Expr) -> Expr:
        return element(how.join, (), (x, y), x.dtype, double=double)

    ordered = held in FLOAT and name is not None
    return Accumulation(held, how.first(held), take, join, finish, then, ordered)


def is_ordered(op: Op, dtype: DType) -> bool:
    """Whether the bits of a reduction of elements of `dtype` depend on the order in which they are joined."""
    if op.kind is not Kind.REDUCE:
        return False
    how = accumulation(op, dtype)
    return how is not None and how.ordered


def _formula(written: Callable[[Any], Any] | None, *, double: bool) -> Callable[[Expr], Expr]:
    """Return a formula over terms as one over expressions; of None, what leaves them as they are."""

    def apply_row(op: Op, *operands: Any) -> Expr:
        dtype = next(operand.dtype for operand in operands if isinstance(operand, Expr))
        values = [
            operand if isinstance(operand, Expr) else literal(operand, dtype)
            for operand in operands
        ]
        return element(op, (), values, op.result(dtype), double=double)

    if written is None:
        return lambda x: x

    def formula(x: Expr) -> Expr:
        root: Expr = written(Term(x, apply_row)).node
        return root

    return formula
