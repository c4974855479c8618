"""Functions of small arrays on the cpu: NumPy's where they give the bits of kernels, else one-op kernels."""

from __future__ import annotations

from typing import Any

from tensorframe.backends.llvm.engine import missing, unusable
from tensorframe.backends.numpy.functions import Function, Functions, implementation
from tensorframe.dtypes import DType
from tensorframe.graph.op import Kind, Op
from tensorframe.ops.exactness import is_exact

Array = Any

# How often the formula of an op is evaluated on a dtype before its kernel is compiled, which takes as long as 20 times,
# and the first one of a process as 200.
_EVALUATIONS = 16

_SUMMARISING = frozenset({Kind.REDUCE, Kind.SCAN, Kind.FORMULA})


class NeedsPlanError(Exception):
    """A small graph has an op that only kernels compute with the bits that they give."""


class CpuFunctions(Functions):
    """Functions with the bits of compiled kernels, on some dtypes: to look at an operand's takes a tenth of a call."""

    def __init__(self, dtypes: frozenset[DType], for_complex: Functions | None = None) -> None:
        self._dtypes = dtypes
        self.for_complex = self if for_complex is None else for_complex

    def found(self, op: Op) -> Function:
        """Return what runs an op."""
        if op.kind in _SUMMARISING:
            return self._checked(op)
        if op.kind is not Kind.MAP:
            return implementation[op]
        if op.compiled is None:
            if op.expand is not None:
                return super().found(op)
            taken = op.accepts & self._dtypes
            exact = [is_exact(op, (dtype,) * (op.arity or 1), dtype) for dtype in taken]
            if all(exact) and not op.attributes:
                return implementation[op]
        return _by_dtype(op)

    def needs_plan(self, op: Op, dtype: DType) -> bool:
        """Whether an op combines elements in an order that NumPy does not have."""
        return op.kind in _SUMMARISING and not is_exact(op, (dtype,), dtype)

    def _checked(self, op: Op) -> Function:
        function = super().found(op)

        def run(x: Array, *attrs: Any) -> Array:
            if not is_exact(op, (x.dtype,), x.dtype):
                raise NeedsPlanError(op.name)
            return function(x, *attrs)

        return run


def _by_dtype(op: Op) -> Function:
    """Return a function that looks up what runs the op on operands of their dtypes."""
    known: dict[Any, Function] = {}
    arity = op.arity or 0

    def first(key: Any, arrays: tuple[Array, ...], attrs: tuple[Any, ...]) -> Function:
        operands = [one.dtype for one in arrays]
        result = op.result(operands[op.conditions] if operands else None, *attrs)
        if is_exact(op, operands, result) or missing() is not None:
            known[key] = implementation[op]
        else:
            known[key] = _beginning(known, key, op, attrs, operands, result)
        return known[key]

    def one(x: Array) -> Array:
        return (known.get(x.dtype) or first(x.dtype, (x,), ()))(x)

    def two(x: Array, y: Array) -> Array:
        return (known.get(x.dtype) or first(x.dtype, (x, y), ()))(x, y)

    def several(*values: Any) -> Array:
        arrays, attrs = values[:arity], values[arity:]
        key = (*[array.dtype for array in arrays], *attrs)
        return (known.get(key) or first(key, arrays, attrs))(*values)

    if op.attributes or op.user_defined or arity > 2:
        return several
    return two if arity == 2 else one


def _beginning(
    known: dict[Any, Function],
    key: Any,
    op: Op,
    attrs: tuple[Any, ...],
    operands: list[DType],
    result: DType,
) -> Function:
    """Return a function that evaluates the formula of an op some times, and then has the op's kernel take its place."""
    from tensorframe.backends.cpu.evaluation import NotEvaluatedError, evaluated  # imports formulas

    left = _EVALUATIONS
    arity = len(operands)

    def run(*values: Array) -> Array:
        nonlocal left
        left -= 1
        # where LLVM does not load nothing ever takes its place, so that results stay the same
        if left >= 0 or unusable() is not None:
            try:
                return evaluated(op, attrs, values[:arity], result)
            except NotEvaluatedError:
                if unusable() is not None:
                    return implementation[op](*values)
        from tensorframe.backends.llvm.ufunc import ufunc  # imports LLVM

        made = ufunc(op, attrs, operands, result)
        known[key] = (lambda *values: made(*values[:arity])) if attrs else made
        return made(*values[:arity])

    return run
