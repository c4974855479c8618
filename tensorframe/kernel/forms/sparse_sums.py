"""Numbers of sparse products, in one or two parts, and the accumulators that add them up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorframe.kernel import ir
from tensorframe.kernel.forms.sparse_rows import Statements, Value


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


def assigned(variables: Sequence[ir.Variable], value: Value) -> Statements:
    """Return how variables are set to the parts of a value."""
    return tuple([ir.Set(name, own) for name, own in zip(variables, value, strict=True)])


def in_lanes(x: ir.Expr, y: ir.Expr) -> ir.Expr:
    """Return a sum in the order of lanes, which vectors have."""
    return ir.apply("accumulate_add", x, y, dtype=x.dtype)
