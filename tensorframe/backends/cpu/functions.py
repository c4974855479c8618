"""Functions of small arrays on the cpu: NumPy's where they give the bits of kernels, else one-op kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from types import ModuleType
from typing import Any

import numpy as np

from tensorframe.backends.cpu.choice import SLOW, GradualFunction
from tensorframe.backends.interruptible import at_the_end
from tensorframe.backends.llvm.engine import is_loaded, missing, unusable
from tensorframe.backends.numpy.functions import Function, Functions, implementation, is_formula
from tensorframe.dtypes import COMPLEX, DType
from tensorframe.graph.op import Kind, Op
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.convolution import CONVOLUTION
from tensorframe.ops.exactness import is_exact
from tensorframe.ops.quantization import WHOLE_PRODUCTS
from tensorframe.ops.reduction import SUM
from tensorframe.ops.sparse import SPARSE

Array = Any

# How often the formula of an op is evaluated on a dtype before LLVM is loaded for its kernel; where that is loaded, how
# many operations of the formula are: to make a kernel takes as long as these, and the first one of a process ten times.
_EVALUATIONS, _OPERATIONS = 16, 400


class NeedsPlanError(Exception):
    """A small graph has an op that only kernels compute with the bits that they give."""


class CpuFunctions(Functions):
    """Functions with the bits of compiled kernels, on some dtypes: to look at an operand's takes a tenth of a call."""

    def __init__(self, dtypes: frozenset[DType], for_complex: Functions | None = None) -> None:
        self._dtypes = dtypes
        self.for_complex = self if for_complex is None else for_complex
        # what is looked up by dtypes: by op, then by the key of its look-up
        self._known: dict[Op, _Known] = {}
        # of exact ops that NumPy is slow at, by op and dtypes
        self._gradual: dict[tuple[Op, tuple[DType, ...]], GradualFunction] = {}

    def function_for(self, op: Op) -> Function:
        """Return what runs an op."""
        if op.kind is Kind.REDUCE:
            return _reduction(op)
        if op is CONVOLUTION and missing() is None:
            return _convolution()
        if op is MATMUL and missing() is None:
            return _product()
        if op in WHOLE_PRODUCTS:
            return _whole(op)
        if is_formula(op):
            return super().function_for(op)
        if op.kind is not Kind.MAP:
            return implementation[op]
        if op.compiled is None:
            taken = op.accepts & self._dtypes
            exact = [is_exact(op, (dtype,) * (op.arity or 1), dtype) for dtype in taken]
            if all(exact) and not op.attributes:
                return implementation[op]
        known = self._known[op] = _Known(op)
        return known.function()

    def settled(
        self, op: Op, operands: tuple[DType, ...], attrs: tuple[Any, ...]
    ) -> Function | None:
        """Return what runs an op on these dtypes: its kernel, where there is one, once that is compiled."""
        if op.raw is not None:
            return None
        function = super().settled(op, operands, attrs)
        known = self._known.get(op)
        if known is None:
            return function
        key = known.key(operands, attrs)
        return known.settled.get(key) or known.exact(key, operands, attrs)

    def of_two(self, op: Op) -> Mapping[DType, Function]:
        """Return what runs an op of two operands that its function would look up by their dtype, once that stays."""
        known = self._known.get(op)
        return super().of_two(op) if known is None or op.attributes else known.settled

    def in_one_pass(
        self, op: Op, operands: tuple[DType, ...], attrs: tuple[Any, ...]
    ) -> Function | None:
        """Return what runs an elementwise op on any number of elements: NumPy's ufunc or ours, one after the other."""
        if op.name not in SLOW or missing() is not None:
            return super().in_one_pass(op, operands, attrs)
        function = self._gradual.get((op, operands))
        result = op.result(operands[op.conditions])
        if function is None and op.expand is None and is_exact(op, operands, result):
            compiled = partial(_compiled, op, operands, result)
            function = GradualFunction(op, implementation[op], compiled)
            function = self._gradual.setdefault((op, operands), function)
        return function

    def is_sooner_compiled(self, op: Op, operands: tuple[DType, ...]) -> bool:
        """Whether an op is several calls of NumPy's, or a slow one, and kernels compute it."""
        if op.kind is not Kind.MAP or op.attributes or missing() is not None:
            return False
        several = op.expand is not None and not op.whole
        return (several or op.name in SLOW) and self._dtypes.issuperset(operands)

    def is_compiler_loaded(self) -> bool:
        """Whether LLVM is loaded."""
        return is_loaded()

    def compiled(self, op: Op, operands: tuple[DType, ...]) -> Function | None:
        """Return the kernel of such an op as a ufunc; None where LLVM does not load."""
        if unusable() is not None:
            return None
        return _compiled(op, operands, op.result(operands[op.conditions]))

    def needs_plan(self, op: Op, dtype: DType) -> bool:
        """Whether only kernels give the bits that an op has: sums of sparse products are in the order of elements."""
        if op in SPARSE:
            return missing() is None
        return op.raw is not None or (
            dtype in COMPLEX
            and op.kind is Kind.REDUCE
            and op is not SUM
            and not is_exact(op, (dtype,), dtype)
        )


