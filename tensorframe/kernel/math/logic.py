"""Order and logic of truth values, which machines compare for equality only."""

from __future__ import annotations

from tensorframe.dtypes import bool_
from tensorframe.kernel.ir import Expr, compare
from tensorframe.kernel.ir.formula import both, either, negation, not_equal
from tensorframe.kernel.math.registry import formula


@formula("logical_xor")
def logical_xor(x: Expr, y: Expr) -> Expr:
    """Return whether exactly one of two conditions holds."""
    return not_equal(x, y)


@formula("less")
def less(x: Expr, y: Expr) -> Expr:
    """Return whether x is smaller; false is smaller than true."""
    return both(negation(x), y) if x.dtype == bool_ else compare("less", x, y)


@formula("less_equal")
def less_equal(x: Expr, y: Expr) -> Expr:
    """Return whether x is not larger."""
    return either(negation(x), y) if x.dtype == bool_ else compare("less_equal", x, y)


@formula("greater")
def greater(x: Expr, y: Expr) -> Expr:
    """Return whether x is larger."""
    return less(y, x) if x.dtype == bool_ else compare("greater", x, y)


@formula("greater_equal")
def greater_equal(x: Expr, y: Expr) -> Expr:
    """Return whether x is not smaller."""
    return less_equal(y, x) if x.dtype == bool_ else compare("greater_equal", x, y)
