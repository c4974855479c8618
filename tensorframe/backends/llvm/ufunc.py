"""Ufuncs of NumPy's whose loops are our kernels: one op on small arrays, in the time of one of NumPy's own calls.

NumPy finds types, shapes and strides, and calls a loop with them: it has the kernel of the op run in place where the
operands lie in one piece, else on copies of some elements at a time. The formula is that of any other kernel, so fused
or not, and large or small, elements have the same bits.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from tensorframe.backends.interruptible import is_interrupted_here, run_interruptibly
from tensorframe.backends.llvm.abi import data_offset
from tensorframe.backends.llvm.functions import placed
from tensorframe.backends.llvm.load import Placed
from tensorframe.backends.llvm.target import target
from tensorframe.codegen.llvm import print_kernel
from tensorframe.digests import sha256
from tensorframe.dtypes import COMPLEX, DType
from tensorframe.graph.device import CPU
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import strides_of
from tensorframe.kernel.build import build
from tensorframe.kernel.nest.assemble import Launch
from tensorframe.kernel.spaces.analyse import space_of
from tensorframe.kernel.spaces.complex import in_parts
from tensorframe.ops.creation import CONSTANT, DATA, FULL
from tensorframe.rewrite.canonical import write_out
from tensorframe.rewrite.engine import rewrite

# Elements that are copied at a time, and the length of a vector by which loops are found: any one gives the same ones.
_COPIED, _LENGTH = 128, 4096
# Places in the table of functions that NumPy gives to extensions; they never change.
_FROM_FUNCTIONS, _REGISTER_LOOP = 1, 2
_NO_IDENTITY = -1
# NumPy's own dtypes have numbers below; there are loops of others by registration only
_FIRST_OF_OTHERS = 256


def ufunc(op: Op, attrs: tuple[Any, ...], operands: Sequence[DType], result: DType) -> np.ufunc:
    """Return the ufunc of an op on operands of these dtypes; compiled once, like kernels."""
    made = partial(_made, op, attrs, tuple(operands), result)
    return run_interruptibly(made) if is_interrupted_here() else made()


def _made(op: Op, attrs: tuple[Any, ...], operands: tuple[DType, ...], result: DType) -> np.ufunc:
    launch = _launch(op, attrs, operands, result)
    kernel = launch.general() if launch.general else launch.kernel
    printed = print_kernel(kernel, target())
    dtypes = (*operands, result)
    # an op need not read all of its operands
    read = [int(buffer.name[1:]) for buffer in kernel.inputs]
    text = printed.source + _loop(printed.name, [dtype.itemsize for dtype in dtypes], read)
    name = "u_" + sha256(text.encode()).hexdigest()[:16]
    text = text.replace("@LOOP(", f"@{name}(")
    code = placed(name, text, [name])
    fixed = ctypes.create_string_buffer(struct.pack(f"={len(launch.numbers)}Q", *launch.numbers))
    return _registered(op.name, code, code.addresses[name], fixed, dtypes)


def _launch(op: Op, attrs: tuple[Any, ...], operands: tuple[DType, ...], result: DType) -> Launch:
    """Return the kernel of an op on vectors."""
    region = _region(op, attrs, operands, result)
    parts = in_parts(region)
    steps = [(2, 1) if dtype in COMPLEX else strides_of((_LENGTH,)) for dtype in operands]
    (launch,) = build(parts.region, space_of(parts.region), steps, parts.places).launches
    return launch


def _region(op: Op, attrs: tuple[Any, ...], operands: tuple[DType, ...], result: DType) -> Region:
    """Return an op on vectors, written out in core rows."""
    shape = (_LENGTH,)
    leaves = [Node(DATA, (), (), shape, dtype, CPU, None) for dtype in operands]
    (root,) = rewrite([Node(op, tuple(leaves), attrs, shape, result, CPU, None)], [write_out])
    nodes = [*leaves, *[node for node in reachable([root]) if node not in leaves]]
    number = {node: place for place, node in enumerate(nodes)}
    ops = [
        RegionOp(
            FULL if node.op is CONSTANT else node.op,
            node.attrs,
            tuple([number[source] for source in node.inputs]),
            node.shape,
            node.dtype,
        )
        for node in nodes[len(leaves) :]
    ]
    return Region(tuple([(shape, dtype) for dtype in operands]), tuple(ops), (number[root],))


# A loop as NumPy calls it. A kernel looks for the address of an array behind the start of an object: slots say that
# objects start so far before the addresses that NumPy passes.
_HEAD = """
define void @LOOP(ptr %args, ptr %counts, ptr %steps, ptr %fixed) {
entry:
  %count = load i64, ptr %counts
  %slots = alloca [COUNT x i64], align 16
  %copies = alloca [COUNT x ptr], align 16
"""
_IN_PLACE = """  br i1 %whole, label %in_place, label %next
in_place:
  call void @KERNEL(i64 0, i64 %count, ptr %slots, ptr %fixed)
  ret void
next:
  %begin = phi i64 [0, %entry], [%end, %LAST]
  %left = sub i64 %count, %begin
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %part, label %done
part:
  %is_last = icmp slt i64 %left, COPIED
  %size = select i1 %is_last, i64 %left, i64 COPIED
  %end = add i64 %begin, %size
"""
_TAIL = """  br label %next
done:
  ret void
}
"""


def _loop(kernel: str, sizes: list[int], read: list[int]) -> str:
    """Return the loop of a ufunc around a kernel, which reads these of its operands.

    `sizes` are the bytes of an element, of the operands and then of the result.
    """
    offset, last = data_offset(), len(sizes) - 1
    used = [*read, last]
    head, slots, copied = [_HEAD], [], []
    for place, number in enumerate(used):
        size = sizes[number]
        head.append(
            f"  %a{number} = getelementptr ptr, ptr %args, i64 {number}\n"
            f"  %address{number} = load ptr, ptr %a{number}\n"
            f"  %s{number} = getelementptr i64, ptr %steps, i64 {number}\n"
            f"  %step{number} = load i64, ptr %s{number}\n"
            f"  %copy{number} = alloca [{_COPIED * size} x i8], align 64\n"
            f"  %slot{number} = getelementptr i64, ptr %slots, i64 {place}\n"
            f"  %c{number} = getelementptr ptr, ptr %copies, i64 {place}\n"
            f"  store ptr %copy{number}, ptr %c{number}\n"
            f"  %is{number} = icmp eq i64 %step{number}, {size}\n"
        )
        before = "true" if place == 0 else f"%whole{used[place - 1]}"
        name = "%whole" if number == last else f"%whole{number}"
        head.append(f"  {name} = and i1 {before}, %is{number}\n")
        slots.append(_slot(number, "a", "address", offset, "p"))
        copied.append(_slot(number, "c", "copy", offset, "q"))
    body = [*head, *slots, _IN_PLACE, *copied]
    before = "part"
    for number in used:
        if number == last:
            body.append("  call void @KERNEL(i64 0, i64 %size, ptr %slots, ptr %fixed)\n")
        body.append(_copy(number, sizes[number], before, out=number == last))
        before = f"copied{number}"
    body.append(_TAIL)
    text = "".join(body).replace("%LAST", f"%{before}").replace("COUNT", str(len(used)))
    return text.replace("COPIED", str(_COPIED)).replace("@KERNEL(", f"@{kernel}(")


def _slot(number: int, holder: str, address: str, offset: int | None, mark: str) -> str:
    """Return what fills the slot of an operand, whose address is a value and lies in memory."""
    if offset is None:
        return f"  store ptr %{address}{number}, ptr %slot{number}\n"
    return (
        f"  %{mark}{number} = getelementptr i8, ptr %{holder}{number}, i64 {-offset}\n"
        f"  store ptr %{mark}{number}, ptr %slot{number}\n"
    )


def _copy(number: int, size: int, before: str, *, out: bool) -> str:
    """Return the loop that copies the elements of an operand in, or a result's out."""
    there, here = f"%there{number}", f"%here{number}"
    source, goal = (here, there) if out else (there, here)
    return (
        f"  br label %copy_{number}\n"
        f"copy_{number}:\n"
        f"  %i{number} = phi i64 [0, %{before}], [%j{number}, %copy_{number}]\n"
        f"  %k{number} = add i64 %begin, %i{number}\n"
        f"  %o{number} = mul i64 %k{number}, %step{number}\n"
        f"  {there} = getelementptr i8, ptr %address{number}, i64 %o{number}\n"
        f"  %n{number} = mul i64 %i{number}, {size}\n"
        f"  {here} = getelementptr i8, ptr %copy{number}, i64 %n{number}\n"
        f"  %v{number} = load i{8 * size}, ptr {source}, align 1\n"
        f"  store i{8 * size} %v{number}, ptr {goal}, align 1\n"
        f"  %j{number} = add i64 %i{number}, 1\n"
        f"  %m{number} = icmp slt i64 %j{number}, %size\n"
        f"  br i1 %m{number}, label %copy_{number}, label %copied{number}\n"
        f"copied{number}:\n"
    )