# Modules that the first result seldom needs: each is imported when the function of its op is asked for.


def _convolution() -> Function:
    from tensorframe.backends.llvm.compiled_calls import compiled_convolution
    from tensorframe.backends.numpy.convolution.convolution import convolve

    def run(x: Array, weight: Array, *attrs: Any) -> Array:
        return convolve(x, weight, attrs, compiled_convolution)

    return run


def _product() -> Function:
    from tensorframe.backends.llvm.compiled_calls import small_kernels

    product_of = _contraction().product_of

    def run(x: Array, y: Array, dtype: DType | None = None) -> Array:
        return product_of(x, y, dtype, small_kernels)

    return run


@cache
def _contraction() -> ModuleType:
    from tensorframe.backends.numpy.products import contraction

    return contraction


@cache
def _lanes() -> ModuleType:
    from tensorframe.backends.numpy import lanes

    return lanes


# what is deleted last may still multiply and sum, when nothing can be imported any more, not even what is loaded
at_the_end += [_contraction, _lanes]


def _reduction(op: Op) -> Function:
    """Return a reduction that combines floats in the order of kernels."""
    plain = implementation[op]
    how = op.combination
    if how is None:
        return plain
    join: Any = implementation[how.join]
    exact = frozenset([dtype for dtype in op.accepts if is_exact(op, (dtype,), dtype)])
    if how.take is not None or how.finish is not None or not how.wide:
        return _extreme(join, plain, exact)
    lanes = _lanes()
    return _in_lanes(op, lanes.lane_sum if join is np.add else lanes.lane_prod, plain, exact)


