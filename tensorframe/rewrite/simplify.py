"""Algebraic simplification and strength reduction: ops whose result is known, or cheaper, by facts of their rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorframe.dtypes import BITWISE, BOOL, FLOAT
from tensorframe.graph.node import Node
from tensorframe.graph.record import is_constant
from tensorframe.graph.tracing import TracedNumber
from tensorframe.ops.elementwise import ADD, CAST, NEGATIVE, POW, SQUARE, SUBTRACT
from tensorframe.rewrite.engine import Builder, rule


def visible(value: Any) -> Any:
    """Return `value` if passes may look at it, else None.

    Numbers are arguments of a plan, not part of it; only the few that rules know are, with their sign.
    """
    if isinstance(value, bool | np.generic | TracedNumber):
        return None
    if value not in (0, 1, 2, math.inf, -math.inf):
        return None
    if isinstance(value, float) and value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    return str(value)


@rule(lambda op: op.arity == 2 and (op.identity, op.right_identity) != (None, None))
def drop_identity(node: Node, _build: Builder) -> Node | None:
    """`x * 1`, `x + -0.0`, `x - 0`, `x / 1` are x."""
    left, right = node.inputs
    for operand, number, neutral in (
        (left, right, node.op.identity),
        (right, left, node.op.identity),
        (left, right, node.op.right_identity),
    ):
        if (
            neutral is not None
            and is_constant(number)
            and _same_number(number, neutral)
            and operand.shape == node.shape
            and operand.dtype == node.dtype
            and operand.dtype not in BOOL
        ):
            return operand
    return None


def _same_number(number: Node, neutral: float) -> bool:
    value = number.attrs[0]
    if visible(value) is None or isinstance(value, complex) or value != neutral:
        return False
    if number.dtype in BITWISE or value != 0:
        return not math.isinf(neutral) or number.dtype in FLOAT
    return math.copysign(1, value) == math.copysign(1, neutral)


@rule(lambda op: op.involution)
def cancel_involution(node: Node, _build: Builder) -> Node | None:
    """`-(-x)`, `~~x` and `conj(conj(x))` are x."""
    source = node.inputs[0]
    if source.op is node.op and source.storage is None:
        return source.inputs[0]
    return None


@rule(lambda op: op.odd)
def pull_out_negation(node: Node, build: Builder) -> Node | None:
    """`erf(-x)` is `-erf(x)` and `-x * y` is `-(x * y)`: what differs in sign alone is computed once."""
    if node.dtype not in FLOAT:
        return None
    bare = [source.inputs[0] if _is_negation(source) else source for source in node.inputs]
    negations = sum(operand is not other for operand, other in zip(bare, node.inputs, strict=True))
    if not negations:
        return None
    positive = build.remake(node, tuple(bare))
    if negations % 2 == 0:
        return positive
    like = (node.shape, node.dtype, node.device)
    return build.make(NEGATIVE, (positive,), (), *like, node)


@rule(lambda op: op in (ADD, SUBTRACT))
def add_negation(node: Node, build: Builder) -> Node | None:
    """`x + -y` is `x - y`, and `x - -y` is `x + y`."""
    if node.dtype not in FLOAT:
        return None
    left, right = node.inputs
    if node.op is ADD and _is_negation(left) and not _is_negation(right):
        left, right = right, left
    if not _is_negation(right):
        return None
    other = SUBTRACT if node.op is ADD else ADD
    operands = (left, right.inputs[0])
    return build.make(other, operands, (), node.shape, node.dtype, node.device, node)


def _is_negation(node: Node) -> bool:
    return node.op is NEGATIVE and node.storage is None


@rule(lambda op: op is CAST)
def merge_casts(node: Node, build: Builder) -> Node | None:
    """A cast to the dtype at hand is none; a cast of a lossless cast is one cast."""
    source = node.inputs[0]
    if source.dtype == node.dtype:
        return source
    if source.op is CAST and source.storage is None:
        inner = source.inputs[0]
        if np.can_cast(inner.dtype, source.dtype, "safe"):
            return build.remake(node, (inner,))
    return None


@rule(lambda op: op is POW)
def square_power(node: Node, build: Builder) -> Node | None:
    """`x ** 2` is `square(x)`, as in NumPy."""
    base, exponent = node.inputs
    if not is_constant(exponent) or visible(exponent.attrs[0]) not in ("2", "2.0"):
        return None
    return build.make(SQUARE, (base,), (), node.shape, node.dtype, node.device, node)
