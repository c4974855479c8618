"""Kernels as WGSL: the traps of the language, seen in the text."""

import re

import numpy as np
import pytest

from tensorframe import dtypes
from tensorframe.codegen.wgsl import print_kernel
from tensorframe.codegen.wgsl_functions import Wgsl
from tensorframe.kernel.ir import (
    INDEX,
    START,
    STOP,
    Allocate,
    Barrier,
    Buffer,
    Combine,
    Kernel,
    Loop,
    ParallelAxis,
    Role,
    Set,
    Store,
    apply,
    binary,
    index,
    literal,
    load,
    variable,
)
from tensorframe.kernel.ir.formula import (
    bitcast,
    cast,
    copysign,
    equal,
    fma,
    maximum,
    not_equal,
    where,
)
from tensorframe.kernel.nest.passes.positions import with_positions

LANES = 64
BASIC = Wgsl(half=False, double=False, immediates=128)
FULL = Wgsl(half=True, double=True, immediates=128)
F32, F64 = np.dtype("f4"), np.dtype("f8")


def text_of(formula, *operands, dialect=FULL, over=ParallelAxis.GRID):
    """The text of a kernel of one formula of elements of these dtypes."""
    at = index("i")
    inputs = tuple(
        [Buffer(f"x{k}", np.dtype(operand), Role.INPUT) for k, operand in enumerate(operands)]
    )
    value = formula(*[load(source, at) for source in inputs])
    output = Buffer("y0", value.dtype, Role.OUTPUT)
    loop = Loop(at, START, STOP, (Store(output, at, value),), parallel=True, over=over)
    return printed((loop,), inputs, (output,), dialect).source


def printed(body, inputs, outputs, dialect=FULL, **options):
    body = with_positions(body, (), np.dtype(np.uint32))
    return print_kernel(Kernel(inputs, outputs, (), (), body, lanes=LANES), dialect, **options)


def stored(text):
    """What the kernel stores."""
    return re.search(r"y0\[i\] = (.*);", text)[1]


def test_positions_that_are_numbers_have_as_few_bits_as_others():
    """An axis of one element has a number in the place of its index; a device without int64 compiles no u64."""
    first = apply("from_index", literal(0, INDEX), dtype=np.dtype("i4"))
    text = text_of(lambda x: x + first, "i4")
    assert "u64" not in text
    assert "0u" in stored(text)


def test_nan_is_told_by_its_bits():
    text = text_of(lambda x: where(not_equal(x, x), 1.0, x), F32)
    assert "is_nan_f32(x0[x0_origin + i])" in stored(text)
    assert "> 0x7f800000u" in text
    assert "!=" not in stored(text)


def test_unequal_is_not_equal():
    """`!=` is false where one is NaN."""
    found = stored(text_of(lambda x, y: where(not_equal(x, y), 1.0, x), F32, F32))
    assert "!(keep_f32(x0[x0_origin + i]) == x1[x1_origin + i])" in found


def test_a_choice_by_order_is_no_minimum():
    """Compilers make `select(b, a, a < b)` the minimum, which drops NaN."""
    found = stored(text_of(lambda x, y: where(x < y, x, y), F32, F32))
    assert "(keep_f32(x0[x0_origin + i]) < x1[x1_origin + i])" in found


def test_sums_and_products_of_floats_are_kept_as_they_are():
    found = stored(text_of(lambda x, y: ((x + y) - x) * 0.0, F32, F32))
    assert found == (
        "keep_f32(keep_f32(keep_f32(x0[x0_origin + i] + x1[x1_origin + i]) - x0[x0_origin + i]) "
        "* bits_f32(0x00000000u))"
    )
    text = text_of(lambda x, y: x + y, F32, F32)
    assert "bitcast<u32>(x) ^ u32(w[3])" in text  # a zero that no compiler knows


