"""Derivatives: how rules for gradients are written, and those that take more than a line.

A rule gives a cotangent for each operand, or a function that makes one when it is wanted: `partials` writes both for ops
that have a derivative of each element by itself. Cotangents of complex results are multiplied by the conjugate of the
derivative, as in PyTorch: then `z - rate * gradient` descends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf, pi
from math import sqrt as sqrt_of
from typing import Any

from tensorframe.dtypes import COMPLEX, FORMAT, NARROW
from tensorframe.graph.record import is_constant
from tensorframe.ops.term import (
    Term,
    call,
    conj,
    cos,
    equal,
    hypot,
    isfinite,
    log,
    real,
    sigmoid,
    sqrt,
    square,
    where,
)
from tensorframe.quick_tuples import NamedTuple

Rule = Callable[..., Sequence[Any]]

ERF_SLOPE = 2 / sqrt_of(pi)
# up to which eight terms of its series give the slope of sinc to 1e-16
SMALL_ANGLE = 0.25
SINC_SERIES = (238, 180, 130, 88, 54, 28, 10)  # 2k (2k + 3), the last term first


class ForPart(NamedTuple):
    """What the rule of a `part` gives: the cotangent of one of several parts of its operand."""

    place: int
    ct: Term


def conjugate(x: Term) -> Term:
    """Return the complex conjugate: of real terms, the term itself."""
    return conj(x) if x.node.dtype.kind == "c" else x  # asked for every factor: quicker than the set


def partials(*derivatives: Callable[..., Any] | None) -> Rule:
    """Return the rule of an elementwise op: for each operand, its derivative as a function of result and operands."""

    def rule(ct: Term, out: Term, *operands: Term) -> Sequence[Any]:
        return [
            None if derivative is None else partial(_scaled, ct, derivative, out, *operands)
            for derivative in derivatives
        ]

    return rule


def _scaled(ct: Term, derivative: Callable[..., Any], *terms: Term) -> Term:
    factor = derivative(*terms)
    return ct * (conjugate(factor) if type(factor) is Term else factor)


def inverse_permutation(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the order of axes that undoes an order."""
    inverse = [0] * len(axes)
    for position, axis in enumerate(axes):
        inverse[axis] = position
    return tuple(inverse)


def product(ct: Term, _out: Term, x: Term, y: Term) -> Sequence[Any]:
    """Rule of a product: for each factor the other one; twice itself for a square, which is one factor."""
    if x.node is y.node:
        return lambda: ct * conjugate(x + x), None
    return lambda: ct * conjugate(y), lambda: ct * conjugate(x)


def quotient(ct: Term, out: Term, x: Term, y: Term) -> Sequence[Any]:
    """Rule of a quotient: one division for both operands, of 1 by the divisor.

    A dtype with fewer exponents than float32 has few numbers whose reciprocal it has too. What is costly to make, such as a matmul, is
    divided in the step that makes it if nothing else reads it: so the quotient is read instead.
    """
    if x.dtype in NARROW and not FORMAT[x.dtype].has_exponents_of_single:
        slope = ct / conjugate(y)
        return slope, lambda: -(slope * conjugate(out))
    inverse = conjugate(1 / y)

    def of_divisor() -> Term:
        quotient = conjugate(out) if x.node.op.costly else conjugate(x) * inverse
        return -(ct * (quotient * inverse))

    return lambda: ct * inverse, of_divisor


def power(ct: Term, out: Term, base: Term, exponent: Term) -> Sequence[Any]:
    """Rule of `pow`: e b^(e-1), which is 0 for e = 0 whatever the base; and b^e log b, which is 0 at b = 0."""

    def of_base() -> Term:
        known = exponent.node.attrs[0] if is_constant(exponent.node) else None
        if type(known) in (int, float, complex):  # a recording's number is not known
            return ct * conjugate(base ** (known - 1) * known) if known else ct * 0
        slope = exponent * base ** (exponent - 1)
        return ct * conjugate(where(equal(exponent, 0), 0, slope))

    def of_exponent() -> Term:
        at_zero = where(real_of(exponent) < 0, base.filled(-inf, ()), 0)
        return ct * conjugate(where(equal(base, 0), at_zero, out * log(base)))

    return of_base, of_exponent


def real_of(x: Term) -> Term:
    """Return the real part: of real terms, the term itself."""
    return real(x) if x.dtype in COMPLEX else x


def share_ties(wins: Callable[[Term, Term], Term]) -> Rule:
    """Return the rule of a maximum or minimum of two: to the one that wins, half to each where they are equal.

    The operands are compared with each other and not with the result: that may be stored, of another plan, whose
    kernels rounded the operands otherwise than they are now.
    """

    def rule(ct: Term, _out: Term, x: Term, y: Term) -> Sequence[Any]:
        def share(own: Term, other: Term) -> Term:
            return where(equal(x, y), ct * 0.5, where(wins(own, other), ct, 0))

        return partial(share, x, y), partial(share, y, x)

    return rule


def is_larger(own: Term, other: Term) -> Term:
    """Whether the element is that of a maximum."""
    return own > other


def is_smaller(own: Term, other: Term) -> Term:
    """Whether the element is that of a minimum."""
    return own < other


def is_larger_number(own: Term, other: Term) -> Term:
    """Whether the element is that of a maximum in which a NaN loses."""
    return where(equal(other, other), own > other, equal(own, own))


def is_smaller_number(own: Term, other: Term) -> Term:
    """Whether the element is that of a minimum in which a NaN loses."""
    return where(equal(other, other), own < other, equal(own, own))


def sign_rule(ct: Term, out: Term, x: Term) -> Sequence[Any]:
    """Rule of `sign`: constant for real numbers; a complex one turns on the unit circle."""
    if x.dtype not in COMPLEX:
        return (None,)

    def turned() -> Term:
        along = real(ct * conj(out)).cast(x.dtype)
        return where(equal(x, 0), 0, (ct - out * along) / nonzero(abs(x)))

    return (turned,)


def whole_divisions(ct: Term, out: Term, x: Term, y: Term) -> Sequence[Any]:
    """Rule of fmod: how often y goes into x, which the quotient, rounded up to a whole number, would get wrong by one."""
    return ct, lambda: -ct * call("round", (x - out) / y, attrs=())


def nonzero(x: Term) -> Term:
    """Return the elements, 1 in the place of zeros: for quotients whose numerator is zero there as well."""
    return where(equal(x, 0), 1, x)


def weight(own: Term, other: Term) -> Term:
    """Return the slope of logaddexp, of which infinite operands have half each where they are equal.

    It is not exp(own - out): where operands are large, the result is rounded to few digits behind the point.
    """
    apart = where(equal(own, other), 0, own - other)  # inf - inf is NaN
    return sigmoid(where(isfinite(own), own - other, apart))


def over_square(x: Term, own: Term, other: Term) -> Term:
    """Return x / (own^2 + other^2), without overflow, 0 where both are."""
    size = nonzero(hypot(own, other))
    return x / size / size


def length(x: Term) -> Term:
    """Return sqrt(1 + x^2), without overflow for real terms."""
    return sqrt(x * x + 1) if x.dtype in COMPLEX else hypot(x, 1)


def sinc_slope(out: Term, x: Term) -> Term:
    """Return the slope of sinc: (cos(pi x) - sinc(x)) / x, near zero by its series, where that cancels."""
    small = abs(x) < SMALL_ANGLE
    t = square(x * pi)
    series: Term | float = 1.0
    for divisor in SINC_SERIES:
        series = 1 - t / divisor * series
    return where(small, x * series * (-pi * pi / 3), (cos(x * pi) - out) / where(small, 1, x))
