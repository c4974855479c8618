"""Formulas of kernels, run by NumPy: ops whose results are to be the same bits here as in any kernel.

The expression that a kernel would compute for each element (`kernel/math`) becomes a list of ufunc calls, which blocks
of elements go through: temporaries stay in the cache.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.numpy.functions import spells
from tensorframe.dtypes import DType, wide_of
from tensorframe.kernel.ir import Apply, Expr, Literal, argument
from tensorframe.kernel.ir.interpret import FUNCTIONS
from tensorframe.kernel.ir.walk import in_order
from tensorframe.kernel.math.registry import formula_of
from tensorframe.machine import HOST
from tensorframe.ops.random import COS_TURNS, SURPRISAL
from tensorframe.quick_tuples import NamedTuple

Array = Any

# Elements of a block: its temporaries, four or so, fit the second level of cache.
_BLOCK = HOST.second // 16


class _Call(NamedTuple):
    """One ufunc: numbers, or the places of operands, and the place of the result; places are read as a dtype."""

    function: Any
    operands: tuple[Any, ...]
    result: tuple[int, DType]


class _Calls(NamedTuple):
    """What an expression of one argument becomes; the argument is at the first place, the result at the last call's."""

    calls: list[_Call]
    places: int


@cache
def _compiled(name: str, dtype: DType) -> _Calls:
    """Return the calls for the formula of an op, whose values all have the size of `dtype`."""
    formula = formula_of(name)
    assert formula is not None
    x = argument("x", dtype)
    root = formula(x)
    order = in_order([root], {})
    uses = {operand: number for number, value in enumerate(order) for operand in value.operands}
    where: dict[Expr, Any] = {x: (0, dtype)}
    last: dict[int, int] = {0: len(order)}  # the argument is not overwritten
    calls, places = [], 1
    for number, expr in enumerate(order):
        if isinstance(expr, Literal):
            where[expr] = np.array(expr.value).astype(expr.dtype)[()]
        elif isinstance(expr, Apply):
            operands = tuple([where[operand] for operand in expr.arguments])
            if expr.op == "bitcast":
                place = operands[0][0]
            else:
                place = next((free for free in range(places) if last[free] <= number), places)
                places = max(places, place + 1)
                calls.append(_Call(FUNCTIONS[expr.op], operands, (place, expr.dtype)))
            where[expr] = (place, expr.dtype)
            last[place] = max(last.get(place, 0), uses.get(expr, number))
    return _Calls(calls, places)


def _run(name: str, x: Array, out: Array) -> None:
    """Write the results for a flat array of float32 or float64."""
    calls, places = _compiled(name, x.dtype)
    memory = host_pool.scratch(min(_BLOCK, x.size), [x.dtype] * (places - 1))
    for start in range(0, x.size, _BLOCK):
        part, result = x[start : start + _BLOCK], out[start : start + _BLOCK]
        values = [part, *[array[: part.size] for array in memory]]
        for call in calls:
            operands = [
                values[operand[0]].view(operand[1]) if isinstance(operand, tuple) else operand
                for operand in call.operands
            ]
            place, dtype = call.result
            target = result if call is calls[-1] else values[place].view(dtype)
            call.function(*operands, out=target)


def _spell(name: str) -> None:
    def run(x: Array, out: Array | None = None) -> Array:
        wide = np.asarray(x).astype(wide_of(x.dtype), copy=False)
        takes = out is not None and out.dtype == wide.dtype and out.flags.c_contiguous
        result: Array = out if takes else np.empty(wide.shape, wide.dtype)
        with np.errstate(all="ignore"):
            _run(name, wide.reshape(-1), result.reshape(-1))
        if out is None:
            return result.astype(x.dtype, copy=False)
        if not takes:
            out[...] = result
        return out

    spells(name, writes=True)(run)


for _op in (SURPRISAL, COS_TURNS):
    _spell(_op.name)
