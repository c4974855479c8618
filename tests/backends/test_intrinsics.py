"""Intrinsics of kernels: NumPy's values on every special operand, and vector code."""

import re

import ml_dtypes
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.kernel.interpret import FUNCTIONS
from tests.backends.kernels import evaluate, named, slots, text

pytest.importorskip("numba", reason="compiled kernels need the extra numba")

from tensorframe.backends.numba.compile import optimised
from tensorframe.backends.numba.functions import kernel_function
from tensorframe.backends.numba.intrinsics import half, memory
from tensorframe.backends.numba.lower import lowered

FLOATS = ["float32", "float64"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED


@pytest.fixture(autouse=True)
def nothing_kept():
    """Some tests change what intrinsics compile to."""
    with tfr.config.override(cache_bytes=0):
        yield


def floats(dtype):
    info = np.finfo(dtype)
    magnitudes = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 7.25, 1e5, np.inf, np.nan]
    magnitudes += [float(info.max), float(info.tiny), float(info.smallest_subnormal), 2.0**31]
    return np.array(magnitudes + [-one for one in magnitudes], dtype)


def integers(dtype):
    info = np.iinfo(dtype)
    return np.array([0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1], dtype)


def pairs(values):
    return np.repeat(values, len(values)), np.tile(values, len(values))


