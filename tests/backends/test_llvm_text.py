"""Kernels as LLVM text: NumPy's values on every special operand, arguments and memory."""

from dataclasses import replace

import numpy as np
import pytest

from tensorframe.kernel.ir import (
    INDEX,
    Allocate,
    Buffer,
    If,
    Let,
    Loop,
    Role,
    Set,
    Store,
    apply,
    argument,
    index,
    load,
    variable,
)
from tensorframe.kernel.ir.formula import (
    cast,
    fma,
    sqrt,
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

from tensorframe.backends.llvm.functions import kernel_function
from tensorframe.backends.llvm.target import target
from tests.backends.llvm_values import (
    COUNT,
    F4,
    FLOATS,
    INTEGERS,
    MACHINES,
    SIGNED,
    integers,
    number,
    operands_of,
    same,
    size,
)

CONVERSIONS = {"cast", "bitcast", "to_index", "from_index"}
COMPARISONS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
ARITY = dict.fromkeys(("negative", "abs", "sqrt", "floor", "ceil", "trunc", "round"), 1)
GIVES = {"dot4": "int32"}
ARITY |= {"logical_not": 1, "bitwise_invert": 1, "fma": 3, "where": 3}


@pytest.mark.sweep(2)
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
