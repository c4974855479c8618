"""Loops printed as vectors: every length and dtype, reductions, and what is left to LLVM's own vectoriser."""

import re

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.kernel.ir import (
    INDEX,
    START,
    STOP,
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
    literal,
    load,
    variable,
)
from tensorframe.kernel.ir.formula import cast, where
from tests.backends.kernels import I, elementwise, kernel, named, operand, over, result, slots
from tests.backends.llvm_values import FLOATS, INTEGERS, MACHINES
from tests.kernel.interpreted import kernels_of

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

from tensorframe.backends.llvm.functions import kernel_function
from tensorframe.codegen.llvm import SELECTED

LENGTHS = [*range(40), 63, 64, 65, 127, 128, 129, 300]
J, WIDTH = index("j"), argument("width")


def compiled(one):
    """The function of a kernel that is printed as vectors."""
    name, source = named(one, machine=MACHINES["vectors"])
    assert source.startswith(SELECTED)
    return kernel_function(name, source)


def is_on_vectors(one):
    return named(one, machine=MACHINES["vectors"])[1].startswith(SELECTED)


def some(dtype, size, seed=0):
    generator = np.random.default_rng(seed)
    if np.dtype(dtype) == bool:
        return generator.random(size) < 0.5
    return (generator.normal(size=size) * 20).astype(dtype)


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "bool", "float16"])
def test_every_length_is_computed_and_nothing_beyond_it(dtype, heavy):
    """Heavy loops take a block at once, light ones a part of it after the other."""

    def expression(a, b):
        if a.dtype == bool:
            return where(a, b, apply("logical_not", b))
        if a.dtype == np.float16:
            return where(cast(a, np.dtype("f4")) < cast(b, np.dtype("f4")), a, b)
        for _ in range(4 if heavy else 1):
            a = a * b + a
        return a

    function = compiled(elementwise([(dtype, expression)], [dtype, dtype], long=heavy))
    x, y = some(dtype, 300), some(dtype, 300, seed=1)
    with np.errstate(all="ignore"):
        expected = np.where(x, y, ~y) if dtype == "bool" else np.where(x < y, x, y)
        if dtype not in ("bool", "float16"):
            expected = x
            for _ in range(4 if heavy else 1):
                expected = expected * y + expected
    for length in LENGTHS:
        for start in {0, min(3, length)}:
            found = np.full(300, 1, dtype)
            function.call(start, length, slots(x, y, found), b"")
            np.testing.assert_array_equal(found[start:length], expected[start:length])
            assert (found[:start] == 1).all()
            assert (found[length:] == 1).all()


def reduction(op, dtype, first, element=lambda one: one):
    """The kernel that joins the elements of each of its rows, and adds how many it has seen of 0."""
    x, y, z = operand(0, dtype), result(0, dtype), result(1, "bool")
    total, seen = variable("total", x.dtype), variable("seen", np.dtype(bool))
    value = element(load(x, I * WIDTH + J))
    zero = apply("equal", value, literal(0, x.dtype), dtype=np.dtype(bool))
    joined = Set(total, apply(op, total, value))
    noted = Set(seen, apply("logical_or", apply("logical_or", seen, zero), zero))
    body = [
        Set(seen, literal(0, seen.dtype)),
        over(
            Set(total, literal(first, x.dtype)),
            Loop(J, literal(0, INDEX), WIDTH, (joined, noted)),
            Store(y, I, total),
        ),
        Store(z, literal(0, INDEX), seen),
    ]
    return kernel(body, [x], [y, z], sizes=[WIDTH])


