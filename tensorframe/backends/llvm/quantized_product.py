"""Products of few rows with a quantised matrix, as calls of compiled functions: see the text's module."""

from __future__ import annotations

import struct
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tensorframe.backends.interruptible import is_interrupted_here, run_interruptibly
from tensorframe.backends.llvm.compile import object_code
from tensorframe.backends.llvm.functions import from_object_code
from tensorframe.backends.llvm.load import PROTOTYPE, Placed
from tensorframe.backends.llvm.target import llvm_lock, target, target_machine
from tensorframe.backends.numpy.quantized_product import Matrix, Rows
from tensorframe.codegen.llvm.quantized_products import QUANTIZED, SLOTS, is_lifted, print_quantized
from tensorframe.codegen.llvm.thin_products import lanes_of
from tensorframe.dtypes import DType
from tensorframe.ops.quantization import ZERO, in_word

Array = Any

_CALL = struct.Struct(f"={len(SLOTS)}q")
# what bytes with a sign are lifted by
_LIFT = 128


class Operands(NamedTuple):
    """Rows as the functions take them: a line of words for each half of the integers, and two for each word."""

    bytes: Array  # int8 (rows, halves, 4 * words)
    begins: Array  # int32, or float32 (rows, words)
    factors: Array  # float32 (rows, words)


_known: dict[tuple[Any, ...], tuple[Placed, Any]] = {}


def _function(scale: DType, bits: int, group: int, zeros: bool) -> Any:
    key = (scale, bits, group, zeros)
    known = _known.get(key)
    if known is None:
        # an interrupt in the middle of running the compiler might leave it broken for good
        made = partial(_made, key)
        known = run_interruptibly(made) if is_interrupted_here() else made()
    return known[1]


def _made(key: tuple[Any, ...]) -> tuple[Placed, Any]:
    with llvm_lock:  # of two that were made, one would be gone while somebody calls it
        known = _known.get(key)
        if known is not None:
            return known
        scale, bits, group, zeros = key
        layout = str(target_machine().target_data)
        text = print_quantized(target(), layout, scale, bits, group, zeros=zeros)
        code = from_object_code(
            f"quantized_dots_{scale.name}_{bits}_{group}_{int(zeros)}",
            text,
            lambda: object_code(text),
            lambda binary: Placed("quantized_dots", binary, (QUANTIZED,)),
        )
        known = _known[key] = (code, PROTOTYPE(code.addresses[QUANTIZED]))
        return known


def operands(rows: Rows, matrix: Matrix) -> Operands:
    """Return rows as the functions take them."""
    bits = matrix.bits
    count, columns = rows.integers.shape
    halves, words = 8 // bits, columns // in_word(bits)
    wide = words + -words % lanes_of(target())
    bytes_ = np.zeros((count, halves, 4 * wide), np.int8)
    for half in range(halves):
        bytes_[:, half, : 4 * words] = rows.integers[:, half::halves]
    sums = bytes_.reshape((count, halves, wide, 4)).sum(axis=(1, 3), dtype=np.int32)
    lift = _LIFT if bits == 8 and is_lifted(target()) else 0
    # where groups have zeros of their own, those of lifted bytes are larger by the lift
    begins = (
        sums * np.int32(-(ZERO[bits] + lift)) if matrix.zeros is None else sums.astype(np.float32)
    )
    factors = np.zeros((count, wide), np.float32)
    factors[:, :words] = np.repeat(rows.scales, words // max(rows.scales.shape[1], 1), axis=1)
    return Operands(bytes_, begins, factors)


def quantized(operands: Operands, matrix: Matrix, result: Array, start: int, stop: int) -> None:
    """Write columns `start` to `stop` of the product to `result`."""
    words, scales, zeros, bits, group = matrix
    call = _function(scales.dtype, bits, group, zeros is not None)
    slots = _CALL.pack(
        words.ctypes.data,
        scales.ctypes.data,
        0 if zeros is None else zeros.ctypes.data,
        operands.bytes.ctypes.data,
        operands.begins.ctypes.data,
        operands.factors.ctypes.data,
        result.ctypes.data,
        words.strides[0],
        scales.strides[0],
        0 if zeros is None else zeros.strides[0],
        operands.bytes.strides[0],
        operands.bytes.strides[1],
        operands.factors.strides[0],
        result.strides[0],
        words.shape[1],
        len(result),
    )
    call(start, stop, slots, b"")
