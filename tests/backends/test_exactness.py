"""What rows say of exactness, measured: both engines of the cpu give the same bits for what is exact, and no more."""

import itertools
from contextlib import suppress

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.cpu import evaluation
from tensorframe.backends.cpu.evaluation import NotEvaluatedError, evaluator
from tensorframe.backends.cpu.functions import CpuFunctions
from tensorframe.backends.numpy.functions import implementation
from tensorframe.dtypes import BY_NAME, COMPLEX, FLOAT, INTEGER, LIMITS, NARROW
from tensorframe.graph.op import Kind, find, rows
from tensorframe.ops.exactness import is_exact
from tensorframe.ops.special_incomplete import FORMULAS as INCOMPLETE
from tensorframe.ops.special_zeta import FORMULAS as ZETA

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")
from tensorframe.backends.llvm.ufunc import ufunc

SPECIAL = [
    0.0,
    -0.0,
    0.5,
    1.0,
    1.5,
    2.5,
    3.0,
    np.inf,
    np.nan,
    1e-40,
    5e-324,
    65504.0,
    7e4,
    741.5693124683206,
    2.0**31,
    9.3e18,
    1.8e19,
    3e38,
    1e308,
]
COUNT = 1500
ROWS = [
    op
    for op in rows(Kind.MAP)
    if op.compiled is None and not op.user_defined and not op.attributes
    # which no kernel computes, or only one that takes seconds to compile: see tests/frontend/test_special.py
    if op.name not in INCOMPLETE | ZETA
]
# functions of complex128 have the formulas of complex64, and take long to compile
HELD = [dtype for dtype in BY_NAME.values() if dtype.name != "complex128"]
CASES = [(op, dtype) for op in ROWS if op.expand is None for dtype in HELD if dtype in op.accepts]


def numbers(dtype, seed):
    """Numbers of all sizes; of floats, every pair of special values is among two operands."""
    generator = np.random.default_rng(seed)
    if dtype in INTEGER:
        low, high = LIMITS[dtype]
        wide = generator.integers(low, high, COUNT, dtype=dtype, endpoint=True)
        few = generator.integers(max(low, -5), 70, COUNT).astype(dtype)
        return np.concatenate(
            [np.array([low, high, 0, 1], dtype), np.where(wide % 2 == 0, wide, few)]
        )
    if dtype.kind == "b":
        return generator.integers(0, 2, COUNT + 4).astype(bool)
    special = np.array([*SPECIAL, *[-one for one in SPECIAL]])
    pairs = np.array(list(itertools.product(special, special)))[:, seed % 2]
    with np.errstate(all="ignore"):
        found = generator.standard_normal(COUNT) * 10.0 ** generator.integers(-4, 5, COUNT)
        found = np.concatenate([pairs, found])
        return (found + 1j * np.roll(found, 7) if dtype in COMPLEX else found).astype(dtype)


def by_both(op, operands, attrs=()):
    """What NumPy gives, and what a kernel of the op alone does."""
    dtypes = [operand.dtype for operand in operands]
    result = op.result(dtypes[op.conditions], *attrs)
    with np.errstate(all="ignore"):
        return implementation[op](*operands, *attrs), ufunc(op, attrs, dtypes, result)(*operands)


def differ(one, other):
    """Elements that differ in a bit; which NaN it is cannot be told."""
    assert one.dtype == other.dtype
    bits = [np.ascontiguousarray(each).view(f"V{each.itemsize}") for each in (one, other)]
    return (bits[0] != bits[1]) & ~((one != one) & (other != other))


@pytest.mark.sweep(8)
@pytest.mark.parametrize(
    ("op", "dtype"),
    CASES,
    ids=lambda one: one.name,
)
def test_rows_are_as_exact_as_they_say(op, dtype):
    conditions = [numbers(np.dtype(bool), 5)] * op.conditions
    operands = [numbers(dtype, seed) for seed in range(op.arity - op.conditions)]
    conditions = [np.resize(condition, operands[0].shape) for condition in conditions]
    found = differ(*by_both(op, [*conditions, *operands]))
    exact = is_exact(
        op, [*[np.dtype(bool)] * op.conditions, *[dtype] * len(operands)], op.result(dtype)
    )
    # of half precision, and in float64, most functions are rounded so much that engines agree on all of these
    rounded = dtype in NARROW or (op.double and dtype != np.float64)
    if exact or not rounded:
        assert found.any() != exact, [operand[found][:3] for operand in operands]


