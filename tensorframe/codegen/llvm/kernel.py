"""Kernels as modules of LLVM: one function in the calling convention of `backends/llvm/abi.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tensorframe.codegen.llvm import lines
from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.memory import Memory
from tensorframe.codegen.llvm.scaling import with_scales
from tensorframe.codegen.llvm.statements import Names, Statements
from tensorframe.codegen.llvm.steps import Steps, innermost, steps_of
from tensorframe.codegen.llvm.target import Target
from tensorframe.codegen.llvm.types import VALUE
from tensorframe.codegen.text import Text
from tensorframe.digests import sha256
from tensorframe.dtypes import FLOAT, DType, bool_
from tensorframe.kernel import ir
from tensorframe.kernel.ir.order import with_lanes
from tensorframe.kernel.ir.walk import expressions, in_order

# what a text begins with that is left as it is: its instructions are what LLVM's passes would make of a loop
SELECTED = "; no passes\n"
# what a text begins with whose loops compute many variables alike, which LLVM packs into vectors
PACKED = "; packs variables\n"
_NAME = "KERNEL"  # until the text is there, of which the name is a hash


def print_kernel(kernel: ir.Kernel, target: Target) -> Text:
    """Return a kernel as a module of LLVM."""
    kernel, on_vectors, complete = _selected(kernel, target)
    kernel = replace(kernel, body=with_lanes(kernel.body, on_vectors))
    b = Builder(target)
    memory = Memory(b, kernel.outputs)
    names: Names = {ir.START: "%start", ir.STOP: "%stop"}
    _take_operands(b, memory, kernel, names)
    Statements(b, memory, on_vectors).write(kernel.body, names)
    _, stores = expressions(kernel.body)
    if any(isinstance(store, ir.StreamingStore) for store in stores):
        lines.fence(b)
    for statement in kernel.body:
        if isinstance(statement, ir.Allocate):
            memory.release(statement.buffer)
    b.do("ret void")
    attributes = f'nounwind "min-legal-vector-width"="{_register_bits(on_vectors)}"'
    text = b.module(f"void @{_NAME}(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {attributes}")
    packed = any(loop.packed for loop in innermost(kernel.body))
    text = (SELECTED if complete else PACKED if packed else "") + text
    name = "k_" + sha256(text.encode()).hexdigest()[:16]
    return Text(name, text.replace(f"@{_NAME}(", f"@{name}("))


def _selected(kernel: ir.Kernel, target: Target) -> tuple[ir.Kernel, dict[ir.Loop, Steps], bool]:
    """Return the kernel with what vectors alone have instructions for, if all of its loops are printed on vectors."""
    if target.has_masks:
        scaled = replace(kernel, body=with_scales(kernel.body))
        on_vectors, complete = _on_vectors(scaled, target)
        if complete or scaled.body is kernel.body:
            return scaled, on_vectors, complete
    return kernel, *_on_vectors(kernel, target)


def _on_vectors(kernel: ir.Kernel, target: Target) -> tuple[dict[ir.Loop, Steps], bool]:
    """Return the innermost loops to print on vectors, with their steps, and whether these are all there are.

    Where the target has no masks, or cannot compute all loops on vectors, they are left to LLVM's passes, but for those
    that join floats in lanes: these say in which order. LLVM takes masked loads apart where processors have none.
    """
    steps_by_loop = {
        loop: None if loop.packed else steps_of(loop) for loop in innermost(kernel.body)
    }
    on_vectors = {loop: steps for loop, steps in steps_by_loop.items() if steps is not None}
    if target.has_masks and len(on_vectors) == len(steps_by_loop):
        return on_vectors, True
    return {loop: steps for loop, steps in on_vectors.items() if steps.has_lanes}, False


def _register_bits(on_vectors: dict[ir.Loop, Steps]) -> int:
    """Return the size of the registers that the kernel pays for, or 0 to leave it to what the processor prefers.

    Processors that prefer halves of their registers do so for what is short: long loops of many operations take three
    quarters of the time with whole ones, rows of a dozen elements half as much again.
    """
    return 512 if any(loop.long for loop in on_vectors) else 0


def _take_operands(b: Builder, memory: Memory, kernel: ir.Kernel, names: Names) -> None:
    """Write what takes operands and numbers out of their slots."""
    arrays = (*kernel.inputs, *kernel.outputs)
    for index, buffer in enumerate(arrays):
        memory.add(buffer, _array(b, index))
    roots, _ = expressions(kernel.body)
    used = set(in_order(roots, {}))
    _take_numbers(b, "varying", len(arrays), kernel.scalars, used, names)
    _take_numbers(b, "fixed", 0, kernel.sizes, used, names)


def _take_numbers(
    b: Builder,
    slots: str,
    first: int,
    wanted: Sequence[ir.Argument],
    used: set[ir.Expr],
    names: Names,
) -> None:
    for index, number in enumerate(wanted, first):
        if number in used:
            names[number] = _number(b, _slot(b, slots, index), number.dtype)


def _slot(b: Builder, slots: str, index: int) -> str:
    return b.value(f"getelementptr inbounds i64, ptr %{slots}, i64 {index}")


def _array(b: Builder, index: int) -> str:
    """Return the address of an array's data."""
    operand = b.value(f"load ptr, ptr {_slot(b, 'varying', index)}")
    offset = b.target.data_offset
    if offset is None:  # the slot holds it
        return operand
    field = b.value(f"getelementptr inbounds i8, ptr {operand}, i64 {offset}")
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
