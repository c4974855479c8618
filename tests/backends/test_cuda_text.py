"""The traps of CUDA C++ and HIP, in the text of kernels: sizes of types, bits, warps, strides, arguments."""

import math
import re

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.codegen.cuda import DIALECT, PRELUDE

pytest.importorskip("cupy", reason="the backend speaks to GPUs through CuPy")

from tensorframe.backends.device import lowering
from tests.backends.host_gpu import recorded


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


def text_of(expression, *operands):
    """What an expression of operands becomes, without what all kernels begin with."""
    with recorded() as texts:
        tensors = [tfr.asarray(operand, device="cuda") for operand in operands]
        tfr.compute(*tensors)
        tfr.compute(expression(*tensors))
        assert texts
        return "".join([text.removeprefix(PRELUDE) for text in texts.values()])


def matrix(dtype, *shape):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def test_every_dtype_has_a_type_of_its_size():
    widths = {"char": 8, "short": 16, "int": 32, "long long": 64, "float": 32, "double": 64}
    for name, kind in DIALECT.types.items():
        if name != "bool":
            assert widths[re.sub("(un)?signed ", "", kind)] == 8 * np.dtype(name).itemsize
    assert DIALECT.types["int8"] == "signed char"
    assert DIALECT.stored["bool"] == "unsigned char"


def test_names_are_not_mangled_and_threads_are_bounded():
    found = text_of(lambda x: x + 1, matrix("float32", 3, 4))
    assert re.search(
        r'^extern "C" __global__ void __launch_bounds__\(256\)\nk_\w+\(', found, re.MULTILINE
    )


def test_kernels_say_for_how_many_groups_registers_have_to_suffice():
    """Compilers guess otherwise: they spill what is needed around a column's loops, or take 65 registers for 64."""

    def bounds(function, *arrays):
        return re.findall(r"__launch_bounds__\((.*)\)", text_of(function, *arrays))

    columns, square = matrix("float32", 1000, 8), np.zeros((512, 512), np.float32)
    assert bounds(lambda x: tfr.var(x, axis=0), columns) == ["256, 4"]
    assert bounds(lambda x: x - tfr.mean(x, axis=0), columns) == ["256, 4"]
    assert bounds(lambda x: (x - tfr.mean(x, axis=0)) / tfr.std(x, axis=0), columns) == ["256, 2"]
    assert bounds(lambda x: tfr.max(x, axis=0), columns)[-1] == "256"
    assert bounds(lambda x: tfr.var(x, axis=0), columns[:100])[-1] == "256"  # a loop, no slots
    assert bounds(tfr.matmul, square, square) == ["256, 4"]
    assert bounds(lambda x, y: x.mT @ y.mT, square, square) == ["256, 4"]
    assert bounds(lambda x, y: x @ y.mT, square, square) == ["256"]  # neighbours of both factors
    assert bounds(tfr.matmul, square.astype("f8"), square.astype("f8")) == ["256"]
    assert bounds(tfr.matmul, square[:64], square) == ["256"]  # a thread has few sums


def test_totals_of_parts_are_joined_by_loops_that_stay_loops():
    """Unrolled ones read 32 parts of a chunk at once, into all registers."""
    found = text_of(lambda x: tfr.sum(x, axis=0), np.zeros((20000, 8), np.float32))
    loops = re.findall(r"(?:(#pragma unroll 1)\n *)?for \(unsigned int (part\d) ", found)
    assert loops == [("#pragma unroll 1", "part2"), ("", "part1")]


def test_shuffles_stay_among_the_32_threads_of_every_warp_and_nothing_needs_a_header():
    """A warp has 64 threads on some GPUs."""
    found = text_of(tfr.softmax, matrix("float32", 7, 3000))
    assert "__syncthreads();" in found
    assert {int(width) for width in re.findall(r"shuffled\(.*, (\d+)u\)", found)} == {8, 32}
    for word in ("#include", "warpSize", "__ballot", "cooperative"):
        assert word not in PRELUDE + found


def test_strides_and_origins_are_arguments():
    """CuPy passes a view's pointer as if it were the whole array in C order."""
    texts = {
        text_of(lambda x, cut=cut: x[cut:].T + 1, matrix("float32", 8, size))
        for cut, size in ((1, 9), (2, 9), (1, 11))
    }
    assert len(texts) == 1
    assert re.search(r"x\d\[x\d_origin \+ ", texts.pop())


def test_numbers_of_64_bits_come_as_two_words():
    found = text_of(lambda x: x * 3.25, matrix("float64", 3, 4))
    assert re.search(
        r"as_float64\(\(\(unsigned long long\)w\.at\[\d+\] << 32 \| "
        r"\(unsigned long long\)w\.at\[\d+\]\)\)",
        found,
    )


def test_literals_have_their_dtype():
    kernel = text_of(lambda x: tfr.argmax(x, axis=1), matrix("float32", 3, 4))
    assert "9223372036854775807ll" in kernel or "long long" in kernel
    assert not re.search(r"[^\w.]\d+\.\d+[^\wfp.]", kernel)  # a double among floats


def test_half_precision_is_held_in_16_bits_and_computed_in_float():
    found = text_of(lambda x: x * 2 + 1, matrix("float16", 3, 4))
    assert re.search(r"const unsigned short\* __restrict__ x\d", found)
    assert re.search(r"float16_of_bits\(x\d\[", found)
    assert "= bits_of_float16(" in found
    assert "round_float16(" in found


def test_amd_has_its_own_way_to_half_precision():
    amd, nvidia = re.search(
        r"#if defined\(__HIP__\)(.*?)#else(.*?)#endif", PRELUDE, re.DOTALL
    ).groups()
    assert "_Float16" in amd
    assert "asm" not in amd
    assert "cvt.rn.f16.f32" in nvidia


def test_large_operands_have_positions_of_64_bits(monkeypatch):
    short = text_of(lambda x: x.T + 1, matrix("float32", 3, 4))
    monkeypatch.setattr(lowering, "_SHORT", 10)
    long = text_of(lambda x: x.T + 1, matrix("float32", 3, 4))
    assert "unsigned int i = " in short
    assert "unsigned long long i = " in long


def test_equal_kernels_have_equal_names():
    with recorded() as texts:
        for size in (5, 6, 7):
            tfr.compute(tfr.asarray(matrix("float32", size), device="cuda") * 2)
        assert len(texts) == 1


def test_functions_that_users_write_are_their_formulas():
    @tfr.elementwise
    def damped(x, rate):
        return math.exp(-rate * x) * math.cos(x)

    x, rate = matrix("float32", 30, 40), matrix("float32", 40)
    written = text_of(lambda x, rate: tfr.exp(-rate * x) * tfr.cos(x), x, rate)
    assert "__global__" in written
    assert text_of(damped, x, rate) == written
