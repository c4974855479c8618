"""Dot products of bytes: each processor's instructions in its machine code, and exact sums by those that run here."""

import itertools
import re

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

import llvmlite.binding as llvm

from tensorframe.backends.llvm.compile import object_code
from tensorframe.backends.llvm.load import PROTOTYPE, Placed
from tensorframe.backends.llvm.target import target
from tensorframe.codegen.llvm import Target
from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.byte_products import (
    Way,
    add_signed,
    add_small,
    add_unsigned,
    dot4,
    way_of,
)
from tensorframe.codegen.llvm.kernel import SELECTED
from tensorframe.codegen.llvm.loops import counted, element, slots_of
from tensorframe.codegen.llvm.quantized_products import print_quantized
from tensorframe.codegen.llvm.types import vector

X86, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
AVX2 = "+ssse3,+sse4.1,+avx,+avx2,+fma,+f16c"
AVX512 = f"{AVX2},+avx512f,+avx512vl,+avx512dq"
# (triple, features, what words of 8 bits are multiplied by, and those of 4)
PROCESSORS = {
    "VNNI": (X86, f"{AVX512},+avx512bw,+avx512vnni", "vpdpbusd", "vpdpbusd"),
    "AVX-VNNI": (X86, f"{AVX2},+avxvnni", "vpdpbusd", "vpdpbusd"),
    "AVX-512": (X86, f"{AVX512},+avx512bw", "vpmaddubsw", "vpmaddubsw"),
    "AVX2": (X86, AVX2, "vpsignb", "vpmaddubsw"),
    "SSSE3": (X86, "+ssse3,+sse4.1", "psignb", "pmaddubsw"),
    "dot product": (ARM, "+neon,+dotprod", "sdot", "sdot"),
    "NEON": (ARM, "+neon", "mul", "mul"),
}


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("name", PROCESSORS)
def test_words_are_multiplied_by_the_instruction_that_is_there(name: str, bits: int) -> None:
    """Machine code that need not run here."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple, features, *instructions = PROCESSORS[name]
    generator = llvm.Target.from_triple(triple).create_target_machine(features=features)
    machine = Target(triple, frozenset(features.split(",")), 16)
    text = print_quantized(
        machine, str(generator.target_data), np.dtype(np.float16), bits, 32, zeros=False
    )
    code = generator.emit_assembly(llvm.parse_assembly(text))
    product = code[: code.index("quantized_rows:")]
    assert re.search(rf"\s{instructions[bits == 4]}\s", product)
    # a line of each of three rows, and one where rows are left: for each vector, and for four where there are registers
    loops = (1 + ("+avx512f" in features)) if triple == X86 else 0
    assert product.count("prefetcht1") == 4 * loops
    assert "pmulld" not in product  # no byte becomes an integer of 32 bits


WAYS = {"pairs": "+ssse3,+avx2", "pairs of SSSE3": "+ssse3", "none": ""}


def _sums(name: str, lanes: int, features: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return what a function of registers makes of words, compiled for this machine as if it had those features."""
    machine = Target(X86, frozenset(features.split(",")), 16)
    b = Builder(machine)
    given = slots_of(b, ("x", "y", "result", "count"), 3)
    words = vector("i32", lanes)

    def register(position: str, _: list[str]) -> list[str]:
        left, right = (
            b.value(f"load {words}, ptr {element(b, given[of], 'i32', position)}, align 4")
            for of in "xy"
        )
        with b.on(lanes):
            zero = b.constant("i32", 0)
            made = {
                "dot4": lambda: dot4(b, left, right),
                "add_signed": lambda: add_signed(b, zero, left, right),
                "add_small": lambda: add_small(b, zero, left, right, left, right),
            }[name]()
        b.do(f"store {words} {made}, ptr {element(b, given['result'], 'i32', position)}, align 4")
        return []

    counted(b, "0", given["count"], lanes, (), register)
    b.do("ret void")
    body = b.module("void @sums(i64 %start, i64 %stop, ptr %varying, ptr %fixed) nounwind")
    code = Placed("sums", object_code(SELECTED + body), ("sums",))
    result = np.zeros(len(x), np.int32)
    slots = np.array([x.ctypes.data, y.ctypes.data, result.ctypes.data, len(x)], np.int64)
    PROTOTYPE(code.addresses["sums"])(0, 1, slots.tobytes(), b"")
    return result


@pytest.mark.skipif(
    not {"+avx2", "+ssse3"} <= target().features or not target().is_x86, reason="no AVX2"
)
@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "left", "right"),
    [
        ("dot4", [-128, -127, -1, 0, 127], [-128, -127, 0, 127]),
        ("add_signed", [-128, -127, -1, 0, 127], [-127, -1, 0, 127]),
        ("add_small", [0, 1, 15], [-128, -127, 0, 127]),
    ],
)
def test_sums_of_extreme_bytes_are_exact(
    name: str, left: list[int], right: list[int], way: str, lanes: int
) -> None:
    x, y = (
        np.array(list(itertools.product(values, repeat=4)), np.int8) for values in (left, right)
    )
    x, y = np.repeat(x, len(y), axis=0), np.tile(y, (len(x), 1))
    count = len(x) - len(x) % 16
    expected = (x[:count].astype(np.int32) * y[:count]).sum(axis=1)
    if name == "add_small":  # of both halves
        expected = 2 * expected
    words = (np.ascontiguousarray(part[:count]).view(np.uint32).ravel() for part in (x, y))
    np.testing.assert_array_equal(_sums(name, lanes, WAYS[way], *words), expected)


def test_wide_registers_are_multiplied_in_parts() -> None:
    assert way_of(Target(X86, frozenset({"+avx2"}), 16), 16) == (Way.ADDS_PAIRS, 8)
    assert way_of(Target(X86, frozenset({"+avxvnni"}), 16), 16) == (Way.ADDS_FOUR, 8)
    assert way_of(Target(X86, frozenset({"+avx2"}), 16), 1)[0] is Way.NONE
    b = Builder(Target(X86, frozenset({"+avxvnni"}), 16))
    with b.on(16):
        add_unsigned(b, "%total", "%x", "%y")
    assert sum("vpdpbusd.256" in line for line in b.lines) == 2
