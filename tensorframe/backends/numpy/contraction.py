"""Contractions through BLAS wherever it applies; half precision accumulates in float32."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.numpy.blas import product_of_stacks
from tensorframe.backends.numpy.functions import Function, spells
from tensorframe.dtypes import HALF, DType
from tensorframe.ops.contraction import split

Array = Any


def widened(function: Function) -> Function:
    """Return `function` with half-precision arrays computed in float32 and each result rounded once."""

    def run(*arguments: Any) -> Any:
        dtype = arguments[0].dtype
        if dtype not in HALF:
            return function(*arguments)
        wide = [one.astype(np.float32) if hasattr(one, "astype") else one for one in arguments]
        result = function(*wide)
        if isinstance(result, tuple):
            return tuple(_narrowed(one, dtype) for one in result)
        return _narrowed(result, dtype)

    return run


def _narrowed(result: Array, dtype: DType) -> Array:
    """Return float32 as half precision; complex results and counts stay."""
    return result.astype(dtype) if result.dtype == np.float32 else result


@spells("matmul")
@widened
def matmul(x: Array, y: Array) -> Array:
    """Multiply; integers go through floating-point BLAS where every sum is exact there."""
    if x.dtype.kind in "fc" or x.size * y.shape[-1] < _WORTH_A_DETOUR:
        return _product(x, y)
    if x.dtype.kind == "b":
        # sums of zeros and ones are zero exactly if no product is one
        return np.matmul(x.astype(np.float32), y.astype(np.float32)) != 0
    largest_sum = _largest(x) * _largest(y) * x.shape[-1]
    if largest_sum > 2**53:
        return np.matmul(x, y)
    exact = np.float32 if largest_sum <= 2**24 else np.float64
    product = np.matmul(x.astype(exact), y.astype(exact))
    # through int64, since casting a float beyond the range of a small integer does not wrap
    return product.astype(np.int64).astype(x.dtype)


def _product(x: Array, y: Array) -> Array:
    """Multiply; many matrices by one matrix are one tall matrix by it: one call of BLAS with more to share out."""
    if x.ndim > 2 and y.ndim == 2 and x.flags.c_contiguous:
        rows = prod(x.shape[:-1])  # not -1, which nothing can stand for in an empty array
        return np.matmul(x.reshape(rows, x.shape[-1]), y).reshape(*x.shape[:-1], y.shape[1])
    if x.ndim > 2 and y.ndim > 2:
        return product_of_stacks(x, y)
    return np.matmul(x, y)


# multiplications; below, NumPy's integer loops (0.5 ns each) take less time than four casts
_WORTH_A_DETOUR = 32**3


def _largest(x: Array) -> int:
    """Return the largest magnitude."""
    return max(-int(x.min()), int(x.max())) if x.size else 0


@spells("einsum")
@widened
def einsum(*arguments: Any) -> Array:
    """Contract operands pairwise, in the order that NumPy's planner finds cheapest."""
    *arrays, subscripts = arguments
    operands, output = split(subscripts)
    if len(arrays) <= 2:
        return _contract(arrays, operands, output)
    path, _ = np.einsum_path(subscripts, *arrays, optimize="greedy")
    for step in path[1:]:
        positions = sorted(step, reverse=True)
        chosen = [arrays.pop(position) for position in positions]
        indices = [operands.pop(position) for position in positions]
        kept = set(output).union(*operands)
        result = "".join(dict.fromkeys(one for one in "".join(indices) if one in kept))
        arrays.append(_contract(chosen, indices, result if operands else output))
        operands.append(result)
    return arrays[0]


def _contract(arrays: list[Array], operands: list[str], output: str) -> Array:
    if len(arrays) == 2 and _suits_blas(operands, output):
        return _as_matmul(arrays, operands, output)
    return np.einsum(",".join(operands) + "->" + output, *arrays)


def _suits_blas(operands: list[str], output: str) -> bool:
    """Whether the product has rows, columns and a shared index, each once per operand: a matrix product."""
    left, right = map(set, operands)
    kept = set(output)
    return (
        len(left) == len(operands[0])
        and len(right) == len(operands[1])
        and bool((left & right) - kept)
        and bool(left - right)
        and bool(right - left)
        and kept >= left ^ right
    )


def _as_matmul(arrays: list[Array], operands: list[str], output: str) -> Array:
    """Contract two operands as one batched matrix product: (batch, rows, inner) with (batch, inner, columns)."""
    left, right = operands
    sizes = {
        index: size
        for array, indices in zip(arrays, operands, strict=True)
        for index, size in zip(indices, array.shape, strict=True)
    }
    batch = [index for index in left if index in right and index in output]
    inner = [index for index in left if index in right and index not in output]
    rows = [index for index in left if index not in right]
    columns = [index for index in right if index not in left]
    product = matmul(
        _grouped(arrays[0], left, (batch, rows, inner), sizes),
        _grouped(arrays[1], right, (batch, inner, columns), sizes),
    )
    order = batch + rows + columns
    shaped = product.reshape([sizes[index] for index in order])
    return shaped.transpose([order.index(index) for index in output])


def _grouped(
    array: Array, indices: str, groups: tuple[list[str], ...], sizes: dict[str, int]
) -> Array:
    """Return the array with each group of axes made one axis."""
    order = [indices.index(index) for group in groups for index in group]
    shape = [int(np.prod([sizes[index] for index in group])) for group in groups]
    return array.transpose(order).reshape(shape)
