"""Products of matrices with few vectors, and conversion of small numbers, as calls of compiled functions."""

from __future__ import annotations

import struct
from functools import partial
from typing import Any

from tensorframe.backends.interruptible import is_interrupted_here, run_interruptibly
from tensorframe.backends.llvm.abi import address
from tensorframe.backends.llvm.functions import placed
from tensorframe.backends.llvm.library import llvm_lock
from tensorframe.backends.llvm.load import PROTOTYPE, Placed
from tensorframe.backends.llvm.target import target, target_machine
from tensorframe.codegen.llvm.thin_products import (
    COLUMNS,
    DOTS,
    DOTS_SLOTS,
    WIDEN,
    WIDEN_SLOTS,
    print_thin,
)
from tensorframe.dtypes import DType
from tensorframe.quick_tuples import NamedTuple

Array = Any

_CALL = struct.Struct(f"={len(DOTS_SLOTS)}q")
_WIDENING = struct.Struct(f"={len(WIDEN_SLOTS)}q")


class Functions(NamedTuple):
    """The compiled functions for a matrix's dtype and a result's; of one dtype there is no `widen`."""

    code: Placed  # that keeps them in memory
    dots: Any
    columns: Any
    widen: Any = None


_known: dict[tuple[DType, DType], Functions] = {}


def functions(matrix: DType, total: DType) -> Functions:
    """Return the functions for matrices of a dtype and results of another one."""
    known = _known.get((matrix, total))
    if known is not None:
        return known
    # an interrupt in the middle of running the compiler might leave it broken for good
    made = partial(_made, matrix, total)
    return run_interruptibly(made) if is_interrupted_here() else made()


def _made(matrix: DType, total: DType) -> Functions:
    with llvm_lock:  # of two that were made, one would be gone while somebody calls it
        known = _known.get((matrix, total))
        if known is None:
            known = _known[matrix, total] = _compiled(matrix, total)
        return known


def _compiled(matrix: DType, total: DType) -> Functions:
    text = print_thin(target(), str(target_machine().target_data), matrix, total)
    symbols = (DOTS, COLUMNS) if matrix == total else (DOTS, COLUMNS, WIDEN)
    code = placed(f"thin_products_{matrix.name}_{total.name}", text, symbols)
    return Functions(code, *[PROTOTYPE(code.addresses[symbol]) for symbol in symbols])


def multiply(vectors: Array, matrix: Array, result: Array, start: int, stop: int) -> None:
    """Write columns `start` to `stop` of `vectors @ matrix` to `result`, whose rows end with whole registers.

    Rows of `vectors`, of the result's dtype, end with zeros up to a whole register; elements of the matrix are next to
    each other along one of its axes. `start` begins a register.
    """
    inner, _ = matrix.shape
    down, across = matrix.strides
    called = functions(matrix.dtype, result.dtype)
    # of one row or column, the other axis lies as it should
    along = down == matrix.itemsize or inner == 1
    call, step = (called.dots, across) if along else (called.columns, down)
    call(start, stop, slots(matrix, step, inner, vectors, result), b"")


def slots(matrix: Array, step: int, inner: int, vectors: Array, result: Array) -> bytes:
    """Return what calls are given: rows of `inner` elements, so many bytes apart, vectors and where results go."""
    places = [address(array) for array in (matrix, vectors, result)]
    return _CALL.pack(*places, step, vectors.strides[0], result.strides[0], inner, len(vectors))


def widen(source: Array, target: Array) -> None:
    """Write rows of small numbers, whose elements are next to each other, to `target`, whose rows are padded."""
    rows, columns = source.shape
    slots = _WIDENING.pack(
        address(source), 0, address(target), source.strides[0], target.strides[0], columns
    )
    functions(source.dtype, target.dtype).widen(0, rows, slots, b"")