def _in_lanes(op: Op, joined: Any, plain: Function, exact: frozenset[DType]) -> Function:
    """Return a sum or a product, which are exact on some dtypes, and then NumPy's plain one."""

    def run(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        if x.dtype in exact:
            return plain(x, axes, keepdims)
        if op is not SUM and x.dtype in COMPLEX:
            raise NeedsPlanError(op.name)
        total = joined(x, axes)
        if not keepdims:
            return total
        if total.ndim == 0:
            return np.array(total, ndmin=x.ndim)
        return np.expand_dims(total, axes)

    return run


def _extreme(join: Any, plain: Function, exact: frozenset[DType]) -> Function:
    """Return extremes, of which NumPy says one or the other where zeros of both signs are extreme."""

    def run(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        extreme = plain(x, axes, keepdims)
        # one element is asked itself, which takes a tenth of the time
        if x.dtype in exact or (extreme if extreme.size == 1 else extreme.all()):
            return extreme
        chosen = np.signbit(x) if join is np.minimum else ~np.signbit(x)
        any_chosen = np.any((x == 0) & chosen, axis=axes, keepdims=keepdims)
        zero = np.where(any_chosen == (join is np.minimum), x.dtype.type(-0.0), x.dtype.type(0.0))
        return np.where(extreme == 0, zero, extreme).astype(x.dtype)

    return run


class _Known:
    """What runs an op, by the dtypes of its operands; `settled` are functions that stay."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.settled: dict[Any, Function] = {}
        self._current: dict[Any, Function] = {}
        self._several = bool(op.attributes) or op.user_defined or (op.arity or 0) > 2

    def key(self, operands: Sequence[DType], attrs: tuple[Any, ...]) -> Any:
        """Return how operands of these dtypes are looked up; two without attributes have the same one."""
        return (*operands, *attrs) if self._several else operands[0]

    def function(self) -> Function:
        """Return a function that looks up what runs the op on its operands."""
        current, first = self._current, self._first
        arity = self.op.arity or 0

        def unary(x: Array) -> Array:
            return (current.get(x.dtype) or first(x.dtype, (x,), ()))(x)

        def binary(x: Array, y: Array) -> Array:
            return (current.get(x.dtype) or first(x.dtype, (x, y), ()))(x, y)

        def several(*values: Any) -> Array:
            arrays, attrs = values[:arity], values[arity:]
            key = (*[array.dtype for array in arrays], *attrs)
            return (current.get(key) or first(key, arrays, attrs))(*values)

        def with_attribute(x: Array, attribute: Any) -> Array:
            key = (x.dtype, attribute)
            return (current.get(key) or first(key, (x,), (attribute,)))(x, attribute)

        if self._several:
            return with_attribute if arity == len(self.op.attributes) == 1 else several
        return binary if arity == 2 else unary

    def _first(self, key: Any, arrays: tuple[Array, ...], attrs: tuple[Any, ...]) -> Function:
        operands = tuple([array.dtype for array in arrays])
        function = self.exact(key, operands, attrs)
        if function is None:
            function = _beginning(self, key, attrs, operands, self._result(operands, attrs))
            self._current[key] = function
        return function

    def _result(self, operands: Sequence[DType], attrs: tuple[Any, ...]) -> DType:
        return self.op.result(operands[self.op.conditions] if operands else None, *attrs)

    def exact(self, key: Any, operands: Sequence[DType], attrs: tuple[Any, ...]) -> Function | None:
        """Settle on NumPy's function where its results are those of kernels, and return it."""
        op, result = self.op, self._result(operands, attrs)
        if missing() is None and not is_exact(op, operands, result):
            return None
        return self.settle(key, implementation[op])

    def settle(self, key: Any, function: Function) -> Function:
        """Have a function run the op from now on, and return it."""
        self._current[key] = self.settled[key] = function
        return function


def _compiled(op: Op, operands: Sequence[DType], result: DType) -> Function:
    """Return the kernel of an op without attributes as a function, NumPy's where LLVM does not load."""
    if unusable() is not None:
        return implementation[op]
    from tensorframe.backends.llvm.ufunc import ufunc  # imports LLVM

    function: Function = ufunc(op, (), operands, result)
    return function


def _beginning(
    known: _Known,
    key: Any,
    attrs: tuple[Any, ...],
    operands: Sequence[DType],
    result: DType,
) -> Function:
    """Return a function that evaluates the formula of an op some times, and then has the op's kernel take its place."""
    from tensorframe.backends.cpu.evaluation import NotEvaluatedError, evaluator  # imports formulas

    op, times = known.op, 0
    arity = len(operands)
    evaluated = evaluator(op, attrs, operands, result)
    enough = min(_EVALUATIONS, _OPERATIONS // max(evaluated.operations, 1))

    def run(*values: Array) -> Array:
        nonlocal times
        times += 1
        # where LLVM does not load nothing ever takes its place, so that results stay the same
        if times <= (enough if is_loaded() else _EVALUATIONS) or unusable() is not None:
            try:
                return evaluated(*values[:arity])
            except NotEvaluatedError:
                if unusable() is not None:
                    return implementation[op](*values)
        from tensorframe.backends.llvm.ufunc import ufunc  # imports LLVM

        made = ufunc(op, attrs, operands, result)
        known.settle(key, (lambda *values: made(*values[:arity])) if attrs else made)
        return made(*values[:arity])

    return run


def _whole(op: Op) -> Function:
    """Return what computes a product that the engine takes whole."""
    from tensorframe.backends.llvm import compiled_calls as calls  # few programs have any
    from tensorframe.backends.numpy.products.whole import Ways

    return Ways(calls.quantized_kernels, calls.small_kernels, calls.compiled_product).function(op)