def same(found, expected):
    """Equal bit by bit, but for the bits of NaN."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_one_float(dtype):
    functions = {
        one: getattr(np, one)
        for one in ["rint", "floor", "ceil", "trunc", "sqrt", "fabs", "negative"]
    }
    functions["absolute"] = np.absolute
    x = floats(dtype)
    found = evaluate([(dtype, f"{name}(a)") for name in functions], x)
    for result, function in zip(found, functions.values(), strict=True):
        with np.errstate(all="ignore"):
            same(result, function(x))


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_two_floats(dtype):
    names = [
        "add",
        "subtract",
        "multiply",
        "divide",
        "copysign",
        "floor_divide",
        "remainder",
        "fmod",
    ]
    x, y = pairs(floats(dtype))
    found = evaluate([(dtype, f"{name}(a, b)") for name in names], x, y)
    for name, result in zip(names, found, strict=True):
        with np.errstate(all="ignore"):
            same(result, getattr(np, name)(x, y))


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_wins_and_zeros_have_an_order(dtype):
    x, y = pairs(floats(dtype))
    greater, less = evaluate([(dtype, "maximum(a, b)"), (dtype, "minimum(a, b)")], x, y)
    for found, function, zero in ((greater, np.maximum, 0.0), (less, np.minimum, -0.0)):
        expected = function(x, y)
        expected[(x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y))] = zero
        same(found, expected)


def test_fma_rounds_once():
    x = np.array([1 + 2.0**-12], np.float32)
    y = np.array([1 + 2.0**-30])
    narrow, wide = evaluate(
        [("float32", "fma(a, a, -(a * a))"), ("float64", "fma(b, b, -(b * b))")], x, y
    )
    assert narrow[0] == 2.0**-24
    assert wide[0] == 2.0**-60


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_in_any_order_keep_special_values(dtype):
    x, y = pairs(floats(dtype))
    total, product = evaluate([(dtype, "add_any(a, b)"), (dtype, "multiply_any(a, b)")], x, y)
    with np.errstate(all="ignore"):
        same(total, x + y)
        same(product, x * y)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_functions_of_integers(dtype):
    two = "add subtract multiply floor_divide remainder maximum minimum bitwise_and bitwise_or bitwise_xor"
    one = "negative absolute bitwise_invert"
    x, y = pairs(integers(dtype))
    names = [*two.split(), *one.split()]
    calls = [f"{name}(a, b)" for name in two.split()] + [f"{name}(a)" for name in one.split()]
    found = evaluate([(dtype, call) for call in calls], x, y)
    for name, result in zip(names, found, strict=True):
        with np.errstate(all="ignore"):
            function = getattr(np, name)
            same(result, function(x) if name in one else function(x, y))


def test_the_upper_half_of_a_product():
    x, y = pairs(integers("uint32"))
    (found,) = evaluate([("uint32", "multiply_high(a, b)")], x, y)
    expected = [int(a) * int(b) >> 32 for a, b in zip(x, y, strict=True)]
    same(found, np.array(expected, np.uint32))
    same(FUNCTIONS["multiply_high"](x, y), found)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_beyond_the_width_shift_everything_out(dtype):
    bits = np.iinfo(dtype).bits
    counts = np.array([0, 1, bits - 1, bits, bits + 1, 100], dtype)
    x, count = np.repeat(integers(dtype), len(counts)), np.tile(counts, len(integers(dtype)))
    left, right = evaluate([(dtype, "left_shift(a, b)"), (dtype, "right_shift(a, b)")], x, count)
    same(left, np.left_shift(x, count))
    same(right, np.right_shift(x, count))


def test_functions_of_booleans():
    x, y = pairs(np.array([False, True]))
    names = ["bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "minimum"]
    calls = [f"{name}(a, b)" for name in names] + ["bitwise_invert(a)", "select(a, b, True)"]
    found = evaluate([("bool", call) for call in calls], x, y)
    expected = [getattr(np, name)(x, y) for name in names] + [~x, np.where(x, y, True)]
    for result, wanted in zip(found, expected, strict=True):
        same(result, wanted)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_select(dtype):
    x, y = pairs(integers(dtype) if dtype in INTEGERS else floats(dtype))
    (found,) = evaluate([(dtype, "select(b > a, a, b)")], x, y)
    same(found, np.where(y > x, x, y))


@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS, "bool"])
def test_conversions_by_value(source):
    results = [*INTEGERS, *FLOATS, "bool"]
    if source in FLOATS:
        x = np.array([0.0, -0.0, 0.75, 1.0, 2.5, 99.99, 127.0], source)
    else:
        x = integers(source) if source in INTEGERS else np.array([False, True])
    calls = [(one, f"to_{one}{'_' if one == 'bool' else ''}(a)") for one in results]
    for found, wanted in zip(evaluate(calls, x), results, strict=True):
        same(found, x.astype(wanted))


@pytest.mark.parametrize("source", FLOATS)
def test_floats_reach_the_ends_of_integer_ranges(source):
    gap = 2.0 ** (24 if source == "float32" else 53)
    for result in INTEGERS:
        info = np.iinfo(result)
        largest = float(info.max) if info.max < gap else float(info.max + 1) * (1 - 1 / gap)
        x = np.array([info.min, largest, -0.5], source)
        (found,) = evaluate([(result, f"to_{result}(a)")], x)
        same(found, x.astype(result))


@pytest.mark.parametrize("source", FLOATS)
def test_what_fits_into_no_integer_spoils_nothing(source):
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 5.0], source)
    for result in INTEGERS:
        expression = f"select(absolute(a) < to_{source}(100.0), to_{result}(a), to_{result}(7))"
        (found,) = evaluate([(result, expression)], x)
        assert found.tolist() == [7, 7, 7, 7, 7, 5]


def test_conversions_by_bits():
    x, y = floats("float32"), floats("float64")
    calls = [
        ("int32", "as_int32(a)"),
        ("uint32", "as_uint32(a)"),
        ("float32", "as_float32(as_int32(a))"),
    ]
    calls += [
        ("int64", "as_int64(b)"),
        ("uint64", "as_uint64(b)"),
        ("float64", "as_float64(as_uint64(b))"),
    ]
    found = evaluate(calls, x, y)
    for result, wanted in zip(found, [x, x, x, y, y, y], strict=True):
        np.testing.assert_array_equal(result.view(wanted.view("i1").dtype), wanted.view("i1"))


HALVES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


@pytest.mark.parametrize("hardware", [True, False])
@pytest.mark.parametrize("name", HALVES)
def test_every_half_precision_number(monkeypatch, name, hardware):
    if not hardware:
        monkeypatch.setattr(half, "converts_half", lambda: False)
    every = np.arange(1 << 16, dtype=np.uint16).view(HALVES[name])
    (wide,) = evaluate([("float32", "a")], every, salt=str(hardware))
    same(wide, every.astype(np.float32))
    (back,) = evaluate([(HALVES[name], "a")], wide, salt=str(hardware))
    same(back.astype(np.float32), wide)


@pytest.mark.parametrize("hardware", [True, False])
@pytest.mark.parametrize("name", HALVES)
def test_rounding_to_half_precision(monkeypatch, name, hardware):
    if not hardware:
        monkeypatch.setattr(half, "converts_half", lambda: False)
    every = np.arange(1 << 16, dtype=np.uint16).view(HALVES[name]).astype(np.float32)
    finite = np.unique(every[np.isfinite(every)])
    between = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)
    beyond = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, 65519.0, 65520.0, 1e-45], np.float32)
    x = np.concatenate(
        [
            between,
            np.nextafter(between, np.float32(0)),
            np.nextafter(between, np.float32(9e9)),
            beyond,
        ]
    )
    stored, rounded = evaluate(
        [(HALVES[name], "a"), ("float32", f"round_{name}(a)")], x, salt=str(hardware)
    )
    with np.errstate(all="ignore"):
        expected = x.astype(HALVES[name]).astype(np.float32)
    same(stored.astype(np.float32), expected)
    same(rounded, expected)


def test_arguments_out_of_slots():
    body = """
    y = array_at(varying, 0)
    store_float64(y, 0, to_float64(unsigned_at(fixed, 0)))
    store_float64(y, 1, to_float64(integer_at(fixed, 1)))
    store_float64(y, 2, float64_at(varying, 1))"""
    y = np.zeros(3)
    kernel_function(*named(body)).call(0, 1, slots(y, 0.25), slots(3, -4))
    assert y.tolist() == [3.0, -4.0, 0.25]


def test_arrays_by_the_address_of_their_data(monkeypatch):
    monkeypatch.setattr(memory, "data_offset", lambda: None)
    name, source = text([("float32", "a + a")], [np.dtype("float32")], salt="addresses")
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    kernel_function(name, source).call(0, 4, slots(x.ctypes.data, y.ctypes.data), b"")
    assert y.tolist() == [0, 2, 4, 6]


def test_negative_strides_are_twos_complements():
    body = """
    x = array_at(varying, 0)
    y = array_at(varying, 1)
    step = unsigned_at(fixed, 0)
    for i in range(start, stop):
        store_int32(y, i, load_int32(x, i * step))"""
    x, y = np.arange(5, dtype=np.int32), np.zeros(5, np.int32)
    kernel_function(*named(body)).call(0, 5, slots(x[::-1], y), slots(-1))
    assert y.tolist() == [4, 3, 2, 1, 0]


def test_scratch_memory_and_outputs_can_be_read_back():
    body = """
    x = array_at(varying, 0)
    y = array_at(varying, 1)
    for i in range(start, stop):
        row = allocate(unsigned_at(fixed, 0) * np.uint64(8))
        for j in range(np.uint64(0), unsigned_at(fixed, 0)):
            store_float64(row, j, load_float64(x, i) + to_float64(j))
        for j in range(np.uint64(1), unsigned_at(fixed, 0)):
            store_float64(row, j, peek_float64(row, j) + peek_float64(row, j - np.uint64(1)))
        store_float64(y, i, peek_float64(row, unsigned_at(fixed, 0) - np.uint64(1)))
        store_float64(y, i, peek_float64(y, i) * 2.0)
        release(row)"""
    x, y = np.array([0.0, 1.0, 10.0]), np.zeros(3)
    kernel_function(*named(body)).call(0, 3, slots(x, y), slots(5))
    assert y.tolist() == [20.0, 30.0, 120.0]


def test_an_output_may_lie_where_an_input_does():
    """Position by position: what is read twice in an iteration was not yet overwritten in it."""
    body = """
    x = array_at(varying, 0)
    y = array_at(varying, 1)
    z = array_at(varying, 2)
    for i in range(start, stop):
        a = load_float32(x, i)
        store_float32(y, i, sqrt(a) + a)
        store_float32(z, i, a * a)"""
    given = np.arange(1000, dtype=np.float32)
    x, z = given.copy(), np.zeros_like(given)
    kernel_function(*named(body)).call(0, 1000, slots(x, x, z), b"")
    np.testing.assert_array_equal(x, np.sqrt(given) + given)
    np.testing.assert_array_equal(z, given * given)


def machine_code(name, source):
    return str(optimised(lowered(name, source)))


def test_many_operands_become_vector_code_without_checks():
    inputs = [np.dtype("float32")] * 12
    total = " + ".join("abcdefghjklm")
    outputs = [("float32", f"({total}) * a"), ("float32", "maximum(a, b)"), ("bool", "a < b")]
    code = machine_code(*text([*outputs, ("float16", "select(c < d, fma(a, b, c), d)")], inputs))
    assert "memcheck" not in code
    assert len(re.findall(r"load <\d+ x float>", code)) >= 12


@pytest.mark.parametrize(
    ("expression", "source", "vector"),
    [
        ("to_float32(to_int32(a))", "float32", r"fptosi <\d+ x float>"),
        ("to_float64(to_int64(a))", "float64", r"fptosi <\d+ x double>"),
        ("maximum(a, a * a)", "float32", r"llvm\.maximum\.v\d+f32"),
        ("rint(sqrt(a))", "float64", r"llvm\.rint\.v\d+f64"),
        ("multiply(a, a)", "int32", r"mul <\d+ x i32>"),
        ("multiply_high(a, a)", "uint32", r"mul (nuw )?(nsw )?<\d+ x i64>"),
        ("add(a, left_shift(a, a))", "int8", r"shl <\d+ x i8>"),
        ("to_int32(a + a)", "int32", r"(add|shl) <\d+ x i32>"),
        ("as_float32(to_int32(as_int32(a) << np.int32(23)))", "float32", r"shl <\d+ x i32>"),
        ("a", "float16", r"load <\d+ x (half|i16)>"),
        ("a", "bfloat16", r"load <\d+ x i16>"),
    ],
)
def test_vector_code(expression, source, vector):
    dtype = HALVES.get(source, np.dtype(source))
    result = "float32" if source in HALVES else source
    code = machine_code(*text([(result, expression)], [dtype]))
    assert re.search(vector, code), code


def test_sums_in_any_order_are_vector_code():
    body = """
    x = array_at(varying, 0)
    y = array_at(varying, 1)
    total = 0.0
    largest = -np.inf
    for i in range(start, stop):
        value = to_float64(load_float32(x, i))
        total = add_any(total, value)
        largest = maximum(largest, value)
    store_float64(y, 0, total)
    store_float64(y, 1, largest)"""
    code = machine_code(*named(body))
    assert re.search(r"fadd reassoc <\d+ x double>", code)
    assert re.search(r"llvm\.maximum\.v\d+f64", code)


def test_an_error_shows_the_line_of_the_kernel():
    from numba.core.errors import TypingError

    name, source = text([("float32", "fma(a, a)")], [np.dtype("float32")])
    with pytest.raises(TypingError) as caught:
        kernel_function(name, source)
    assert f"<tensorframe {name}>" in str(caught.value)
    assert "fma(a, a)" in str(caught.value)


def test_long_loops_compute_several_vectors_in_turns(monkeypatch):
    line = "        a = load_float64(x0, i)\n"
    told = line.replace("a =", "in_turns()\n        a =")
    name, source = text([("float64", "a / b")], ["float64", "float64"])
    found = {}
    for vectors in (1, 4):
        monkeypatch.setattr("tensorframe.backends.numba.lower._VECTORS", vectors)
        module = str(optimised(lowered(name, source.replace(line, told))))
        loop = module[module.index("vector.body:") :]
        found[vectors] = loop[: loop.index("\n\n")].count("fdiv <")
    assert found == {1: 1, 4: 4}


def test_heavy_loops_over_many_elements_are_long():
    many, few = (tfr.asarray(np.ones((300, n)), device="numba").T for n in (1000, 10))
    heavy, light = tfr.exp(many + 1.0), many + 1.0
    assert "in_turns()" in str(heavy.explain(source=True))
    assert "in_turns()" not in str(light.explain(source=True))
    rows = tfr.exp(few[:5] + 1.0)
    assert "in_turns()" not in str(rows.explain(source=True))


STREAMED = """\
    y0, x0 = array_at(varying, 0), array_at(varying, 1)
    count = unsigned_at(fixed, 0)
    w0 = allocate(count * np.uint64(4))
    for i in range(np.uint64(0), count):
        store_float32(w0, i, load_float32(x0, i))
    stream_float32(y0, start, w0, count)
    fence()
    release(w0)"""


def test_streams_of_any_place_and_length():
    function = kernel_function(*named(STREAMED))
    x = np.arange(1, 200, dtype=np.float32)
    for start in range(40):
        for count in (0, 1, 3, 15, 16, 17, 31, 32, 33, 100):
            y = np.zeros(200, np.float32)
            function.call(start, start, slots(y, x), np.uint64(count).tobytes())
            expected = np.zeros(200, np.float32)
            expected[start : start + count] = x[:count]
            assert np.array_equal(y, expected)
