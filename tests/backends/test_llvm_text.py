"""Kernels as LLVM text: NumPy's values on every special operand, and vector code."""

import re
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.codegen.llvm import statements
from tensorframe.kernel.ir import (
    INDEX,
    START,
    Allocate,
    Buffer,
    If,
    Let,
    Loop,
    Role,
    Set,
    Store,
    StreamingStore,
    apply,
    argument,
    index,
    literal,
    load,
    variable,
)
from tensorframe.kernel.ir.formula import (
    bitcast,
    cast,
    fma,
    maximum,
    multiply_high,
    rint,
    sqrt,
    where,
)
from tensorframe.kernel.ir.interpret import FUNCTIONS
from tensorframe.kernel.ir.machine_ops import MACHINE_OPS
from tests.backends.kernels import (
    I,
    elementwise,
    evaluate,
    kernel,
    named,
    operand,
    over,
    result,
    slots,
    text,
)

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

from tensorframe.backends.llvm.compile import optimised
from tensorframe.backends.llvm.functions import kernel_function
from tensorframe.backends.llvm.target import target

FLOATS = ["float32", "float64"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
COUNT = argument("count")


def number(value, dtype):
    return literal(value, np.dtype(dtype))


def size(value):
    return literal(value, INDEX)


def floats(dtype):
    info = np.finfo(dtype)
    magnitudes = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 7.25, 1e5, np.inf, np.nan]
    magnitudes += [float(info.max), float(info.tiny), float(info.smallest_subnormal), 2.0**31]
    return np.array(magnitudes + [-one for one in magnitudes], dtype)


def integers(dtype):
    info = np.iinfo(dtype)
    return np.array([0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1], dtype)


