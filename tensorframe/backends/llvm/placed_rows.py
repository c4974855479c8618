"""Rows written to places that indices say, as a bound call: a cache of keys and values that grows by a token.

That is what is left of `x[i, j] = rows` where the elements after the indexed axes lie in one piece each.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tensorframe.backends.bound import NativeCall
from tensorframe.backends.llvm.abi import address
from tensorframe.backends.llvm.compile import PLAIN
from tensorframe.backends.llvm.functions import placed
from tensorframe.backends.llvm.load import Placed
from tensorframe.backends.llvm.target import target, target_machine
from tensorframe.codegen.llvm import SELECTED

Array = Any

_NAME = "placed_rows"
_SLOTS = struct.Struct("=14q")

# Row `i` goes to `target + index0[i] * stride0 + index1[i] * stride1`; indices count from the end where they are
# negative. What is out of bounds sets the flag.
_TEXT = r"""
; target, rows, row step, bytes, flag, unused, then twice: indices, step, size, stride
%slots = type { ptr, ptr, i64, i64, ptr, i64, ptr, i64, i64, i64, ptr, i64, i64, i64 }

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define void @placed_rows(i64 %start, i64 %stop, ptr %varying, ptr %fixed) nounwind {
entry:
  %slots = load %slots, ptr %varying, align 8
  %target = extractvalue %slots %slots, 0
  %rows = extractvalue %slots %slots, 1
  %row_step = extractvalue %slots %slots, 2
  %bytes = extractvalue %slots %slots, 3
  %flag = extractvalue %slots %slots, 4
  br label %look
look:
  %at = phi i64 [%start, %entry], [%after, %next]
  %some = icmp ult i64 %at, %stop
  br i1 %some, label %take0, label %done
INDICES
write:
  %place = getelementptr i8, ptr %target, i64 OFFSET
  %moved = mul i64 %at, %row_step
  %row = getelementptr i8, ptr %rows, i64 %moved
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %row, i64 %bytes, i1 false)
  br label %next
wrong:
  store i8 1, ptr %flag
  br label %next
next:
  %after = add i64 %at, 1
  br label %look
done:
  ret void
}
"""
_INDEX = r"""
take#:
  %indices# = extractvalue %slots %slots, POINTER
  %step# = extractvalue %slots %slots, STEP
  %size# = extractvalue %slots %slots, SIZE
  %stride# = extractvalue %slots %slots, STRIDE
  %distance# = mul i64 %at, %step#
  %here# = getelementptr i8, ptr %indices#, i64 %distance#
  %short# = load INT, ptr %here#
WIDEN
  %is_negative# = icmp slt i64 %wide#, 0
  %more# = add i64 %wide#, %size#
  %counted# = select i1 %is_negative#, i64 %more#, i64 %wide#
  %fits# = icmp ult i64 %counted#, %size#
  %part# = mul i64 %counted#, %stride#
  %offset# = add i64 BEFORE, %part#
  br i1 %fits#, label %AFTER, label %wrong
"""


def placing_call(x: Array, rows: Array, indices: Sequence[Array], nbytes: int) -> NativeCall:
    """Return the call that writes rows of so many bytes to `x` where indices, one for each axis, say."""
    flag = np.zeros(1, bool)
    slots = [address(x), address(rows), rows.strides[0], nbytes, address(flag), 0]
    for axis, index in enumerate(indices):
        slots += [address(index), index.strides[0], x.shape[axis], x.strides[axis]]
    slots += [0] * (14 - len(slots))
    code = _compiled(tuple([8 * index.itemsize for index in indices]))
    place = code.addresses[_NAME]
    owners = (code, x, rows, indices)
    return NativeCall(place, len(rows), max(len(rows), 1), _SLOTS.pack(*slots), b"", owners, flag)


@cache
def _compiled(widths: tuple[int, ...]) -> Placed:
    text = _text(widths)
    name = "_".join([_NAME, *map(str, widths)])
    return placed(name, text, (_NAME,))


def _text(widths: tuple[int, ...]) -> str:
    parts = []
    for number, width in enumerate(widths):
        first = 6 + 4 * number
        is_last = number == len(widths) - 1
        marks = {
            "POINTER": str(first),
            "STEP": str(first + 1),
            "SIZE": str(first + 2),
            "STRIDE": str(first + 3),
            "BEFORE": f"%offset{number - 1}" if number else "0",
            "AFTER": "write" if is_last else f"take{number + 1}",
            "WIDEN": "  %wide# = add i64 %short#, 0"
            if width == 64
            else "  %wide# = sext i32 %short# to i64",
            "INT": f"i{width}",
            "#": str(number),
        }
        part = _INDEX
        for mark, spelling in marks.items():
            part = part.replace(mark, spelling)
        parts.append(part)
    machine: Any = target_machine()
    layout = f'target triple = "{target().triple}"\ntarget datalayout = "{machine.target_data}"\n'
    body = _TEXT.replace("OFFSET", f"%offset{len(widths) - 1}").replace("INDICES", "".join(parts))
    return f"{SELECTED}{PLAIN}{layout}{body}"
