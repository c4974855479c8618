"""Numbers of sparse products, in one or two parts, and the accumulators that add them up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorframe.kernel import ir
from tensorframe.kernel.forms.sparse_rows import BEGIN, END, ENTRY, Statements, Value
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.kernel.ir.walk import substituted
from tensorframe.kernel.nest.axes import summed

# Accumulators of one sum.
_COUNT = 4


def product(x: Value, y: Value) -> Value:
    """Return the product of two numbers."""
    if len(x) == 1:
        return (x[0] * y[0],)
    return (x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0])


def total(value: Value, name: str = "total") -> tuple[ir.Variable, ...]:
    """Return accumulators for the parts of a value."""
    return tuple([ir.variable(f"{name}{part}", own.dtype) for part, own in enumerate(value)])


def cleared(variables: Sequence[ir.Variable]) -> Statements:
    """Return how accumulators begin."""
    return tuple([ir.Set(variable, ir.literal(0, variable.dtype)) for variable in variables])


def plus(x: ir.Expr, y: ir.Expr) -> ir.Expr:
    """Return the sum of two scalars."""
    return x + y


def join(
    variables: Sequence[ir.Variable],
    value: Value,
    with_: Callable[[ir.Expr, ir.Expr], ir.Expr] = plus,
) -> Statements:
    """Return how accumulators take in a value."""
    return tuple(
        [
            ir.Set(variable, with_(variable, own))
            for variable, own in zip(variables, value, strict=True)
        ]
    )


def added(x: Value, y: Value) -> Value:
    """Return the sum of two numbers."""
    return tuple([own + other for own, other in zip(x, y, strict=True)])


def side_by_side(sums: tuple[ir.Variable, ...], term: Value) -> Statements:
    """Return the sum over a row in several accumulators, none of which has to wait for the others."""
    others = [total(term, f"total{number}_") for number in range(1, _COUNT)]
    each, begin = ir.index("each"), ir.variable("rest", ir.INDEX)
    count = ir.literal(_COUNT, ir.INDEX)
    turns = ir.apply("floor_divide", END - BEGIN, count)
    taken: Statements = ()
    for number, own in enumerate((sums, *others)):
        entry = summed(BEGIN, each * count, ir.literal(number, ir.INDEX))
        here = [substituted(part, {ENTRY: entry}) for part in term]
        taken = (*taken, *join(own, tuple(here)))
    joined: Statements = ()
    every = [sums, *others]
    while len(every) > 1:  # with those half their number away
        half = len(every) // 2
        for left, right in zip(every[:half], every[half:], strict=True):
            joined = (*joined, *join(left, right))
        every = every[:half]
    return (
        *[statement for own in others for statement in cleared(own)],
        ir.Loop(each, ZERO, turns, taken),
        *joined,
        ir.Set(begin, BEGIN + turns * count),
        ir.Loop(ENTRY, begin, END, join(sums, term)),
    )


def assigned(variables: Sequence[ir.Variable], value: Value) -> Statements:
    """Return how variables are set to the parts of a value."""
    return tuple([ir.Set(name, own) for name, own in zip(variables, value, strict=True)])


def in_lanes(x: ir.Expr, y: ir.Expr) -> ir.Expr:
    """Return a sum in the order of lanes, which vectors have."""
    return ir.apply("accumulate_add", x, y, dtype=x.dtype)
