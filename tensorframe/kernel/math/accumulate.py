"""Accumulation: how a reduction begins, takes in one element, joins two parts and ends, as its row says.

Sums of floating-point numbers accumulate in float64: more accurate than adding in their own dtype. Their order is that
of `kernel/ir/order.py`, which lets loops run on whole vectors. Where there is no float64, they may in pairs of float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.dtypes import BOOL, FLOAT, INTEGER, DType, bool_, float32, float64, wide_of
from tensorframe.graph.op import Kind, Op
from tensorframe.kernel.ir import PAIR, Expr, apply, literal
from tensorframe.kernel.math.pairs import added, held_as, number_of
from tensorframe.kernel.math.scalars import converted, element, truth
from tensorframe.ops.term import Term
from tensorframe.quick_tuples import NamedTuple

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
        if self.dtype == PAIR:
            return held_as(literal(self.first, float32), PAIR)
        return literal(self.first, self.dtype)


def accumulation(
    op: Op, dtype: DType, widest: DType = float64, *, in_pairs: bool = False
) -> Accumulation | None:
    """Return how `op` accumulates elements of `dtype`, or None if kernels do not.

    Sums of floating-point numbers have the `widest` dtype that there is; with `in_pairs`, where that is float32, two of
    them.
    """
    how = op.combination
    if how is None or dtype not in BOOL | INTEGER | FLOAT:
        return None
    held = how.join.result(dtype)
    held = widest if held in FLOAT and how.wide else wide_of(held)
    double = widest == float64
    taken, finished = _formula(how.take, double=double), _formula(how.finish, double=double)
    paired = in_pairs and held == float32 and how.join.name == "add"

    def take(x: Expr) -> Expr:
        element = taken(truth(x) if held == bool_ else converted(x, held))
        return held_as(element, PAIR) if paired else element

    def finish(x: Expr) -> Expr:
        return finished(number_of(x))

    # each step of a scan has a result, and a scatter takes values in as they come: the order is given
    name = None if op.kind is not Kind.REDUCE else _ACCUMULATING.get(how.join.name)

    def join(x: Expr, y: Expr) -> Expr:  # short sums are joined in a dtype of their own
        if name is not None and x.dtype != PAIR:
            return apply(name, x, y, dtype=x.dtype)
        return then(x, y)

    def then(x: Expr, y: Expr) -> Expr:
        if x.dtype == PAIR:
            return added(x, y)
        return element(how.join, (), (x, y), x.dtype, double=double)

    ordered = held in FLOAT and name is not None
    accumulated = PAIR if paired else held
    return Accumulation(accumulated, how.first(held), take, join, finish, then, ordered)


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