REDUCTIONS = {
    "accumulate_add": (np.add, 5),
    "accumulate_multiply": (np.multiply, 1),
    "maximum": (np.maximum, 0),
    "minimum": (np.minimum, 3),
    "add": (np.add, 5),
    "multiply": (np.multiply, 3),
    "bitwise_xor": (np.bitwise_xor, 9),
    "bitwise_or": (np.bitwise_or, 1),
    "bitwise_and": (np.bitwise_and, 127),
}


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        (op, dtype)
        for op in REDUCTIONS
        for dtype in ("float32", "float64", "int8", "uint16", "int32", "int64")
        if op in ("accumulate_add", "accumulate_multiply", "maximum", "minimum") or "int" in dtype
    ],
)
def test_reductions_of_every_length(op, dtype):
    function = compiled(reduction(op, dtype, REDUCTIONS[op][1]))
    join, first = REDUCTIONS[op]
    # small whole numbers: sums in any order are the same
    x = (some(dtype, 3 * 300) // 16).astype(dtype)
    if op == "accumulate_multiply":
        x = np.where(x > 0, 2, -1).astype(dtype)[: 3 * 20]
    for width in [length for length in LENGTHS if 3 * length <= x.size]:
        found, seen = np.zeros(4, dtype), np.zeros(1, bool)
        function.call(0, 3, slots(x, found, seen), slots(width))
        rows = x[: 3 * width].reshape(3, width)
        begun = np.concatenate([np.full((3, 1), first, dtype), rows], axis=1)
        expected = join.reduce(begun, axis=1, dtype=dtype)
        np.testing.assert_array_equal(found[:3], expected)
        assert found[3] == 0
        assert seen[0] == (rows == 0).any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_and_signed_zeros_survive_reductions(dtype):
    greatest = compiled(reduction("maximum", dtype, -np.inf))
    total = compiled(reduction("accumulate_add", dtype, -0.0))
    for place in (0, 7, 33, 40):
        x = np.full(41, -0.0, dtype)
        found, seen = np.zeros(1, dtype), np.zeros(1, bool)
        total.call(0, 1, slots(x, found, seen), slots(41))
        assert np.signbit(found[0])
        x[place] = np.nan
        for function in (greatest, total):
            function.call(0, 1, slots(x, found, seen), slots(41))
            assert np.isnan(found[0])


def test_the_order_of_a_sum_is_that_of_its_length():
    """Each of 32 partial sums takes every 32nd element; neighbours half a block apart are joined until one is left."""
    function = compiled(reduction("accumulate_add", "float32", 0.0))
    x = some("float32", 256)
    found, seen = np.zeros(1, np.float32), np.zeros(1, bool)
    function.call(0, 1, slots(x, found, seen), slots(256))
    partial = np.zeros(32, np.float32)
    for block in x.reshape(-1, 32):
        partial += block
    while partial.size > 1:
        low, high = np.split(partial, 2)
        partial = low + high
    assert found[0] == partial[0]


def test_positions_and_indices_in_vectors():
    """Shifted loads, what is the same for all elements, and an index that is computed with."""
    x, y = operand(0, "float32"), result(0, "float32")
    place = variable("place", INDEX)
    body = over(
        Let(place, I + WIDTH - 1),
        Store(y, I, load(x, place) * load(x, WIDTH) + cast(place, x.dtype)),
    )
    function = compiled(kernel([body], [x], [y], sizes=[WIDTH]))
    given, found = some("float32", 80), np.zeros(60, np.float32)
    function.call(0, 60, slots(given, found), slots(5))
    expected = given[4:64] * given[5] + np.arange(4, 64, dtype=np.float32)
    np.testing.assert_array_equal(found, expected)


def test_what_a_loop_stores_can_be_read_at_the_same_place():
    x, y = operand(0, "float64"), result(0, "float64")
    row = Buffer("row", x.dtype, Role.SCRATCH)
    whole = (literal(0, INDEX), WIDTH)
    body = [
        Allocate(row, WIDTH),
        Loop(J, *whole, (Store(row, J, load(x, J)),)),
        Loop(J, *whole, (Store(row, J, load(row, J) + 1), Store(y, J, load(row, J) * 2))),
    ]
    function = compiled(kernel(body, [x], [y], sizes=[WIDTH]))
    given, found = some("float64", 50), np.zeros(50)
    function.call(0, 1, slots(given, found), slots(50))
    np.testing.assert_array_equal(found, (given + 1) * 2)


X, Y, TOTAL = operand(0, "int64"), result(0, "int64"), variable("total", np.dtype("int64"))
ELEMENT = load(X, I)
REFUSED = {
    "every second element": Store(Y, I, load(X, I * 2)),
    "backwards": Store(Y, I, load(X, literal(9, INDEX) - I)),
    "a gather": Store(Y, I, load(X, cast(ELEMENT, INDEX))),
    "a scatter": Store(Y, cast(ELEMENT, INDEX), ELEMENT),
    "one place for all": Store(Y, WIDTH, ELEMENT),
    "a division of integers": Store(Y, I, apply("floor_divide", ELEMENT, load(X, I + 1))),
    "what was stored before": Store(Y, I, load(Y, I - 1) + ELEMENT),
    "a choice": If(ELEMENT > 0, (Store(Y, I, ELEMENT),)),
    "a difference": Set(TOTAL, ELEMENT - TOTAL),
    "a shift": Set(TOTAL, TOTAL << ELEMENT),
    "two ops": Set(TOTAL, (TOTAL + ELEMENT) * 3),
    "the variable twice": Set(TOTAL, TOTAL + TOTAL),
    "the last element": Set(TOTAL, ELEMENT),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_loops_are_left_to_llvm(case):
    statement = REFUSED[case]
    body = [Set(TOTAL, literal(1, TOTAL.dtype)), over(statement), Store(Y, WIDTH, TOTAL)]
    assert not is_on_vectors(kernel(body, [X], [Y], sizes=[WIDTH]))
    plain = [Set(TOTAL, literal(1, TOTAL.dtype)), over(Set(TOTAL, TOTAL + ELEMENT))]
    assert is_on_vectors(kernel([*plain, Store(Y, WIDTH, TOTAL)], [X], [Y], sizes=[WIDTH]))


def test_a_running_sum_is_no_reduction():
    body = over(Set(TOTAL, TOTAL + ELEMENT), Store(Y, I, TOTAL))
    given, found = some("int64", 70), np.zeros(70, np.int64)
    one = kernel([Set(TOTAL, literal(0, TOTAL.dtype)), body], [X], [Y])
    assert not is_on_vectors(one)
    name, source = named(one, machine=MACHINES["vectors"])
    kernel_function(name, source).call(0, 70, slots(given, found), b"")
    np.testing.assert_array_equal(found, np.cumsum(given))


def blocks(source):
    """The blocks of a text that jump back to themselves: innermost loops."""
    found = re.findall(r"^(b\d+):\n(.*?)(?=^b\d+:|^})", source, re.MULTILINE | re.DOTALL)
    return [body for label, body in found if f"label %{label}," in body]


@pytest.mark.parametrize("heavy", [False, True])
def test_an_iteration_computes_no_position_but_its_own(heavy):
    """What rows begin at is added before the loop; LLVM would look for such sums for as long as it compiles."""
    y, row = result(0, "float32"), index("row")
    operands = [operand(number, "float32") for number in range(3)]
    value = sum(load(x, row * WIDTH + J) for x in operands[1:]) * load(operands[0], J)
    for _ in range(8 if heavy else 0):
        value = value * value + value
    inner = Loop(J, 0 * WIDTH, WIDTH, (Store(y, row * WIDTH + J, value),))
    outer = Loop(row, START, STOP, (inner,))
    _, source = named(kernel([outer], operands, [y], sizes=[WIDTH]), machine=MACHINES["vectors"])
    loops = blocks(source)
    assert len(loops) == 2  # of whole blocks, and of what is left
    for loop in loops:
        numbers = re.findall(r"= (\w+)(?: nuw)? i64", loop)
        assert numbers == ["phi", "add"] + ["icmp"] * numbers.count("icmp")
        addresses = set(re.findall(r"getelementptr float, ptr (%\d+), i64 %", loop))
        assert len(addresses) == 4


def test_what_stays_is_spread_before_the_loop():
    x, y = operand(0, "float32"), result(0, "float32")
    half = argument("x1", np.dtype("f4"))
    body = over(Store(y, I, load(x, I) * half + half))
    _, source = named(kernel([body], [x], [y], scalars=[half]), machine=MACHINES["vectors"])
    assert "shufflevector" in source
    assert not [loop for loop in blocks(source) if "shufflevector" in loop]


def test_a_sine_and_a_cosine_share_their_polynomials_and_their_condition():
    """A gradient mostly has both: they run on vectors, and hardly longer than one of them."""
    x = tfr.asarray(np.linspace(-9, 9, 5000, dtype=np.float32), device="llvm")
    (alone,) = kernels_of(tfr.sin(x))
    (both,) = kernels_of(tfr.sin(x), tfr.cos(x))
    texts = [named(one, machine=MACHINES["vectors"])[1] for one in (alone, both)]
    assert all(text.startswith(SELECTED) for text in texts)
    assert texts[0].count("@llvm.fma.") == texts[1].count("@llvm.fma.") > 0
