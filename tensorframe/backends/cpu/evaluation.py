"""Formulas of kernels evaluated by NumPy, operation by operation: the same bits, without a compiler.

On a small array it takes a thousand times as long as the compiled one, and LLVM a hundred times as long as that to be
loaded: programs of few small results are over before LLVM would have made the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX, DType
from tensorframe.graph.op import Op
from tensorframe.kernel.ir import Apply, Expr, Literal, argument
from tensorframe.kernel.ir.interpret import FUNCTIONS
from tensorframe.kernel.ir.multiply_add import is_in_range, multiply_add
from tensorframe.kernel.ir.walk import in_order
from tensorframe.kernel.math.scalars import element

Array = Any

_SELDOM = "where_rare"


class NotEvaluatedError(Exception):
    """NumPy has no way to the bits that a kernel gives."""


def evaluated(op: Op, attrs: tuple[Any, ...], operands: Sequence[Array], result: DType) -> Array:
    """Return the result of an elementwise op for operands that broadcast; NotEvaluatedError if NumPy cannot tell it."""
    dtypes = [one.dtype for one in operands]
    if op.compiled is not None or not COMPLEX.isdisjoint((*dtypes, result)):
        raise NotEvaluatedError
    places = [argument(f"x{at}", dtype) for at, dtype in enumerate(dtypes)]
    root = element(op, attrs, places, result)
    arrays = np.broadcast_arrays(*operands)
    known: dict[Expr, Array] = dict(zip(places, arrays, strict=True))
    found = _value(root, known)
    return np.array(np.broadcast_to(found, arrays[0].shape))[()]


def _value(root: Expr, known: dict[Expr, Array]) -> Array:
    """Return the value of an expression, without what hardly any element needs where none does."""
    for one in in_order([root], known):
        if isinstance(one, Apply) and one.op == _SELDOM and one not in known:
            condition, _, cheap = one.arguments
            if not np.any(_value(condition, known)):
                known[one] = _value(cheap, known)
    for one in in_order([root], known):
        known[one] = _single(one, known)
    return known[root]


def _single(one: Expr, known: dict[Expr, Array]) -> Array:
    """Return the value of an expression whose operands have theirs."""
    if isinstance(one, Literal):
        return np.array(one.value).astype(one.dtype)[()]
    if not isinstance(one, Apply):
        raise NotEvaluatedError
    arguments = [known[operand] for operand in one.arguments]
    if one.op in _CONVERSIONS:
        return np.asarray(arguments[0]).astype(one.dtype)[()]
    if one.op == "bitcast":
        return np.asarray(arguments[0]).view(one.dtype)[()]
    return (_OWN.get(one.op) or FUNCTIONS[one.op])(*arguments)


def _fused(a: Array, b: Array, c: Array) -> Array:
    if not is_in_range(a, b):
        raise NotEvaluatedError
    return multiply_add(a, b, c)


def _larger(x: Array, y: Array) -> Array:
    """Return the larger, of two zeros the positive one, of which NumPy says one or the other."""
    found = np.maximum(x, y)
    return found if np.all(found) else np.where((x == 0) & (y == 0), x + y, found)[()]


def _smaller(x: Array, y: Array) -> Array:
    found = np.minimum(x, y)
    return found if np.all(found) else np.where((x == 0) & (y == 0), -((-x) + (-y)), found)[()]


_CONVERSIONS = ("cast", "to_index", "from_index")
_OWN: dict[str, Callable[..., Array]] = {"fma": _fused, "maximum": _larger, "minimum": _smaller}
