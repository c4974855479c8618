"""Contractions through BLAS wherever it applies; half precision accumulates in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import Function, implementation, no_kernels, spells
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.products.product import Multiply, Product, multiplied_at_once
from tensorframe.backends.numpy.products.small_product import (
    Find,
    mixed,
    reads_small,
    small_matmul,
)
from tensorframe.dtypes import COMPLEX, NARROW, DType, float32, float64, wide_of
from tensorframe.ops.einsum import Layout, recipe

Array = Any

# dtypes whose products are those of BLAS, or NumPy's, as they are
_OF_BLAS = frozenset({float32, float64}) | COMPLEX


def widened(function: Function) -> Function:
    """Return `function` with half-precision arrays computed in float32 and each result rounded once."""

    def run(*arguments: Any) -> Any:
        dtype = arguments[0].dtype
        if dtype not in NARROW:
            return function(*arguments)
        wide = [
            argument.astype(wide_of(dtype)) if hasattr(argument, "astype") else argument
            for argument in arguments
        ]
        result = function(*wide)
        if isinstance(result, tuple):
            return tuple(_narrowed(part, dtype) for part in result)
        return _narrowed(result, dtype)

    return run


def _narrowed(result: Array, dtype: DType) -> Array:
    """Return a result of what half precision is computed in as half precision; complex ones and counts stay."""
    return result.astype(dtype) if result.dtype == wide_of(dtype) else result


def product_of(x: Array, y: Array, dtype: DType | None = None, find: Find = no_kernels) -> Array:
    """Multiply; small elements are read as they are, by kernels if any are found. `dtype` is that of the result."""
    if dtype is None and x.dtype in _OF_BLAS and y.dtype is x.dtype:
        # a matrix of a few elements takes less time than to check all that follows
        return multiplied_at_once(x, y) if _takes_one_thread(x, y) else multiplied(x, y)
    result = x.dtype if dtype is None else dtype
    if reads_small(x.dtype, y.dtype, result):
        return small_matmul(x, y, result, find)
    if dtype is not None:
        x, y = mixed(x, y, dtype)
    return _same_dtypes(x, y)


@spells("matmul")
def matmul(x: Array, y: Array, dtype: DType | None = None) -> Array:
    """Multiply, by BLAS where it applies."""
    return product_of(x, y, dtype)


@widened
def _same_dtypes(x: Array, y: Array) -> Array:
    """Multiply; integers go through floating-point BLAS where every sum is exact there."""
    if x.dtype.kind in "fc":
        return multiplied_at_once(x, y) if _takes_one_thread(x, y) else multiplied(x, y)
    if _multiplications(x, y) < _WORTH_A_DETOUR:
        return np.matmul(x, y)
    if x.dtype.kind == "b":
        # sums of zeros and ones are zero exactly if no product is one
        return multiplied(x.astype(np.float32), y.astype(np.float32)) != 0
    largest_sum = _largest(x) * _largest(y) * x.shape[-1]
    if largest_sum > 2**53:
        return multiplied(x, y)
    exact = np.float32 if largest_sum <= 2**24 else np.float64
    # through int64, since casting a float beyond the range of a small integer does not wrap
    whole = multiplied(x.astype(exact), y.astype(exact)).astype(np.int64)
    return whole.astype(x.dtype, copy=False)


def _multiplications(x: Array, y: Array) -> int:
    """Return how many multiplications a product takes, if one operand is not much smaller than the other."""
    columns: int = y.shape[-1] if y.ndim > 1 else 1
    return int(x.size) * columns


def _takes_one_thread(x: Array, y: Array) -> bool:
    """Whether BLAS takes one thread for a product, whatever is said of threads."""
    return _multiplications(x, y) <= blas.ONE_THREAD_ANYWAY


# multiplications; below, NumPy's integer loops (0.5 ns each) take less time than four casts
_WORTH_A_DETOUR = 32**3


def _largest(x: Array) -> int:
    """Return the largest magnitude."""
    return max(-int(x.min()), int(x.max())) if x.size else 0


def multiplied(x: Array, y: Array, multiply: Multiply = Product) -> Array:
    """Multiply stacks of matrices, or vectors, in the dtype that they have; `multiply` makes those of matrices."""
    result = multiply(*as_matrices(x, y)).array()
    dropped = dropped_axes(x, y)
    return result.squeeze(dropped) if dropped else result


def as_matrices(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the operands with vectors as matrices: a row on the left, a column on the right."""
    return (x[None] if x.ndim == 1 else x), (y[:, None] if y.ndim == 1 else y)


def dropped_axes(x: Array, y: Array) -> tuple[int, ...]:
    """Return which axes of the product of matrices the product of the operands lacks."""
    return tuple([axis for axis, operand in ((-2, x), (-1, y)) if operand.ndim == 1])


@spells("einsum")
def einsum(*arguments: Any) -> Array:
    """Contract operands pairwise, in the order that takes the fewest multiplications."""
    *arrays, subscripts = arguments
    shapes = tuple([array.shape for array in arrays])
    layouts = tuple([_layout(array) for array in arrays])
    values: list[Any] = list(arrays)
    for instruction in recipe(subscripts, shapes, layouts, arrays[0].dtype):
        values.append(
            implementation[instruction.op](
                *[values[source] for source in instruction.inputs], *instruction.attrs
            )
        )
    return values[-1]


def _layout(array: Array) -> Layout:
    """Return the axes in the order of memory, that of the largest stride first."""
    return tuple(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))