def same(found, expected):
    """Equal bit by bit, but for the bits of NaN."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


def operands_of(dtype):
    if np.dtype(dtype) == bool:
        return np.array([False, True])
    return floats(dtype) if dtype in FLOATS else integers(dtype)


# LLVM's passes make vectors of loops over elements, or they are printed as vectors: that compiles anywhere
_MASKS = frozenset({"+avx512vl", "+avx512bw", "+avx512dq", "+fma"})
MACHINES = {
    "elements": replace(target(), features=target().features - _MASKS),
    "vectors": replace(
        target(), triple="x86_64-unknown-linux-gnu", features=target().features | _MASKS
    ),
}
assert [one.has_masks for one in MACHINES.values()] == [False, True]

CONVERSIONS = {"cast", "bitcast", "to_index", "from_index"}
COMPARISONS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
ARITY = dict.fromkeys(("negative", "abs", "sqrt", "floor", "ceil", "trunc", "round"), 1)
GIVES = {"dot4": "int32"}
ARITY |= {"logical_not": 1, "bitwise_invert": 1, "fma": 3, "where": 3}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(name, dtype.name, id=f"{name}-{dtype.name}")
        for name, accepted in MACHINE_OPS.items()
        if name not in CONVERSIONS | {"where_rare"}
        for dtype in sorted(accepted, key=str)
    ],
)
def test_every_machine_op_means_what_the_interpreter_says(name, dtype):
    values = operands_of(dtype)
    arity = ARITY.get(name, 2)
    grids = [one.ravel() for one in np.meshgrid(*[values] * min(arity, 2), indexing="ij")]
    if name == "where":
        grids = [grids[0] != values[0], *grids]
    elif name == "fma":
        grids = [*grids, grids[0][::-1].copy()]
    gives = np.dtype(bool if name in COMPARISONS else GIVES.get(name, dtype))
    expressions = [(gives, lambda *given: apply(name, *given, dtype=gives))]
    with np.errstate(all="ignore"):
        expected = np.asarray(FUNCTIONS[name](*grids))
    if name in ("maximum", "minimum") and dtype in FLOATS:
        x, y = grids  # NumPy takes either zero
        unlike = (x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y))
        expected[unlike] = 0.0 if name == "maximum" else -0.0
    for machine in MACHINES.values():
        (found,) = evaluate(expressions, *grids, machine=machine)
        same(found, expected)


def test_fma_rounds_once():
    x = np.array([1 + 2.0**-12], np.float32)
    y = np.array([1 + 2.0**-30])
    narrow, wide = evaluate(
        [
            ("float32", lambda a, b: fma(a, a, -(a * a))),
            ("float64", lambda a, b: fma(b, b, -(b * b))),
        ],
        x,
        y,
    )
    assert narrow[0] == 2.0**-24
    assert wide[0] == 2.0**-60


@pytest.mark.parametrize("dtype", FLOATS)
def test_nothing_is_contracted_or_taken_apart(dtype):
    """A product and a sum are rounded twice, and a division is none by a rounded reciprocal."""
    generator = np.random.default_rng(0)
    x, y, z = (generator.normal(size=1000).astype(dtype) for _ in range(3))
    total, ratio = evaluate(
        [(dtype, lambda a, b, c: a * b + c), (dtype, lambda a, b, c: a / number(3, dtype))], x, y, z
    )
    same(total, x * y + z)
    same(ratio, x / np.array(3, dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_beyond_the_width_shift_everything_out(dtype):
    bits = np.iinfo(dtype).bits
    counts = np.array([0, 1, bits - 1, bits, bits + 1, 100], dtype)
    x, count = np.repeat(integers(dtype), len(counts)), np.tile(counts, len(integers(dtype)))
    left, right = evaluate([(dtype, lambda a, b: a << b), (dtype, lambda a, b: a >> b)], x, count)
    same(left, np.left_shift(x, count))
    same(right, np.right_shift(x, count))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_constants_are_divided_and_shifted_by_as_variables_are(dtype):
    """They are printed without the checks of variables."""
    info = np.iinfo(dtype)
    x = integers(dtype)
    by = [1, 3, 7, info.max, 0, *([-1, -2, info.min] if dtype in SIGNED else [])]
    ops = ("floor_divide", "remainder", "bitwise_left_shift", "bitwise_right_shift")
    cases = [(name, one) for name in ops for one in by]
    found = evaluate(
        [(dtype, lambda a, c=case: apply(c[0], a, number(c[1], dtype))) for case in cases], x
    )
    for (name, one), given in zip(cases, found, strict=True):
        with np.errstate(all="ignore"):
            same(given, np.asarray(FUNCTIONS[name](x, np.full_like(x, one))))


@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS, "bool"])
def test_conversions_by_value(source):
    results = [*INTEGERS, *FLOATS, "bool"]
    fractions = np.array([0.0, -0.0, 0.75, 1.0, 2.5, 99.99, 127.0], np.float64)
    x = fractions.astype(source) if source in FLOATS else operands_of(source)
    calls = [(result, lambda a, to=result: cast(a, np.dtype(to))) for result in results]
    for machine in MACHINES.values():
        for found, wanted in zip(evaluate(calls, x, machine=machine), results, strict=True):
            same(found, x.astype(wanted))


@pytest.mark.parametrize("source", FLOATS)
def test_floats_reach_the_ends_of_integer_ranges(source):
    gap = 2.0 ** (24 if source == "float32" else 53)
    for wanted in INTEGERS:
        info = np.iinfo(wanted)
        largest = float(info.max) if info.max < gap else float(info.max + 1) * (1 - 1 / gap)
        x = np.array([info.min, largest, -0.5], source)
        (found,) = evaluate([(wanted, lambda a, to=wanted: cast(a, np.dtype(to)))], x)
        same(found, x.astype(wanted))


@pytest.mark.parametrize("source", FLOATS)
def test_what_fits_into_no_integer_spoils_nothing(source):
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 5.0], source)
    for wanted in map(np.dtype, INTEGERS):

        def guarded(a, to=wanted):
            return where(abs(a) < 100.0, cast(a, to), literal(7, to))

        (found,) = evaluate([(wanted, guarded)], x)
        assert found.tolist() == [7, 7, 7, 7, 7, 5]


def test_conversions_by_bits():
    x, y = floats("float32"), floats("float64")
    i4, u4, f4, i8, u8, f8 = map(np.dtype, ("i4", "u4", "f4", "i8", "u8", "f8"))
    calls = [
        (i4, lambda a, b: bitcast(a, i4)),
        (u4, lambda a, b: bitcast(a, u4)),
        (f4, lambda a, b: bitcast(bitcast(a, i4), f4)),
        (i8, lambda a, b: bitcast(b, i8)),
        (u8, lambda a, b: bitcast(bitcast(b, i8), u8)),
        (f8, lambda a, b: bitcast(bitcast(b, u8), f8)),
    ]
    for found, wanted in zip(evaluate(calls, x, y), [x, x, x, y, y, y], strict=True):
        np.testing.assert_array_equal(found.view("i1"), wanted.view("i1"))


HALVES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
F4 = np.dtype(np.float32)


def without_half(machine):
    """A machine that does not convert half precision itself."""
    return replace(machine, triple="x86_64", features=machine.features - {"+f16c"})


HALF_MACHINES = {
    **MACHINES,
    "elements by bits": without_half(MACHINES["elements"]),
    "vectors by bits": without_half(MACHINES["vectors"]),
}


@pytest.mark.parametrize("machine", HALF_MACHINES)
@pytest.mark.parametrize("name", HALVES)
def test_every_half_precision_number(name, machine):
    machine = HALF_MACHINES[machine]
    every = np.arange(1 << 16, dtype=np.uint16).view(HALVES[name])
    (wide,) = evaluate([(F4, lambda a: cast(a, F4))], every, machine=machine)
    same(wide, every.astype(np.float32))
    (back,) = evaluate([(HALVES[name], lambda a: cast(a, HALVES[name]))], wide, machine=machine)
    same(back.astype(np.float32), wide)


@pytest.mark.parametrize("machine", HALF_MACHINES)
@pytest.mark.parametrize("name", HALVES)
def test_rounding_to_half_precision(name, machine):
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
    half = HALVES[name]
    stored, rounded = evaluate(
        [(half, lambda a: cast(a, half)), (F4, lambda a: cast(cast(a, half), F4))],
        x,
        machine=HALF_MACHINES[machine],
    )
    with np.errstate(all="ignore"):
        expected = x.astype(half).astype(np.float32)
    same(stored.astype(np.float32), expected)
    same(rounded, expected)


def test_arguments_out_of_slots():
    y = result(0, "float64")
    scalars = [argument("c0", np.dtype("f8")), argument("c1", F4), argument("c2", np.dtype(bool))]
    sizes = [COUNT, argument("n1", np.dtype("i8")), argument("n2", np.dtype("i4"))]
    stores = [Store(y, size(k), cast(one, y.dtype)) for k, one in enumerate([*sizes, *scalars])]
    found = np.zeros(6)
    function = kernel_function(*named(kernel(stores, [], [y], scalars, sizes)))
    as_float32 = (
        int(np.float32(-1.5).view(np.uint32)) | 7 << 32
    )  # what is above it is not looked at
    function.call(0, 1, slots(found, 0.25, as_float32, 1), slots(3, -4, -(2**31)))
    assert found.tolist() == [3.0, -4.0, -(2.0**31), 0.25, -1.5, 1.0]


def test_arrays_by_the_address_of_their_data():
    machine = replace(target(), data_offset=None)
    name, source = text([("float32", lambda a: a + a)], ["float32"], machine=machine)
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    kernel_function(name, source).call(0, 4, slots(x.ctypes.data, y.ctypes.data), b"")
    assert y.tolist() == [0, 2, 4, 6]


def test_negative_strides_are_twos_complements():
    x, y = operand(0, "int32"), result(0, "int32")
    body = [over(Store(y, I, load(x, I * COUNT)))]
    given, found = np.arange(5, dtype=np.int32), np.zeros(5, np.int32)
    function = kernel_function(*named(kernel(body, [x], [y], sizes=[COUNT])))
    function.call(0, 5, slots(given[::-1], found), slots(-1))
    assert found.tolist() == [4, 3, 2, 1, 0]


def test_scratch_memory_and_outputs_can_be_read_back():
    x, y = operand(0, "float64"), result(0, "float64")
    row, j = Buffer("row", x.dtype, Role.SCRATCH), index("j")
    body = [
        Allocate(row, COUNT),
        over(
            Loop(j, size(0), COUNT, (Store(row, j, load(x, I) + cast(j, x.dtype)),)),
            Loop(j, size(1), COUNT, (Store(row, j, load(row, j) + load(row, j - 1)),)),
            Store(y, I, load(row, COUNT - 1)),
            Store(y, I, load(y, I) * 2.0),
        ),
    ]
    given, found = np.array([0.0, 1.0, 10.0]), np.zeros(3)
    function = kernel_function(*named(kernel(body, [x], [y], sizes=[COUNT])))
    function.call(0, 3, slots(given, found), slots(5))
    assert found.tolist() == [20.0, 30.0, 120.0]


def test_an_output_may_lie_where_an_input_does():
    """Position by position: what is read twice in an iteration was not yet overwritten in it."""
    expressions = [("float32", lambda a: sqrt(a) + a), ("float32", lambda a: a * a)]
    one = elementwise(expressions, ["float32"])
    (loop,) = one.body
    a = variable("a", F4)
    first, second = loop.body
    body = over(
        Let(a, load(one.inputs[0], I)),
        replace(first, value=sqrt(a) + a),
        replace(second, value=a * a),
    )
    given = np.arange(1000, dtype=np.float32)
    x, z = given.copy(), np.zeros_like(given)
    kernel_function(*named(replace(one, body=(body,)))).call(0, 1000, slots(x, x, z), b"")
    np.testing.assert_array_equal(x, np.sqrt(given) + given)
    np.testing.assert_array_equal(z, given * given)


def test_variables_after_choices_and_loops_that_did_not_run():
    """What was set on one way only, and what loops within choices within loops have set."""
    x, y = operand(0, "int64"), result(0, "int64")
    total, j = variable("total", x.dtype), index("j")
    element = load(x, I)
    summed = Loop(j, size(0), cast(element, INDEX), (Set(total, total + cast(j, x.dtype)),))
    body = [
        Set(total, number(100, "int64")),
        over(
            If(element < 3, (Set(total, number(0, "int64")),)),
            If(element > 1, (summed,)),
            Store(y, I, total),
        ),
        Store(y, size(7), total),
    ]
    given, found = np.array([3, 0, 1, 2, 5, 0, 4]), np.zeros(8, np.int64)
    kernel_function(*named(kernel(body, [x], [y]))).call(0, 7, slots(given, found), b"")
    assert found.tolist() == [103, 0, 0, 1, 11, 0, 6, 6]
    kernel_function(*named(kernel(body, [x], [y]))).call(3, 3, slots(given, found), b"")
    assert found[7] == 100


def test_a_variable_of_a_loop_within_a_choice_is_the_loops_own():
    """Each turn sets it anew, and after the loop nobody knows it: the parts of a concatenation reduce like that."""
    x, y = operand(0, "int64"), result(0, "int64")
    largest, j, k = variable("largest", x.dtype), index("j"), index("k")
    raised = If(largest < cast(k, x.dtype), (Set(largest, cast(k, x.dtype)),))
    rows = Loop(
        j,
        size(0),
        size(2),
        (
            Set(largest, load(x, I)),
            Loop(k, size(0), size(5), (raised,)),
            Store(y, I * 2 + j, largest),
        ),
    )
    body = [over(If(load(x, I) < 10, (rows,)))]
    given, found = np.array([3, 20, 7]), np.zeros(6, np.int64)
    kernel_function(*named(kernel(body, [x], [y]))).call(0, 3, slots(given, found), b"")
    assert found.tolist() == [4, 4, 0, 0, 7, 7]


def machine_code(name, source):
    return str(optimised(source))


def test_many_operands_become_vector_code_without_checks():
    outputs = [
        ("float32", lambda *given: sum(given[1:], given[0]) * given[0]),
        ("float32", lambda a, b, *rest: maximum(a, b)),
        ("bool", lambda a, b, *rest: a < b),
        (
            HALVES["float16"],
            lambda a, b, c, d, *rest: cast(where(c < d, fma(a, b, c), d), HALVES["float16"]),
        ),
    ]
    code = machine_code(*text(outputs, ["float32"] * 12, machine=MACHINES["elements"]))
    assert "memcheck" not in code
    assert len(re.findall(r"load <\d+ x float>", code)) >= 12


I4, I8 = np.dtype("i4"), np.dtype("i8")


@pytest.mark.parametrize(
    ("expression", "source", "vector"),
    [
        (lambda a: cast(cast(a, I4), F4), "float32", r"fptosi <\d+ x float>"),
        (lambda a: cast(cast(a, I8), a.dtype), "float64", r"fptosi <\d+ x double>"),
        (lambda a: maximum(a, a * a), "float32", r"llvm\.maximum\.v\d+f32"),
        (lambda a: rint(sqrt(a)), "float64", r"llvm\.rint\.v\d+f64"),
        (lambda a: a * a, "int32", r"mul <\d+ x i32>"),
        (lambda a: multiply_high(a, a), "uint32", r"mul (nuw )?(nsw )?<\d+ x i64>"),
        (lambda a: a + (a << a), "int8", r"shl <\d+ x i8>"),
        (lambda a: a + a, "int32", r"(add|shl) <\d+ x i32>"),
        (lambda a: bitcast(bitcast(a, I4) << 23, F4), "float32", r"shl <\d+ x i32>"),
        (lambda a: cast(a, F4), "float16", r"load <\d+ x (half|i16)>"),
        (lambda a: cast(a, F4), "bfloat16", r"load <\d+ x i16>"),
    ],
)
def test_vector_code(expression, source, vector):
    dtype = HALVES.get(source, np.dtype(source))
    gives = "float32" if source in HALVES else source
    for machine in MACHINES.values():
        code = machine_code(*text([(gives, expression)], [dtype], machine=machine))
        assert re.search(vector, code), code


def test_sums_in_lanes_are_vector_code():
    x, y = operand(0, "float32"), result(0, "float64")
    total, largest, value = (variable(name, y.dtype) for name in ("total", "largest", "value"))
    body = [
        Set(total, number(0.0, "float64")),
        Set(largest, number(-np.inf, "float64")),
        over(
            Let(value, cast(load(x, I), y.dtype)),
            Set(total, apply("accumulate_add", total, value)),
            Set(largest, maximum(largest, value)),
        ),
        Store(y, size(0), total),
        Store(y, size(1), largest),
    ]
    for machine in MACHINES.values():
        code = machine_code(*named(kernel(body, [x], [y]), machine=machine))
        assert re.search(r"fadd <\d+ x double>", code)
        assert re.search(r"llvm\.maximum\.v\d+f64", code)


def test_no_instruction_may_be_reordered():
    expressions = [
        ("float32", lambda a, b: fma(a, b, a) + a * b - a / b + maximum(a, sqrt(b))),
        ("float32", lambda a, b: apply("accumulate_add", a, b)),
        ("float32", lambda a, b: apply("accumulate_multiply", a, b)),
    ]
    _, source = text(expressions, ["float32", "float32"], machine=MACHINES["elements"])
    flags = ("fast", "reassoc", "contract", "nnan", "ninf", "nsz", "arcp", "afn")
    assert not [one for one in flags if re.search(rf"\b{one}\b", source)]


def test_long_loops_compute_several_vectors_in_turns(monkeypatch):
    one = elementwise([("float64", lambda a, b: a / b)], ["float64", "float64"], long=True)
    found = {}
    for vectors in (1, 4):
        monkeypatch.setattr(statements, "INTERLEAVED", vectors)
        module = machine_code(*named(one, machine=MACHINES["elements"]))
        loop = module[module.index("vector.body:") :]
        found[vectors] = loop[: loop.index("\n\n")].count("fdiv <")
    assert found == {1: 1, 4: 4}


def test_heavy_loops_over_many_elements_are_long():
    many, few = (tfr.asarray(np.ones((300, n)), device="llvm").T for n in (1000, 10))
    heavy, light = tfr.exp(many + 1.0), many + 1.0
    assert "interleave()" in str(heavy.explain(source=True))
    assert "interleave()" not in str(light.explain(source=True))
    rows = tfr.exp(few[:5] + 1.0)
    assert "interleave()" not in str(rows.explain(source=True))


def test_streams_of_any_place_and_length():
    x, y = operand(0, "float32"), result(0, "float32")
    scratch, j = Buffer("w0", F4, Role.SCRATCH), index("j")
    body = [
        Allocate(scratch, COUNT),
        Loop(j, size(0), COUNT, (Store(scratch, j, load(x, j)),)),
        StreamingStore(y, START, scratch, COUNT),
    ]
    function = kernel_function(*named(kernel(body, [x], [y], sizes=[COUNT])))
    given = np.arange(1, 200, dtype=np.float32)
    for start in range(40):
        for count in (0, 1, 3, 15, 16, 17, 31, 32, 33, 100):
            found = np.zeros(200, np.float32)
            function.call(start, start, slots(given, found), np.uint64(count).tobytes())
            expected = np.zeros(200, np.float32)
            expected[start : start + count] = given[:count]
            assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("triple", "has", "lacks"),
    [
        ("x86_64-unknown-linux-gnu", ["@aligned_alloc", "@free", "sfence"], ["_malloc"]),
        ("x86_64-pc-windows-msvc", ["@_aligned_malloc", "@_aligned_free", "sfence"], ["@free"]),
        ("aarch64-apple-darwin", ["@aligned_alloc", "@free"], ["sfence", "x86"]),
    ],
)
def test_what_belongs_to_other_machines(triple, has, lacks):
    """Their text is as good as this machine's can tell: LLVM reads and verifies it."""
    import llvmlite.binding as llvm

    scratch = Buffer("w0", F4, Role.SCRATCH)
    y = result(0, "float32")
    one = kernel(
        [Allocate(scratch, COUNT), StreamingStore(y, START, scratch, COUNT)], [], [y], (), [COUNT]
    )
    _, source = named(one, machine=replace(target(), triple=triple, features=frozenset()))
    llvm.parse_assembly(source).verify()
    assert [name for name in has if name not in source] == []
    assert [name for name in lacks if name in source] == []