# What a ufunc refers to and does not own; it is never gone, as NumPy's own are not.
_kept: list[Any] = []


def _registered(
    name: str, code: Placed, address: int, fixed: Any, dtypes: tuple[DType, ...]
) -> np.ufunc:
    """Return a ufunc of one loop."""
    numbers = [dtype.num for dtype in dtypes]
    others = any(number >= _FIRST_OF_OTHERS for number in numbers)
    functions = (ctypes.c_void_p * 1)(address)
    data = (ctypes.c_void_p * 1)(ctypes.addressof(fixed))
    types = ctypes.create_string_buffer(bytes([] if others else numbers))
    called = ctypes.create_string_buffer(name.encode())
    _kept.append((code, fixed, functions, data, types, called))
    make, register = _interface()
    made: np.ufunc = make(
        functions,
        data,
        types,
        0 if others else 1,
        len(dtypes) - 1,
        1,
        _NO_IDENTITY,
        called,
        called,
        0,
    )
    if others:
        wanted = (ctypes.c_int * len(numbers))(*numbers)
        register(made, max(numbers), address, wanted, ctypes.addressof(fixed))
    return made


@cache
def _interface() -> tuple[Any, Any]:
    """Return NumPy's functions that make a ufunc, and that give it a loop for another dtype."""
    # what `import_ufunc` of its headers takes them from
    module = import_module("numpy._core._multiarray_umath")

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(module._UFUNC_API, None)
    entries = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))
    pointers, number = ctypes.c_void_p, ctypes.c_int
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        *(pointers,) * 3,
        *(number,) * 4,
        *(ctypes.c_char_p,) * 2,
        number,
    )
    register = ctypes.PYFUNCTYPE(number, ctypes.py_object, number, *(pointers,) * 3)
    return make(entries[_FROM_FUNCTIONS]), register(entries[_REGISTER_LOOP])
