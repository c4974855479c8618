"""Products of the same features with several matrices, each written to its part of the result's columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.bound import Bound
from tensorframe.backends.numpy.functions import no_kernels, spells
from tensorframe.backends.numpy.products.product import IN_BLAS, Multiply, Product, bound_calls
from tensorframe.backends.numpy.products.quantized_product import Find as FindQuantized
from tensorframe.backends.numpy.products.quantized_product import (
    Matrix,
    are_few,
    few_times,
    rows_times,
)
from tensorframe.backends.numpy.products.small_product import Find, small_matmul

Array = Any


def joined_matmul(
    x: Array, *matrices: Array, multiply: Multiply = Product, small: Find = no_kernels
) -> Array:
    """Return rows times transposed matrices, side by side."""
    rows = x.reshape((prod(x.shape[:-1]), x.shape[-1]))
    heights = [len(matrix) for matrix in matrices]
    result = host_pool.empty((len(rows), sum(heights)), x.dtype)
    first = 0
    for matrix, height in zip(matrices, heights, strict=True):
        part = result[:, first : first + height]
        first += height
        if x.dtype in IN_BLAS and rows.size and height:
            multiply(rows, matrix.T).array(part)
        else:
            part[...] = small_matmul(rows, matrix.T, x.dtype, small)
    return result.reshape((*x.shape[:-1], sum(heights)))


def bound_joined(factors: Sequence[Array], multiply: Multiply, kernels: Any) -> Bound | None:
    """Return the calls that `joined_matmul` makes; None where it is made in another way."""
    x, *matrices = factors
    rows = x.reshape((prod(x.shape[:-1]), x.shape[-1]))
    if (
        kernels is None
        or x.dtype not in IN_BLAS
        or not rows.size
        or not np.may_share_memory(rows, x)
    ):
        return None
    result = host_pool.empty((len(rows), sum(map(len, matrices))), x.dtype)
    calls, first = [], 0
    for matrix in matrices:
        part = result[:, first : first + len(matrix)]
        made = bound_calls(multiply(rows, matrix.T), part, kernels) if len(matrix) else None
        if made is None:
            return None
        calls += made
        first += len(matrix)
    return Bound([result.reshape((*x.shape[:-1], first))], calls)


def joined_quantized(x: Array, *rest: Any, find: FindQuantized = no_kernels) -> Array:
    """Return rows times transposed quantised matrices, words and scales of each, side by side."""
    *parts, bits, group = rest
    matrices = [
        Matrix(words, scales, None, bits, group)
        for words, scales in zip(parts[::2], parts[1::2], strict=True)
    ]
    rows = x.reshape((prod(x.shape[:-1]), x.shape[-1]))
    kernels = find() if are_few(rows) else None
    if kernels is None:
        result = np.concatenate([rows_times(rows, matrix, find) for matrix in matrices], axis=1)
    else:
        result = few_times(rows, matrices, kernels)
    return result.reshape((*x.shape[:-1], result.shape[1])).astype(x.dtype, copy=False)


spells("joined_matmul")(joined_matmul)
spells("joined_quantized_matmul")(joined_quantized)
