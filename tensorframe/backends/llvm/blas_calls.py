"""Calls of BLAS from compiled code: products among bound calls, without the interpreter."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

from tensorframe.backends.bound import NativeCall
from tensorframe.backends.llvm.abi import address
from tensorframe.backends.llvm.compile import PLAIN
from tensorframe.backends.llvm.functions import placed
from tensorframe.backends.llvm.load import Placed
from tensorframe.backends.llvm.target import target, target_machine
from tensorframe.backends.numpy.products.blas_calls import (
    BlasCall,
    Library,
    Matmul,
    all_calls,
    library,
)
from tensorframe.codegen.llvm import SELECTED
from tensorframe.dtypes import DType, float64

_NAME = "blas_calls"
_ENTRY = struct.Struct("=13q")

# Entries `start` to `stop` of a table, which is in `varying`.
_TEXT = r"""
; is matrix, function, first, second, m, n, k, a, step, b, step, c, step
%entry = type { i64, ptr, i64, i64, i64, i64, i64, ptr, i64, ptr, i64, ptr, i64 }

define void @blas_calls(i64 %start, i64 %stop, ptr %varying, ptr %fixed) nounwind {
entry:
  br label %look
look:
  %at = phi i64 [%start, %entry], [%after, %next]
  %some = icmp ult i64 %at, %stop
  br i1 %some, label %take, label %done
take:
  %this = getelementptr %entry, ptr %varying, i64 %at
  %all = load %entry, ptr %this, align 8
  %is_matrix = extractvalue %entry %all, 0
  %function = extractvalue %entry %all, 1
  %wide_first = extractvalue %entry %all, 2
  %first = trunc i64 %wide_first to i32
  %wide_second = extractvalue %entry %all, 3
  %second = trunc i64 %wide_second to i32
INTEGERS
  %a = extractvalue %entry %all, 7
  %b = extractvalue %entry %all, 9
  %c = extractvalue %entry %all, 11
  %matrix = icmp ne i64 %is_matrix, 0
  br i1 %matrix, label %gemm, label %gemv
gemv:
  call void %function(i32 %first, i32 %second, INT %i4, INT %i5, REAL 1.0, ptr %a, INT %i8, ptr %b, INT %i10,
                      REAL 0.0, ptr %c, INT %i12)
  br label %next
gemm:
  call void %function(i32 101, i32 %first, i32 %second, INT %i4, INT %i5, INT %i6, REAL 1.0, ptr %a, INT %i8, ptr %b,
                      INT %i10, REAL 0.0, ptr %c, INT %i12)
  br label %next
next:
  %after = add i64 %at, 1
  br label %look
done:
  ret void
}
"""


def bound_matmuls(products: Sequence[Matmul]) -> list[NativeCall] | None:
    """Return the calls that make products as `np.matmul` would; None where these are not known."""
    dtype = products[0].target.dtype
    functions = library(dtype)
    calls = None if functions is None else all_calls(products)
    if functions is None or not calls:
        return None
    code = _compiled(dtype, functions.integer)
    table = b"".join([_entry(call, functions) for call in calls])
    is_long = any(product.is_long for product in products)
    owners = (code, [call[6::2] for call in calls])
    grain = 1 if is_long else len(calls)
    place = code.addresses[_NAME]
    return [NativeCall(place, len(calls), grain, table, b"", owners, limits_blas=is_long)]


def _entry(call: BlasCall, functions: Library) -> bytes:
    is_matrix, first, second, m, n, k, a, a_step, b, b_step, c, c_step = call
    function = functions.gemm if is_matrix else functions.gemv
    places = [address(a), a_step, address(b), b_step, address(c), c_step]
    return _ENTRY.pack(is_matrix, function, first, second, m, n, k, *places)


@cache
def _compiled(dtype: DType, integer: int) -> Placed:
    target()  # which has LLVM ready
    text = _text(dtype, integer)
    return placed(f"blas_calls_{dtype.name}", text, (_NAME,))


def _text(dtype: DType, integer: int) -> str:
    kind = f"i{8 * integer}"
    lines = []
    for place in (4, 5, 6, 8, 10, 12):
        name = f"%i{place}" if integer == 8 else f"%w{place}"
        lines.append(f"  {name} = extractvalue %entry %all, {place}")
        if integer < 8:
            lines.append(f"  %i{place} = trunc i64 {name} to {kind}")
    body = _TEXT.replace("INTEGERS", "\n".join(lines)).replace("INT ", f"{kind} ")
    real = "double" if dtype == float64 else "float"
    machine: Any = target_machine()
    layout = f'target triple = "{target().triple}"\ntarget datalayout = "{machine.target_data}"\n'
    return f"{SELECTED}{PLAIN}{layout}{body.replace('REAL', real)}"
