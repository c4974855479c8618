"""Which NumPy function runs an op: the row's own name, unless a module of this folder says so (`spellings.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tensorframe.backends.numpy.spellings import is_spelt, load
from tensorframe.dtypes import FLOATING, DType, bool_
from tensorframe.graph.op import Kind, Op
from tensorframe.ops.term import Term

Function = Callable[..., Any]

ARRAYS = (np.ndarray, np.generic)


def no_kernels() -> None:
    """Find kernels where there are none."""


# op name -> function(*arrays, *attrs), filled by the sibling modules
FUNCTIONS: dict[str, Function] = {}

# kind of op -> what makes the function of a row of this kind, which says all about it
MADE: dict[Kind, Callable[[Op], Function]] = {}

# functions besides NumPy's ufuncs that write into out=
WRITING: set[Function] = set()


def spells(name: str, *, writes: bool = False) -> Callable[[Function], Function]:
    """Register the decorated function as the NumPy engine's spelling of the op `name`.

    `writes` says that it takes `out=` as ufuncs do.
    """

    def register(function: Function) -> Function:
        FUNCTIONS[name] = function
        if writes:
            WRITING.add(function)
        return function

    return register


def is_formula(op: Op) -> bool:
    """Whether an op is several others where it is small: its row says what it means, and nothing here spells it."""
    return op.expand is not None and not op.whole and not is_spelt(op)


_NOTHING: Mapping[Any, Function] = MappingProxyType({})


class Functions(dict[Op, Function]):
    """Functions of arrays by op, looked up once each; all of them NumPy's.

    `for_complex` are those of graphs with complex numbers in them, which may be others.
    """

    for_complex: Functions

    def __missing__(self, op: Op) -> Function:
        function = self[op] = self.function_for(op)
        return function

    def function_for(self, op: Op) -> Function:
        """Return what runs an op."""
        if op.compiled is not None:
            function: Function = op.compiled.arrays
            return function
        if is_formula(op):
            assert op.expand is not None
            return formula(op.expand, op.arity, self)
        load(op)
        if op.name not in FUNCTIONS and op.kind in MADE:
            return MADE[op.kind](op)
        return FUNCTIONS.get(op.name) or getattr(np, op.numpy or op.name)

    def settled(
        self, op: Op, operands: tuple[DType, ...], attrs: tuple[Any, ...]
    ) -> Function | None:
        """Return what runs an op on operands of these dtypes from now on; None if that may still change."""
        if op.name == "round" and FLOATING.issuperset(operands):
            return np.rint  # which is all that `np.round` does to floats, after some calls
        return None if op.raw is not None else self[op]

    def of_two(self, op: Op) -> Mapping[DType, Function]:
        """Return what runs an op of two operands, by their dtype, where its function would look that up."""
        return _NOTHING

    def in_one_pass(
        self, op: Op, operands: tuple[DType, ...], attrs: tuple[Any, ...]
    ) -> Function | None:
        """Return what runs an elementwise op in one pass over any number of elements, if there is such a function."""
        function = self.settled(op, operands, attrs)
        return function if type(function) is np.ufunc else None

    def is_sooner_compiled(self, op: Op, operands: tuple[DType, ...]) -> bool:
        """Whether an elementwise op on operands of these dtypes that runs very often is to have a kernel."""
        return False

    def is_compiler_loaded(self) -> bool:
        """Whether what compiles such kernels is loaded, so that they take a tenth of the time."""
        return False

    def compiled(self, op: Op, operands: tuple[DType, ...]) -> Function | None:
        """Return the kernel of such an op as a ufunc; None where LLVM does not load."""
        return None

    def needs_plan(self, op: Op, dtype: DType) -> bool:
        """Whether there is no function for a costly op on operands of a dtype, which takes a plan."""
        return op.raw is not None


implementation = Functions()
implementation.for_complex = implementation


def formula(
    written: Function, arity: int | None, functions: Functions = implementation
) -> Function:
    """Return a formula over other rows, of so many operands and then attributes, as a function of arrays."""

    def apply(inner: Op, *operands: Any, attrs: tuple[Any, ...] = ()) -> Any:
        arrays = [
            operand if isinstance(operand, ARRAYS) else _like(operands)(operand)
            for operand in operands
        ]
        return functions[inner](*arrays, *attrs)

    def run(*values: Any) -> Any:
        arrays, attrs = values[:arity], values[arity:]
        return written(*[Term(array, apply) for array in arrays], *attrs).node

    return run


def _like(operands: Sequence[Any]) -> type[np.generic]:
    """Return the type that a number takes beside these operands: that of the first which is no truth value."""
    dtype = next(
        operand.dtype
        for operand in operands
        if isinstance(operand, ARRAYS) and operand.dtype != bool_
    )
    return dtype.type
