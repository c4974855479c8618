"""Counting: the operations on elements that kernels take, and the loops in which they do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

from tensorframe import Tensor
from tensorframe.backends.llvm import program
from tensorframe.kernel.ir import (
    INDEX,
    START,
    STOP,
    Apply,
    Expr,
    If,
    Let,
    Loop,
    Set,
    Statement,
)
from tensorframe.kernel.ir.interpret import evaluate
from tensorframe.kernel.ir.walk import expressions, in_order
from tensorframe.runtime.execution.executor import run as execute
from tensorframe.runtime.execution.leaves import leaf_handle
from tests.kernel.interpreted import _new, planned

# sums whose order is the elements': a loop of one waits for the element before
_IN_ORDER = ("add", "multiply")


@dataclass(frozen=True)
class Innermost:
    """A loop without loops in it: how often it is begun, how far it runs, the operations of a turn, and its kernel."""

    begun: int
    length: int
    operations: int
    waits: bool
    units: int

    @property
    def total(self) -> int:
        return self.begun * self.length * self.operations


def loops_of(*tensors: Tensor) -> list[Innermost]:
    """The innermost loops of the kernels that a plan for tensors on the llvm device would run; none is run."""
    found: list[Innermost] = []

    def note(region: Any, _parts: Any, built: Any, *_: Any) -> Any:
        for launch in built.launches:
            values: dict[Expr, Any] = {START: 0, STOP: launch.total}
            values.update(zip(launch.kernel.sizes, launch.numbers, strict=True))
            found.extend(_innermost(launch.kernel.body, values, 1, launch.total))
        made = [_new(region, *one) for one in zip(region.outputs, built.layouts, strict=True)]
        return lambda *_: made

    plan, request = planned(*tensors)
    slots = [leaf_handle(leaf) for leaf in request.leaves]
    with patch.object(program, "launcher", note):
        execute(plan, slots, request)
    return found


def _innermost(
    body: Sequence[Statement], values: dict[Expr, Any], begun: int, units: int
) -> Iterator[Innermost]:
    for statement in body:
        if isinstance(statement, Let):
            _take(statement, values)
        elif isinstance(statement, If):
            yield from _innermost(statement.body, values, begun, units)
        elif isinstance(statement, Loop):
            first, last = (
                int(evaluate(end, _typed(values))) for end in (statement.start, statement.stop)
            )
            length = max(last - first, 0)
            if any(isinstance(inner, Loop | If) for inner in statement.body):
                # all turns are as long as the first one, but for what is left over at the end
                inside = values | {statement.index: first}
                yield from _innermost(statement.body, inside, begun * length, units)
            else:
                yield Innermost(
                    begun, length, _operations(statement.body), _waits(statement), units
                )


def _typed(values: dict[Expr, Any]) -> dict[Expr, Any]:
    """Return values in the dtypes of what they are for; steps backwards are large ones that wrap."""
    return {key: np.asarray(value).astype(key.dtype)[()] for key, value in values.items()}


def _take(one: Let, values: dict[Expr, Any]) -> None:
    """Keep what the bounds of loops may be made of."""
    if one.variable.dtype == INDEX:
        try:
            values[one.variable] = evaluate(one.value, _typed(values))
        except (KeyError, TypeError):
            return  # from memory: no bound is


def _operations(body: Sequence[Statement]) -> int:
    roots, _ = expressions(body)
    return sum(isinstance(expr, Apply) and expr.dtype != INDEX for expr in in_order(roots, {}))


def _waits(loop: Loop) -> bool:
    return any(
        isinstance(statement, Set)
        and isinstance(statement.value, Apply)
        and statement.value.op in _IN_ORDER
        and statement.variable in statement.value.arguments
        for statement in loop.body
    )
