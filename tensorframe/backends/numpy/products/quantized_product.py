"""Products with quantised matrices: few rows meet words as they are, others blocks of elements that are made of them.

The meaning is that of `ops/quantization.py`: the other factor is quantised as well, by blocks of 32 neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.bound import Bound
from tensorframe.backends.numpy.functions import no_kernels, spells
from tensorframe.backends.numpy.products.product import LONG, share_products
from tensorframe.backends.numpy.threads import share_out, thread_count
from tensorframe.ops.quantization import BLOCK, FEW, LARGEST, LEAST, ZERO, in_word
from tensorframe.quick_tuples import NamedTuple

Array = Any
# gives the module of compiled functions, None where there is none
Find = Callable[[], Any]

# Bytes of words from which each thread has a part: to hand a call over takes as long as to read a tenth of that.
_PART = 1 << 19
# Bytes of words that a thread takes at least where no call of Python's hands them over: who is done first goes on.
_CHUNK = 1 << 17
# Elements of a block that is made of words: 1 MiB, as wide as that many terms.
_ELEMENTS, _TERMS = 1 << 18, 1024


def scratch_of(rows: int, columns: int, height: int, threads: int) -> int:
    """Return the bytes that a product of so many rows takes at most: rows in integers, and blocks of elements."""
    tall = max(_ELEMENTS // _TERMS, 1)
    # a block, what it is made of, and its product with the rows
    each = min(3 * 4 * _ELEMENTS, 3 * 4 * columns * height) + 2 * 4 * rows * min(tall, height)
    return 4 * 4 * rows * columns + min(threads, ceil(height / tall)) * each


class Rows(NamedTuple):
    """Rows of the other factor, quantised: integers, and the scale of each block."""

    integers: Array  # int8 (rows, columns)
    scales: Array  # float32 (rows, blocks)


class Matrix(NamedTuple):
    """A quantised matrix: what its words and scales mean."""

    words: Array
    scales: Array
    zeros: Array | None
    bits: int
    group: int


def quantized_rows(x: Array) -> Rows:
    """Return rows as integers of 8 bits with a sign, each block's largest being 127."""
    rows, columns = x.shape
    blocks = x.astype(np.float32, copy=False).reshape((rows, columns // BLOCK, BLOCK))
    largest = np.abs(blocks).max(axis=-1, initial=0)
    inverse = np.where(largest < LEAST, 0, LARGEST / np.maximum(largest, np.float32(LEAST)))
    integers = np.rint(blocks * inverse.astype(np.float32)[..., None]).astype(np.int8)
    return Rows(integers.reshape((rows, columns)), largest / np.float32(LARGEST))


def elements(matrix: Matrix, rows: slice, columns: slice) -> Array:
    """Return a block of a matrix as float32; its columns begin and end with whole groups."""
    bits, group = matrix.bits, matrix.group
    each = in_word(bits)
    words = np.ascontiguousarray(matrix.words[rows, columns.start // each : columns.stop // each])
    values = words.view(np.int8 if bits == 8 else np.uint8)
    made = np.empty((len(values), columns.stop - columns.start), np.float32)
    if bits == 8:
        made[...] = values
    else:
        made[:, 0::2], made[:, 1::2] = values & 15, values >> 4
    groups = slice(columns.start // group, columns.stop // group)
    grouped = made.reshape((len(made), -1, group))
    zeros = (
        ZERO[bits] if matrix.zeros is None else matrix.zeros[rows, groups, None].astype(np.float32)
    )
    if matrix.zeros is not None or zeros:
        grouped -= zeros
    grouped *= matrix.scales[rows, groups, None].astype(np.float32)
    return made


def _matmul(x: Array, *rest: Any, find: Find = no_kernels) -> Array:
    """Return rows times a quantised matrix: words, scales and perhaps zeros; bits, group."""
    words, scales, *zeros, bits, group = rest
    matrix = Matrix(words, scales, zeros[0] if zeros else None, bits, group)
    count, columns = prod(x.shape[:-1]), x.shape[-1]
    rows = x.reshape((count, columns))
    result = rows_times(rows, matrix, find)
    return result.reshape((*x.shape[:-1], len(words))).astype(x.dtype, copy=False)


spells("quantized_matmul")(_matmul)
spells("quantized_matmul_with_zeros")(_matmul)


def are_few(rows: Array) -> bool:
    """Whether reading the matrix is what a product with these rows takes."""
    return 0 < len(rows) <= FEW and rows.shape[1] > 0


def rows_times(rows: Array, matrix: Matrix, find: Find) -> Array:
    """Return the product of rows and a transposed matrix, as float32."""
    kernels = find() if are_few(rows) else None
    if kernels is None:
        return _by_blocks(quantized_rows(rows), matrix)
    return few_times(rows, [matrix], kernels)


def few_times(rows: Array, matrices: Sequence[Matrix], kernels: Any) -> Array:
    """Return the products of few rows with transposed matrices of one kind, side by side, as float32.

    That takes as long as reading the matrices; rows are quantised once.
    """
    given = [
        matrix._replace(
            words=_in_rows(matrix.words),
            scales=_in_rows(matrix.scales),
            zeros=None if matrix.zeros is None else _in_rows(matrix.zeros),
        )
        for matrix in matrices
    ]
    operands = kernels.operands(np.ascontiguousarray(rows, np.float32), given[0])
    result, parts = _parts(len(rows), given, kernels)
    words = sum([matrix.words.size for matrix in given])
    jobs: list[tuple[Callable[[int, int], None], int, int]] = []
    for matrix, (part, each) in zip(given, parts, strict=True):
        product = kernels.product_call(operands, matrix, part)
        height = len(matrix.words)
        jobs += [(product, n, min(n + each, height)) for n in range(0, height, each)]

    def work(mine: Iterator[tuple[Callable[[int, int], None], int, int]]) -> None:
        for product, start, stop in mine:
            product(start, stop)

    if words * given[0].words.itemsize < 2 * _PART:
        work(iter(jobs))
    else:
        share_out(jobs, work, long=words * len(rows) > LONG * len(jobs))
    return result


def _parts(
    count: int, matrices: Sequence[Matrix], kernels: Any
) -> tuple[Array, list[tuple[Array, int]]]:
    """Return memory for products of so many rows, and the part of each matrix with the columns that a job makes."""
    heights = [len(matrix.words) for matrix in matrices]
    result = host_pool.empty((count, sum(heights)), np.dtype(np.float32))
    nbytes = sum([matrix.words.nbytes for matrix in matrices])
    piece = max(_PART, ceil(nbytes / thread_count()))
    parts, column = [], 0
    for matrix, height in zip(matrices, heights, strict=True):
        parts.append((result[:, column : column + height], kernels.rows_in(piece, matrix)))
        column += height
    return result, parts


def bound_product(factors: Sequence[Array], attrs: tuple[int, int], kernels: Any) -> Bound | None:
    """Return the calls of kernels for rows of float32 times quantised matrices; None if they read no such operands."""
    x, *given = factors
    if len(given) == 3:  # words, scales and zeros
        words, scales, zeros = given
        matrices = [Matrix(words, scales, zeros, *attrs)]
    else:
        pairs = zip(given[::2], given[1::2], strict=True)
        matrices = [Matrix(words, scales, None, *attrs) for words, scales in pairs]
    rows = x.reshape((prod(x.shape[:-1]), x.shape[-1]))
    if kernels is None:
        return None
    lies = all(part is _in_rows(part) for part in given) and np.may_share_memory(rows, x)
    if not lies or not are_few(rows) or x.dtype != np.float32 or not rows.flags.carray:
        return None
    operands = kernels.new_operands(rows, matrices[0])
    result, parts = _parts(len(rows), matrices, kernels)
    calls = [kernels.bound_preparation(rows, operands, matrices[0])]
    calls += kernels.bound_products(operands, matrices, [part for part, _ in parts], _CHUNK)
    return Bound([result.reshape((*x.shape[:-1], result.shape[1]))], calls)


def _in_rows(array: Array) -> Array:
    """Return a matrix whose rows lie in one piece each."""
    lies = array.strides[-1] == array.itemsize and array.flags.aligned
    return array if lies or array.shape[-1] < 2 else np.ascontiguousarray(array)


def _by_blocks(rows: Rows, matrix: Matrix) -> Array:
    """Return the product of many rows, by BLAS, and blocks of elements that are made of words."""
    count, columns = rows.integers.shape
    whole = rows.integers.reshape((count, -1, BLOCK)) * rows.scales[..., None]
    x = whole.reshape((count, columns))
    height = len(matrix.words)
    result = np.zeros((count, height), np.float32)
    terms = max(_TERMS // matrix.group, 1) * matrix.group
    tall = max(_ELEMENTS // terms, 1)
    parts = [slice(first, min(first + tall, height)) for first in range(0, height, tall)]

    def work(mine: Iterator[slice]) -> None:
        for part in mine:
            for first in range(0, columns, terms):
                inner = slice(first, min(first + terms, columns))
                result[:, part] += np.matmul(x[:, inner], elements(matrix, part, inner).T)

    share_products(parts, work, count * columns * height, np.dtype(np.float32))
    return result