def test_steps_of_sums_may_be_contracted():
    assert "keep" not in text_of(lambda x, y: apply("accumulate_add", x, y), F32, F32)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, -0.0, 0.0])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_numbers_that_are_none_are_bits(value, dtype):
    text = text_of(lambda x: copysign(x, value), dtype)
    bits = int(re.search(r"bits_f\d\d\((0x[0-9a-f]+)l?u\)", stored(text))[1], 16)
    found = np.array(bits, f"u{dtype.itemsize}").view(dtype)
    assert np.array_equal(found, dtype.type(value), equal_nan=True)
    assert np.signbit(found) == np.signbit(value)
    assert not re.search(r"\b(inf|nan)\b", stored(text))


def test_fma_is_exact_without_a_fused_one():
    assert "f32(f64(x) * f64(y) + f64(z))" in text_of(fma, F32, F32, F32)
    assert "upper_f32(y)" in text_of(fma, F32, F32, F32, dialect=BASIC)
    assert "upper_f64(y)" in text_of(fma, F64, F64, F64)
    fused = Wgsl(half=True, double=True, immediates=128, fused=frozenset({"f32"}))
    assert "keep_f32(fma(x, y, z))" in text_of(fma, F32, F32, F32, dialect=fused)


def test_quotients_are_corrected_where_the_device_is_not_exact():
    assert "let better" in text_of(lambda x, y: x / y, F32, F32)
    exact = Wgsl(half=True, double=True, immediates=128, exact=frozenset({"f32"}))
    assert "let better" not in text_of(lambda x, y: x / y, F32, F32, dialect=exact)


def test_functions_come_only_where_they_are_called():
    text = text_of(maximum, "i4", "i4")
    assert re.findall(r"^fn (\w+)", text, re.MULTILINE)[:-1] == ["maximum_i32"]


def test_narrow_integers_are_cut_off():
    assert "<< 24u) >> 24u" in stored(text_of(lambda x, y: x + y, "i1", "i1"))
    assert "& 65535u" in stored(text_of(lambda x, y: x * y, "u2", "u2"))
    assert "array<i32>" in text_of(lambda x, y: x + y, "i1", "i1")


def test_unsigned_words_are_extended_as_such():
    """A conversion to a wider signed integer takes the sign of what it makes, not of what is there."""
    assert stored(text_of(lambda x: cast(x, dtypes.int64), "u4")) == "i64(u64(x0[x0_origin + i]))"
    assert stored(text_of(lambda x: cast(x, dtypes.uint64), "i4")) == "u64(i64(x0[x0_origin + i]))"


def test_shifts_beyond_the_width_are_no_shifts():
    text = text_of(lambda x, y: x << y, "i4", "i4")
    assert "bitwise_left_shift_i32(x0[x0_origin + i], x1[x1_origin + i], 32u)" in stored(text)
    assert "& 31u" in text
    assert stored(text_of(lambda x: x << 3, "i4")) == "(x0[x0_origin + i] << 3u)"


def test_divisors_that_may_be_zero_are_looked_at():
    assert (
        stored(text_of(lambda x: binary("floor_divide", x, 16), "u4"))
        == "(x0[x0_origin + i] / 16u)"
    )
    assert (
        stored(text_of(lambda x: binary("remainder", x, 16), "u4")) == "(x0[x0_origin + i] % 16u)"
    )
    text = text_of(lambda x, y: binary("remainder", x, y), "i4", "i4")
    assert "remainder_i32(" in stored(text)
    assert "if ((y == 0i) | (y == -1i)) { return 0i; }" in text


def test_numbers_alone_are_not_computed_by_the_compiler():
    text = text_of(lambda x: x + (literal(1, dtypes.uint32) - 2), "u4")
    assert "(1u - keep_u32(2u))" in stored(text)


def test_the_lowest_integers_can_be_written():
    low = -(2**31)
    assert "(-2147483647i - 1i)" in stored(text_of(lambda x: x - low, "i4"))
    assert "(-9223372036854775807li - 1li)" in stored(text_of(lambda x: x - (-(2**63)), "i8"))