@pytest.mark.sweep(8)
@pytest.mark.parametrize(
    ("op", "dtype"),
    [(op, dtype) for op, dtype in CASES if dtype in FLOAT and not op.conditions],
    ids=lambda one: one.name,
)
def test_formulas_that_numpy_evaluates_have_the_bits_of_kernels(op, dtype):
    """Operation by operation, with an exact fused multiply-add: what programs of few small results run by."""
    operands = [numbers(dtype, seed) for seed in range(op.arity)]
    result, counted = op.result(dtype), 0
    kernel = ufunc(op, (), [dtype] * op.arity, result)
    evaluated = evaluator(op, (), [dtype] * op.arity, result)
    for start in range(0, len(operands[0]), 128):
        parts = [operand[start : start + 128] for operand in operands]
        with np.errstate(all="ignore"), suppress(NotEvaluatedError):
            found = evaluated(*parts)
            assert not differ(found, kernel(*parts)).any()
            counted += 1
    assert counted > 0 or dtype == np.float64


def test_formulas_that_numpy_evaluates_are_derived_once(monkeypatch):
    derived = []

    def counting(*arguments):
        derived.append(arguments)
        return element(*arguments)

    element = evaluation.element
    monkeypatch.setattr(evaluation, "element", counting)
    run = CpuFunctions(FLOAT)[find("sin")]
    for dtype in (np.float32, np.float64):
        for _ in range(3):
            run(np.ones(3, dtype))
    assert len(derived) == 2


@pytest.mark.sweep(3)
@pytest.mark.parametrize("source", BY_NAME.values(), ids=lambda one: one.name)
def test_casts_are_exact_but_to_integers(source):
    cast = find("cast")
    for target in BY_NAME.values():
        if source == target or (source in COMPLEX and target not in COMPLEX):
            continue
        operand = numbers(source, 0)
        if source in FLOAT and target in INTEGER:
            assert not is_exact(cast, (source,), target)
            with np.errstate(all="ignore"):
                wide = operand.astype(np.float64)
                low, high = (float(limit) for limit in LIMITS[target])
                operand = operand[(wide > low) & (wide < high)]  # false for NaN
        else:
            assert is_exact(cast, (source,), target)
        assert not differ(*by_both(cast, [operand], (target,))).any(), target


@pytest.mark.parametrize(
    "dtype", [one for one in BY_NAME.values() if one in FLOAT], ids=lambda one: one.name
)
def test_positions_of_extremes_and_answers_are_exact(dtype):
    found = {}
    values = numbers(dtype, 0)[:2001].reshape(2001, 1) * np.ones(3, dtype)
    with tfr.config.override(small_size=0, small_nodes=0):
        for name, device in itertools.product(
            ("argmax", "argmin", "any", "all"), ("numpy", "llvm")
        ):
            assert is_exact(find(name), (dtype,), find(name).result(dtype))
            for axis in (None, 0, 1):
                result = getattr(tfr, name)(tfr.asarray(values, device=device), axis=axis)
                found[name, axis, device] = result.numpy()
    for (name, axis, _), value in found.items():
        assert np.array_equal(value, found[name, axis, "numpy"])


def test_formulas_are_as_exact_as_what_they_are_written_in():
    float32, int32 = np.dtype("float32"), np.dtype("int32")
    expected = {
        ("relu", int32): True,
        ("relu", float32): False,  # NumPy has two answers to which of two zeros is the larger
        ("softsign", float32): True,
        ("gelu", float32): False,
        ("sum", float32): False,
        ("sum", int32): True,
        ("softmax", float32): False,
        ("sort", float32): True,
    }
    for (name, dtype), exact in expected.items():
        assert is_exact(find(name), (dtype,), dtype) == exact, name


@pytest.mark.parametrize(
    "dtype", [one for one in HELD if one in FLOAT | COMPLEX], ids=lambda one: one.name
)
def test_scans_are_exact(dtype):
    generator = np.random.default_rng(7)
    with tfr.config.override(small_size=0, small_nodes=0):
        for shape, axis in (((300, 50), 0), ((5, 9001), 1), ((17, 31, 3), 1)):
            values = generator.standard_normal(shape)
            values = (values * (1 + 1j) if dtype in COMPLEX else values).astype(dtype)
            for name in ("cumulative_sum", "cumulative_prod"):
                assert is_exact(find(name), (dtype,), dtype)
                scan = getattr(tfr, name)
                one, other = [
                    scan(tfr.asarray(values, device=device), axis=axis).numpy()
                    for device in ("numpy", "llvm")
                ]
                assert not differ(one, other).any()
