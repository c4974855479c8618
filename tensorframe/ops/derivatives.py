"""Derivatives: how rules for gradients are written, and those that take more than a line.

A rule gives a cotangent for each operand, or a function that makes one when it is wanted: `partials` writes both for ops
that have a derivative of each element by itself. Cotangents of complex results are multiplied by the conjugate of the
derivative, as in PyTorch: then `z - rate * gradient` descends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, NamedTuple

from tensorframe.dtypes import COMPLEX
from tensorframe.graph.record import is_constant
from tensorframe.graph.shape import reduced
from tensorframe.ops.term import Term, conj, equal, log, real, where

Rule = Callable[..., Sequence[Any]]


class ForPart(NamedTuple):
    """What the rule of a `part` gives: the cotangent of one of several parts of its operand."""

    place: int
    ct: Term


def conjugate(x: Term) -> Term:
    """Return the complex conjugate: of real terms, the term itself."""
    return conj(x) if x.dtype in COMPLEX else x


def partials(*derivatives: Callable[..., Any] | None) -> Rule:
    """Return the rule of an elementwise op: for each operand, its derivative as a function of result and operands."""

    def rule(ct: Term, out: Term, *operands: Term) -> Sequence[Any]:
        return [
            None if one is None else partial(_scaled, ct, one, out, *operands)
            for one in derivatives
        ]

    return rule


def _scaled(ct: Term, derivative: Callable[..., Any], *terms: Term) -> Term:
    factor = derivative(*terms)
    return ct * (conjugate(factor) if isinstance(factor, Term) else factor)


def spread(ct: Term, x: Term, axes: tuple[int, ...], keepdims: bool) -> Term:
    """Return the cotangent of a sum along axes for each of its elements."""
    return with_axes(ct, x, axes, keepdims).expanded(x.shape)


def with_axes(reduced_term: Term, x: Term, axes: tuple[int, ...], keepdims: bool) -> Term:
    """Return what is reduced along axes of `x` with these axes of size one, if it lacks them."""
    return reduced_term if keepdims else reduced_term.reshaped(reduced(x.shape, axes, keepdims=True))


def inverse_permutation(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the order of axes that undoes an order."""
    inverse = [0] * len(axes)
    for at, axis in enumerate(axes):
        inverse[axis] = at
    return tuple(inverse)


def power(ct: Term, out: Term, base: Term, exponent: Term) -> Sequence[Any]:
    """Rule of `pow`: e b^(e-1), which is 0 for e = 0 whatever the base; and b^e log b, which is 0 at b = 0."""

    def of_base() -> Term:
        known = exponent.node.attrs[0] if is_constant(exponent.node) else None
        if type(known) in (int, float, complex):  # a recording's number is not known
            return ct * conjugate(base ** (known - 1) * known) if known else ct * 0
        slope = exponent * base ** (exponent - 1)
        return ct * conjugate(where(equal(exponent, 0), 0, slope))

    def of_exponent() -> Term:
        at_zero = where(real_of(exponent) < 0, -inf, 0)
        return ct * conjugate(where(equal(base, 0), at_zero, out * log(base)))

    return of_base, of_exponent


def real_of(x: Term) -> Term:
    """Return the real part: of real terms, the term itself."""
    return real(x) if x.dtype in COMPLEX else x
