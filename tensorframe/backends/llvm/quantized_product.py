"""Products of few rows with a quantised matrix, as calls of compiled functions: see the text's module."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from tensorframe.backends.bound import NativeCall
from tensorframe.backends.interruptible import is_interrupted_here, run_interruptibly
from tensorframe.backends.llvm.abi import address
from tensorframe.backends.llvm.functions import placed
from tensorframe.backends.llvm.library import llvm_lock
from tensorframe.backends.llvm.load import PROTOTYPE, Placed
from tensorframe.backends.llvm.prepared_calls import side_by_side
from tensorframe.backends.llvm.target import target, target_machine
from tensorframe.backends.numpy.products.quantized_product import Matrix
from tensorframe.codegen.llvm.quantized_products import (
    QUANTIZED,
    SLOTS,
    STREAMS,
    print_quantized,
)
from tensorframe.codegen.llvm.quantized_rows import (
    PREPARE,
    PREPARE_SLOTS,
    reads_begins,
    words_at_once,
)
from tensorframe.dtypes import DType
from tensorframe.ops.quantization import BLOCK, in_word
from tensorframe.quick_tuples import NamedTuple

Array = Any

_CALL, _PREPARATION = (struct.Struct(f"={len(slots)}q") for slots in (SLOTS, PREPARE_SLOTS))


class Operands(NamedTuple):
    """Rows as the functions take them: a line of words for each half of the integers, and what goes with them."""

    bytes: Array  # int8 (rows, halves, 4 * words)
    begins: Array | None  # int32, or float32 (rows, words), where they are read
    factors: Array  # float32 (rows, blocks)


class Functions(NamedTuple):
    """The compiled functions for a kind of matrices."""

    code: Placed  # that keeps them in memory
    product: Any
    prepare: Any


_known: dict[tuple[Any, ...], Functions] = {}


def _functions(matrix: Matrix) -> Functions:
    key = (matrix.scales.dtype, matrix.bits, matrix.group, matrix.zeros is not None)
    known = _known.get(key)
    if known is not None:
        return known
    # an interrupt in the middle of running the compiler might leave it broken for good
    made = partial(_made, key)
    return run_interruptibly(made) if is_interrupted_here() else made()


def _made(key: tuple[Any, ...]) -> Functions:
    with llvm_lock:  # of two that were made, one would be gone while somebody calls it
        known = _known.get(key)
        if known is None:
            known = _known[key] = _compiled(*key)
        return known


def _compiled(scale: DType, bits: int, group: int, zeros: bool) -> Functions:
    layout = str(target_machine().target_data)
    text = print_quantized(target(), layout, scale, bits, group, zeros=zeros)
    symbols = (QUANTIZED, PREPARE)
    code = placed(f"quantized_dots_{scale.name}_{bits}_{group}_{int(zeros)}", text, symbols)
    return Functions(code, *[PROTOTYPE(code.addresses[symbol]) for symbol in symbols])


def rows_in(nbytes: int, matrix: Matrix) -> int:
    """Return how many rows of words have so many bytes at least, those that are taken side by side together."""
    of_row: int = matrix.words.shape[1] * matrix.words.itemsize
    return ceil(nbytes / max(of_row, 1) / STREAMS) * STREAMS


def operands(x: Array, matrix: Matrix) -> Operands:
    """Return rows, of float32 in one piece each, as the functions take them."""
    made = new_operands(x, matrix)
    _functions(matrix).prepare(0, len(x), _preparation(x, made), b"")
    return made


def new_operands(x: Array, matrix: Matrix) -> Operands:
    """Return memory for rows as the functions take them."""
    count, columns = x.shape
    halves, words = 8 // matrix.bits, columns // in_word(matrix.bits)
    wide = words + -words % words_at_once(target())
    made = np.empty if wide == words else np.zeros  # what fills the last line up
    bytes_ = made((count, halves, 4 * wide), np.int8)
    zeros, begins = matrix.zeros is not None, None
    if reads_begins(target(), matrix.bits, zeros=zeros):
        begins = made((count, wide), np.float32 if zeros else np.int32)
    factors = made((count, -(-wide * in_word(matrix.bits) // BLOCK)), np.float32)
    return Operands(bytes_, begins, factors)


def bound_preparation(x: Array, operands: Operands, matrix: Matrix) -> NativeCall:
    """Return the call that writes rows to `operands`."""
    function = _functions(matrix)
    return NativeCall(
        function.code.addresses[PREPARE],
        len(x),
        len(x),
        _preparation(x, operands),
        b"",
        (function.code, x, operands),
    )


def bound_products(
    operands: Operands, matrices: Sequence[Matrix], results: Sequence[Array], nbytes: int
) -> list[NativeCall]:
    """Return the calls that write products to `results`; a thread takes so many bytes of a matrix at least."""
    pairs = zip(matrices, results, strict=True)
    return side_by_side([_bound_product(operands, *pair, nbytes) for pair in pairs])


def _bound_product(operands: Operands, matrix: Matrix, result: Array, nbytes: int) -> NativeCall:
    function = _functions(matrix)
    return NativeCall(
        function.code.addresses[QUANTIZED],
        len(matrix.words),
        rows_in(nbytes, matrix),
        _product(operands, matrix, result),
        b"",
        (function.code, operands, matrix, result),
        joined=True,
    )


def product_call(operands: Operands, matrix: Matrix, result: Array) -> Callable[[int, int], None]:
    """Return what writes columns of a product to `result`, from one to another, while its operands live."""
    slots = _product(operands, matrix, result)
    product = _functions(matrix).product

    def run(start: int, stop: int) -> None:
        product(start, stop, slots, b"")

    return run


def _preparation(x: Array, operands: Operands) -> bytes:
    bytes_, begins, factors = operands
    return _PREPARATION.pack(
        address(x),
        address(bytes_),
        0 if begins is None else address(begins),
        address(factors),
        x.strides[0],
        bytes_.strides[0],
        bytes_.strides[1],
        0 if begins is None else begins.strides[0],
        factors.strides[0],
        x.shape[1] // BLOCK,
    )


def _product(operands: Operands, matrix: Matrix, result: Array) -> bytes:
    words, scales, zeros, _, _ = matrix
    bytes_, begins, factors = operands
    return _CALL.pack(
        address(words),
        address(scales),
        0 if zeros is None else address(zeros),
        address(bytes_),
        0 if begins is None else address(begins),
        address(factors),
        address(result),
        words.strides[0],
        scales.strides[0],
        0 if zeros is None else zeros.strides[0],
        bytes_.strides[0],
        bytes_.strides[1],
        0 if begins is None else begins.strides[0],
        factors.strides[0],
        result.strides[0],
        words.shape[1],
        len(result),
    )
