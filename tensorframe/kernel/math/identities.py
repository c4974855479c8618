"""Ops that leave some dtypes alone: rounding of integers, parts of real numbers."""

from __future__ import annotations

from tensorframe.dtypes import FLOAT
from tensorframe.kernel.ir import Expr, apply, literal
from tensorframe.kernel.math.registry import Formula, formula


@formula("positive")
@formula("real")
@formula("conj")
def same(x: Expr) -> Expr:
    """Return x."""
    return x


@formula("imag")
def imag(x: Expr) -> Expr:
    """Return zero: a real number has no imaginary part."""
    return literal(0, x.dtype)


def _rounding(name: str) -> Formula:
    def rounded(x: Expr) -> Expr:
        """Return an integer as it is, and a float rounded."""
        return apply(name, x) if x.dtype in FLOAT else x

    return formula(name)(rounded)


for _name in ("floor", "ceil", "trunc", "round"):
    _rounding(_name)