def test_half_precision_is_held_where_the_device_can():
    assert "enable f16;" in text_of(lambda x: cast(x, F32), "f2")
    assert "f32(x0[x0_origin + i])" in text_of(lambda x: cast(x, F32), "f2")
    basic = text_of(lambda x: cast(x, F32), "f2", dialect=BASIC)
    assert "f16" not in basic
    assert "array<f32>" in basic


def test_booleans_are_words():
    text = text_of(equal, "?", "?")
    assert stored(text) == (
        "select(0u, 1u, ((x0[x0_origin + i] != 0u) == (x1[x1_origin + i] != 0u)))"
    )


def test_bits_and_names():
    assert "bitcast<i32>(" in text_of(lambda x: bitcast(x, dtypes.int32), F32)
    at = index("final")
    output = Buffer("y0", F32, Role.OUTPUT)
    loop = Loop(at, START, STOP, (Store(output, at, literal(1, F32)),), True, ParallelAxis.GRID)
    assert "y0[final_] =" in printed((loop,), (), (output,)).source


def test_words_beyond_the_immediates_are_a_uniform_buffer():
    shader = text_of(lambda x: x + 1.0, F32, dialect=Wgsl(False, False, 8))
    assert "@binding(2) var<uniform> w: array<vec4<u32>, 1>;" in shader
    assert "w[0].z" in shader


def test_windows_have_a_first_index_and_origins_of_outputs():
    at = index("i")
    source, output = Buffer("x0", F32, Role.INPUT), Buffer("y0", F32, Role.OUTPUT)
    loop = Loop(at, START, STOP, (Store(output, at, load(source, at)),), True, ParallelAxis.GRID)
    shader = printed((loop,), (source,), (output,), windowed=True)
    assert "var i: u32 = w[3] + group.x * 64u + lane" in shader.source
    assert "y0[w[4] + i] = x0[x0_origin + i];" in shader.source
    assert shader.words == 5


def in_rows(*body):
    """A kernel of which each group runs `body` for a row."""
    row = index("row")
    source, output = Buffer("x0", F32, Role.INPUT), Buffer("y0", F32, Role.OUTPUT)
    loop = Loop(row, START, STOP, body, parallel=True, over=ParallelAxis.GROUPS)
    return printed((loop,), (source,), (output,)).source


def test_threads_join_in_memory_they_share():
    total, other = variable("r", F32), variable("r_other", F32)
    text = in_rows(Set(total, literal(0, F32)), Combine(total, other, total + other))
    # with a gap after each class of 8
    assert "var<workgroup> lanes_float32: array<f32, 72>;\n" in text
    assert text.index("var<workgroup>") < text.index("@compute")
    assert text.count("workgroupBarrier();") == 4
    assert "for (var row: u32 = group.x; row < stop; row += group_count.x)" in text
    # drivers on processors unroll what they know the bound of, and have the threads that wait run through all of it
    assert re.search(r"for \(var part = 0u; part < \(w\[\d+\] \^ 2u\); part\+\+\)", text)
    assert "for (var slot = 1u; slot < 4u; slot++)" in text


def test_shared_memory_and_barriers():
    tile = Buffer("tile", F32, Role.SHARED)
    lane = index("k")
    source, output = Buffer("x0", F32, Role.INPUT), Buffer("y0", F32, Role.OUTPUT)
    count = literal(LANES, INDEX)
    fill = Loop(
        lane,
        literal(0, INDEX),
        count,
        (Store(tile, lane, load(source, lane)),),
        over=ParallelAxis.LANES,
    )
    take = Loop(
        lane,
        literal(0, INDEX),
        count,
        (Store(output, lane, load(tile, lane)),),
        over=ParallelAxis.LANES,
    )
    text = in_rows(Allocate(tile, count), fill, Barrier(), take)
    assert "var<workgroup> tile: array<f32, 64>;\n" in text
    assert re.search(r"\}\n\s+workgroupBarrier\(\);\n\s+for", text)
