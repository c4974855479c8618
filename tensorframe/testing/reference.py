"""The reference: NumPy under our names, which says eagerly and op by op what a program's results are."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.dtypes import ADDED, NARROW, wide_of
from tensorframe.graph.op import Kind, Op, find, rows
from tensorframe.ops.term import Term

Array = Any

__all__ = ["Reference", "reference"]


class Reference:
    """A namespace that answers as `tensorframe` does, with arrays for tensors.

    NumPy's function where it has one of the row's name or spelling; else the row's meaning in terms of other rows.
    The few that differ are methods: half precision accumulates in float32, dtypes stay what they are.

    >>> from tensorframe.testing.reference import reference
    >>> reference.permute_dims(np.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """

    def __getattr__(self, name: str) -> Any:
        return dtypes.BY_NAME[name] if name in dtypes.BY_NAME else _function(name)

    def compute(self, *arrays: Array) -> tuple[Array, ...]:
        """Nothing: arrays are computed."""
        return arrays

    def asarray(self, x: Any, *, copy: bool | None = None, **_device: Any) -> Array:
        """The array; all devices are the host."""
        return np.asarray(x, copy=copy)

    def astype(self, x: Array, dtype: Any) -> Array:
        """The elements converted."""
        return np.asarray(x).astype(dtype)

    def erf(self, x: Array) -> Array:
        """The error function, by the C library."""
        return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype)

    def erfc(self, x: Array) -> Array:
        """The complementary error function, by the C library."""
        return np.vectorize(math.erfc, otypes=[np.float64])(x).astype(x.dtype)

    def sum(self, x: Array, **options: Any) -> Array:
        """Sums."""
        return _wide(np.sum, x, **options)

    def prod(self, x: Array, **options: Any) -> Array:
        """Products."""
        return _wide(np.prod, x, **options)

    def mean(self, x: Array, **options: Any) -> Array:
        """Means."""
        return _wide(np.mean, x, **options)

    def cumulative_sum(self, x: Array, **options: Any) -> Array:
        """Sums up to each position."""
        return _wide(np.cumulative_sum, x, **options)

    def cumulative_prod(self, x: Array, **options: Any) -> Array:
        """Products up to each position."""
        return _wide(np.cumulative_prod, x, **options)

    def matmul(self, x: Array, y: Array) -> Array:
        """Matrix products."""
        if x.dtype in NARROW:
            wide = wide_of(x.dtype)
            return np.matmul(x.astype(wide), y.astype(wide)).astype(x.dtype)
        return np.matmul(x, y)


def _wide(function: Any, x: Array, **options: Any) -> Array:
    if x.dtype in NARROW:
        return np.asarray(function(x.astype(wide_of(x.dtype)), **options)).astype(x.dtype)
    return function(x, **options)


@cache
def _function(name: str) -> Any:
    row = next((op for op in rows() if op.name == name), None)
    spelling = row.numpy or name if row else name
    if hasattr(np, spelling):
        function = getattr(np, spelling)
        return _weak(function) if row is not None and row.kind is Kind.MAP else function
    if row is None or row.kind is not Kind.MAP or row.expand is None:
        raise AttributeError(f"the reference has no function {name!r}")
    return _expanded(row)


def _weak(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with results in a dtype that is added to NumPy where operands are, not in numbers'."""

    def call(*operands: Any) -> Any:
        added = [operand.dtype for operand in operands if getattr(operand, "dtype", None) in ADDED]
        if not added:
            return function(*operands)
        dtype, wide = added[0], wide_of(added[0])
        if isinstance(function, np.ufunc):
            convert = dtype.type
            return function(
                *(
                    convert(operand) if type(operand) in (int, float) else operand
                    for operand in operands
                )
            )
        # Python code around numbers of its own
        result = np.asarray(function(*(np.asarray(operand).astype(wide) for operand in operands)))
        return result.astype(dtype) if result.dtype == wide else result

    return call


def _expanded(op: Op) -> Callable[..., Array]:
    """Return the row's meaning, run on arrays; numbers in it take the dtype of the operands."""

    def run(*operands: Array) -> Array:
        like = np.asarray(operands[0]).dtype

        def apply(inner: Op, *values: Any) -> Any:
            arrays = [
                like.type(value) if type(value) in (int, float) else value for value in values
            ]
            return getattr(reference, inner.name)(*arrays)

        if op.expand is None:
            raise ValueError(f"{op.name} is a core row")
        return op.expand(*(Term(operand, apply) for operand in operands)).node

    return run


reference = Reference()


def can_call(name: str) -> bool:
    """Whether the reference has the function of the row `name`."""
    try:
        getattr(reference, find(name).name)
    except AttributeError:
        return False
    return True
