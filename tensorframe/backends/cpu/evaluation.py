"""Formulas of kernels evaluated by NumPy, operation by operation: the same bits, without a compiler.

On a small array it takes a thousand times as long as the compiled one, and LLVM a hundred times as long as that to be
loaded: programs of few small results are over before LLVM would have made the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX, DType, float32, float64
from tensorframe.graph.op import Op
from tensorframe.kernel.ir import Apply, Expr, Literal, argument
from tensorframe.kernel.ir.interpret import FUNCTIONS
from tensorframe.kernel.ir.multiply_add import is_in_range, multiply_add
from tensorframe.kernel.ir.walk import in_order
from tensorframe.kernel.math.scalars import element

Array = Any

_SELDOM = "where_rare"
# dtypes that a Python number is converted to by calling them, in a tenth of the time
_HELD = frozenset([float32, float64])


class NotEvaluatedError(Exception):
    """NumPy has no way to the bits that a kernel gives."""


class Evaluator:
    """A function of operands that broadcast, which gives the result of an elementwise op on some dtypes.

    It raises NotEvaluatedError where NumPy cannot tell the result. `operations` are those of its formula, each of which
    is a call of NumPy's.
    """

    __slots__ = ("_operands", "_root", "operations")

    def __init__(self, root: Expr | None, operands: Sequence[Expr]) -> None:
        self._root, self._operands = root, operands
        self.operations = 0 if root is None else len(in_order([root], ()))

    def __call__(self, *arrays: Array) -> Array:
        """Return the result for these operands."""
        if self._root is None:
            raise NotEvaluatedError
        shape = arrays[0].shape
        if any(array.shape != shape for array in arrays):
            arrays = np.broadcast_arrays(*arrays)
            shape = arrays[0].shape
        value = _value(self._root, dict(zip(self._operands, arrays, strict=True)))
        # what broadcasts, or is an operand, becomes memory of its own
        return np.array(value if value.shape == shape else np.broadcast_to(value, shape))[()]


def evaluator(
    op: Op, attrs: tuple[Any, ...], operands: Sequence[DType], result: DType
) -> Evaluator:
    """Return the evaluator of an elementwise op on these dtypes."""
    places = [argument(f"x{index}", dtype) for index, dtype in enumerate(operands)]
    if op.compiled is not None or not COMPLEX.isdisjoint((*operands, result)):
        return Evaluator(None, places)
    return Evaluator(element(op, attrs, places, result), places)


def _value(root: Expr, known: dict[Expr, Array]) -> Array:
    """Return the value of an expression, without what hardly any element needs where none does."""
    stack = [root]
    while stack:
        expr = stack[-1]
        unknown = () if expr in known else _unknown(expr, known)
        if unknown:
            stack += unknown
            continue
        stack.pop()
        if expr not in known:
            known[expr] = _single(expr, known)
    return known[root]


def _unknown(expr: Expr, known: dict[Expr, Array]) -> list[Expr]:
    """Return which operands of an expression have no value yet, of those that it needs."""
    operands = expr.operands
    if isinstance(expr, Apply) and expr.op == _SELDOM:
        condition, costly, cheap = operands
        operands = (condition,)
        if condition in known:
            operands = (costly, cheap) if np.count_nonzero(known[condition]) else (cheap,)
    return [operand for operand in operands if operand not in known]


def _single(expression: Expr, known: dict[Expr, Array]) -> Array:
    """Return the value of an expression whose operands have theirs."""
    if isinstance(expression, Literal):
        if expression.dtype in _HELD:
            return expression.dtype.type(expression.value)
        return np.array(expression.value).astype(expression.dtype)[()]
    if not isinstance(expression, Apply):
        raise NotEvaluatedError
    if expression.op == _SELDOM and expression.arguments[1] not in known:
        return known[expression.arguments[2]]
    arguments = [known[operand] for operand in expression.arguments]
    if expression.op in _CONVERSIONS:
        return np.asarray(arguments[0]).astype(expression.dtype)[()]
    if expression.op == "bitcast":
        return np.asarray(arguments[0]).view(expression.dtype)[()]
    return (_OWN.get(expression.op) or FUNCTIONS[expression.op])(*arguments)


def _fused(a: Array, b: Array, c: Array) -> Array:
    if not is_in_range(a, b):
        raise NotEvaluatedError
    return multiply_add(a, b, c)


def _larger(x: Array, y: Array) -> Array:
    """Return the larger, of two zeros the positive one, of which NumPy says one or the other."""
    result = np.maximum(x, y)
    if np.count_nonzero(result) == result.size:
        return result
    return np.where((x == 0) & (y == 0), x + y, result)[()]


def _smaller(x: Array, y: Array) -> Array:
    result = np.minimum(x, y)
    if np.count_nonzero(result) == result.size:
        return result
    return np.where((x == 0) & (y == 0), -((-x) + (-y)), result)[()]


_CONVERSIONS = ("cast", "to_index", "from_index")
_OWN: dict[str, Callable[..., Array]] = {"fma": _fused, "maximum": _larger, "minimum": _smaller}
