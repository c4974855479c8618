"""Kernels as modules of LLVM: one function in the calling convention of `backends/numba/abi.py`."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from tensorframe.codegen.llvm import lines
from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.memory import Memory
from tensorframe.codegen.llvm.statements import Names, Statements
from tensorframe.codegen.llvm.target import Target
from tensorframe.codegen.llvm.types import VALUE
from tensorframe.codegen.text import Text
from tensorframe.dtypes import FLOAT, DType, bool_
from tensorframe.kernel.ir import START, STOP, Allocate, Argument, Expr, Kernel, Stream
from tensorframe.kernel.walk import expressions, in_order

_NAME = "KERNEL"  # until the text is there, of which the name is a hash


def print_kernel(kernel: Kernel, target: Target) -> Text:
    """Return a kernel as a module of LLVM."""
    b = Builder(target)
    memory = Memory(b, kernel.outputs)
    names: Names = {START: "%start", STOP: "%stop"}
    _take_operands(b, memory, kernel, names)
    Statements(b, memory).write(kernel.body, names)
    _, stores = expressions(kernel.body)
    if any(isinstance(one, Stream) for one in stores):
        lines.fence(b)
    for one in kernel.body:
        if isinstance(one, Allocate):
            memory.release(one.buffer)
    b.do("ret void")
    text = b.module(f"void @{_NAME}(i64 %start, i64 %stop, ptr %varying, ptr %fixed) nounwind")
    name = "k_" + sha256(text.encode()).hexdigest()[:16]
    return Text(name, text.replace(f"@{_NAME}(", f"@{name}("))


def _take_operands(b: Builder, memory: Memory, kernel: Kernel, names: Names) -> None:
    """Write what takes operands and numbers out of their slots."""
    arrays = (*kernel.inputs, *kernel.outputs)
    for at, buffer in enumerate(arrays):
        memory.add(buffer, _array(b, at))
    roots, _ = expressions(kernel.body)
    used = set(in_order(roots, {}))
    _take_numbers(b, "varying", len(arrays), kernel.scalars, used, names)
    _take_numbers(b, "fixed", 0, kernel.sizes, used, names)


def _take_numbers(
    b: Builder, slots: str, first: int, wanted: Sequence[Argument], used: set[Expr], names: Names
) -> None:
    for at, one in enumerate(wanted, first):
        if one in used:
            names[one] = _number(b, _slot(b, slots, at), one.dtype)


def _slot(b: Builder, slots: str, at: int) -> str:
    return b.value(f"getelementptr inbounds i64, ptr %{slots}, i64 {at}")


def _array(b: Builder, at: int) -> str:
    """Return the address of an array's data."""
    found = b.value(f"load ptr, ptr {_slot(b, 'varying', at)}")
    offset = b.target.data_offset
    if offset is None:  # the slot holds it
        return found
    field = b.value(f"getelementptr inbounds i8, ptr {found}, i64 {offset}")
    return b.value(f"load ptr, ptr {field}")


def _number(b: Builder, slot: str, dtype: DType) -> str:
    """Return the number in a slot: floats as they are, others as integers of 64 bits."""
    kind = VALUE[dtype]
    if dtype in FLOAT or kind == "i64":
        return b.value(f"load {kind}, ptr {slot}")
    whole = b.value(f"load i64, ptr {slot}")
    if dtype == bool_:
        return b.value(f"icmp ne i64 {whole}, 0")
    return b.value(f"trunc i64 {whole} to {kind}")
