"""Every elementwise row: whole, typed as it says, right at its telling points and close to exact results between."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.backends.numpy.functions import implementation
from tensorframe.graph.op import Kind, rows
from tensorframe.testing.compare import assert_close

ROWS = [op for op in rows(Kind.MAP) if op.public and not op.attributes]
BY_NAME: dict[str, Any] = {op.name: op for op in ROWS}


def ordered(accepted):
    return sorted(accepted, key=lambda dtype: dtype.name)


def name_of(dtype):
    return np.dtype(dtype).name


CASES = [
    pytest.param(op, dtype, id=f"{op.name}-{dtype}") for op in ROWS for dtype in ordered(op.accepts)
]


@pytest.mark.parametrize("op", ROWS, ids=str)
def test_every_row_is_whole(op):
    assert op.doc.endswith(".")
    assert op.accepts <= dtypes.ANY
    assert op.at, "no value at a telling point: the docstring has no example"
    assert callable(op.expand or implementation[op])
    function = getattr(tfr, op.name)
    assert function.__name__ == op.name
    assert op.conditions or function.__doc__.startswith(op.doc)
    assert ">>> " in function.__doc__


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_shape_and_dtype_are_known_before_anything_computes(op, dtype):
    operands = [tfr.ones(shape, dtype=dtype) for shape in ((2, 1), (3,), (1,))[: op.arity]]
    if op.conditions:
        operands[0] = tfr.ones((2, 1), dtype=bool)
    result = getattr(tfr, op.name)(*operands)
    assert result.node.storage is None
    assert result.dtype == op.result(dtype)
    assert result.shape == ((2, 1) if op.arity == 1 else (2, 3))
    computed = result.numpy()
    assert (computed.shape, computed.dtype) == (result.shape, result.dtype)


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_single_elements_have_the_dtype_too(op, dtype):
    operands = [tfr.asarray(1, dtype=dtype) for _ in range(op.arity)]
    if op.conditions:
        operands[0] = tfr.asarray(True)
    result = getattr(tfr, op.name)(*operands)
    assert result.numpy().shape == ()
    assert result.numpy().dtype == op.result(dtype)


def fits(value, dtype):
    if isinstance(value, bool):
        return True
    if isinstance(value, complex):
        return dtype in dtypes.COMPLEX
    if dtype in dtypes.FLOAT:
        return isinstance(value, float) and dtype in dtypes.FLOAT
    return dtype in dtypes.SIGNED and isinstance(value, int)


TOLD = [
    pytest.param(op, dtype, point, value, id=f"{op.name}{point}-{dtype}")
    for op in ROWS
    for point, value in op.at.items()
    for dtype in ordered(op.accepts & (dtypes.FLOAT | dtypes.COMPLEX | {dtypes.int64}))
    if all(fits(one, dtype) for one in (point if isinstance(point, tuple) else (point,)))
]


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("op", "dtype", "point", "value"), TOLD)
def test_values_at_telling_points_are_exact(op, dtype, point, value):
    points = point if isinstance(point, tuple) else (point,)
    operands = [
        tfr.asarray([one], dtype=bool if isinstance(one, bool) else dtype) for one in points
    ]
    result = getattr(tfr, op.name)(*operands).numpy()[0]
    if isinstance(value, float) and math.isnan(value):
        assert np.isnan(result)
    else:
        assert result == value
        if value == 0 and dtype in dtypes.FLOAT and result.dtype != bool:
            assert bool(np.signbit(result)) is (math.copysign(1, value) < 0)


# exact results; where the domain is not all reals, over which to sample
EXACT: dict[str, Any] = {
    "add": (mp.fadd, (-9, 9)),
    "subtract": (mp.fsub, (-9, 9)),
    "multiply": (mp.fmul, (-9, 9)),
    "divide": (mp.fdiv, (-9, 9)),
    "floor_divide": (lambda a, b: mp.floor(a / b), (-9, 9)),
    "fmod": (lambda a, b: a - b * (mp.floor(a / b) if a * b > 0 else mp.ceil(a / b)), (-9, 9)),
    "pow": (mp.power, (0.1, 5)),
    "reciprocal": (lambda x: 1 / x, (-9, 9)),
    "square": (lambda x: x * x, (-9, 9)),
    "hypot": (mp.hypot, (-9, 9)),
    "logaddexp": (lambda a, b: mp.log(mp.exp(a) + mp.exp(b)), (1, 9)),
    "atan2": (mp.atan2, (-9, 9)),
    "exp": (mp.exp, (-8, 8)),
    "exp2": (lambda x: mp.power(2, x), (-12, 12)),
    "expm1": (mp.expm1, (-3, 3)),
    "log": (mp.log, (0.01, 50)),
    "log1p": (lambda x: mp.log(1 + x), (-0.9, 5)),
    "log2": (lambda x: mp.log(x) / mp.log(2), (0.01, 50)),
    "log10": (mp.log10, (0.01, 50)),
    "sqrt": (mp.sqrt, (0, 50)),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), (-50, 50)),
    "sin": (mp.sin, (-9, 9)),
    "cos": (mp.cos, (-9, 9)),
    "tan": (mp.tan, (-9, 9)),
    "asin": (mp.asin, (-1, 1)),
    "acos": (mp.acos, (-1, 1)),
    "atan": (mp.atan, (-9, 9)),
    "sinh": (mp.sinh, (-9, 9)),
    "cosh": (mp.cosh, (-9, 9)),
    "tanh": (mp.tanh, (-3, 3)),
    "asinh": (mp.asinh, (-9, 9)),
    "acosh": (mp.acosh, (1, 50)),
    "atanh": (mp.atanh, (-0.99, 0.99)),
    "erf": (mp.erf, (-7, 7)),
    "erfc": (mp.erfc, (-7, 9)),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), (-9, 9)),
    "softplus": (lambda x: mp.log(1 + mp.exp(x)), (-9, 9)),
    "deg2rad": (mp.radians, (-360, 360)),
    "rad2deg": (mp.degrees, (-7, 7)),
    "sinc": (mp.sincpi, (0.1, 0.6)),
    "silu": (lambda x: x / (1 + mp.exp(-x)), (-9, 9)),
}


def rounded(values, dtype):
    """Round exact results to a dtype once: to float64 first, which changes half-way cases only."""
    return np.asarray([float(value) for value in values]).astype(dtype)


@pytest.mark.parametrize(
    "dtype", [tfr.float32, tfr.float64, tfr.float16, tfr.bfloat16], ids=name_of
)
@pytest.mark.parametrize("name", EXACT)
def test_results_are_close_to_exact_ones(name, dtype):
    function, (low, high) = EXACT[name]
    generator = np.random.default_rng(5)
    operands = [generator.uniform(low, high, 200).astype(dtype) for _ in range(BY_NAME[name].arity)]
    with mp.workprec(120):
        exact = [
            function(*[mp.mpf(float(one)) for one in point])
            for point in zip(*operands, strict=True)
        ]
        expected = rounded(exact, dtype)
    result = getattr(tfr, name)(*map(tfr.asarray, operands))
    # a row that is written in other rows rounds once per row: in half precision that is the whole error
    bound = 4 if BY_NAME[name].expand is None else 8
    assert_close(result, expected, ulp=bound)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("dtype", [tfr.float32, tfr.float64], ids=name_of)
@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("erf", -7, 7), ("erf", -1.2, 1.2), ("erfc", -7, 28), ("erfc", 0.2, 3)],
)
def test_error_functions_are_within_two_representable_numbers(name, low, high, dtype):
    top = min(high, 10) if dtype == tfr.float32 else high
    points = np.random.default_rng(11).uniform(low, top, 3000).astype(dtype)
    exact = rounded([getattr(mp, name)(mp.mpf(float(point))) for point in points], dtype)
    assert_close(getattr(tfr, name)(tfr.asarray(points)), exact, ulp=2)


@pytest.mark.parametrize("dtype", ordered(dtypes.FLOAT), ids=str)
def test_error_function_keeps_zeros_subnormals_and_nan(dtype):
    least = np.asarray(tfr.finfo(dtype).smallest_normal / 4).astype(dtype)
    points = np.asarray([0.0, -0.0, least, -least, np.nan, np.inf, -np.inf]).astype(dtype)
    result = tfr.erf(tfr.asarray(points)).numpy()
    assert np.signbit(result[:2]).tolist() == [False, True]
    assert_close(
        result[2:4], (points[2:4].astype(np.float64) * 1.1283791670955126).astype(dtype), ulp=1
    )
    assert np.isnan(result[4])
    assert result[5:].tolist() == [1.0, -1.0]
    assert tfr.erfc(tfr.asarray(points)).numpy()[[0, 1, 5, 6]].tolist() == [1.0, 1.0, 0.0, 2.0]


INTEGER_EXACT: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "floor_divide": lambda a, b: a // b if b else 0,
    "remainder": lambda a, b: a % b if b else 0,
    "fmod": lambda a, b: int(math.copysign(1, a)) * (abs(a) % abs(b)) if b else 0,
    "maximum": max,
    "minimum": min,
    "fmax": max,
    "fmin": min,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "logical_and": lambda a, b: bool(a and b),
    "logical_or": lambda a, b: bool(a or b),
    "logical_xor": lambda a, b: bool(a) != bool(b),
    "negative": lambda a: -a,
    "positive": lambda a: a,
    "abs": abs,
    "square": lambda a: a * a,
    "sign": lambda a: (a > 0) - (a < 0),
    "floor": lambda a: a,
    "ceil": lambda a: a,
    "trunc": lambda a: a,
    "round": lambda a: a,
    "real": lambda a: a,
    "imag": lambda _: 0,
    "conj": lambda a: a,
    "relu": lambda a: max(a, 0),
    "bitwise_invert": lambda a: ~a,
    "isnan": lambda _: False,
    "isinf": lambda _: False,
    "isfinite": lambda _: True,
    "logical_not": lambda a: not a,
}


@pytest.mark.parametrize("dtype", ordered(dtypes.INTEGER), ids=str)
@pytest.mark.parametrize("name", INTEGER_EXACT)
def test_integers_are_exact_and_wrap_around(name, dtype):
    info = np.iinfo(dtype)
    values = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1]
    values += [-1, -2, -7] if info.min else []
    arity = BY_NAME[name].arity
    points = [(a,) for a in values] if arity == 1 else [(a, b) for a in values for b in values]
    expected = [INTEGER_EXACT[name](*point) for point in points]
    if not isinstance(expected[0], bool):
        span = 1 << info.bits
        expected = [(value - info.min) % span + info.min for value in expected]
    operands = [tfr.asarray(list(column), dtype=dtype) for column in zip(*points, strict=True)]
    result = getattr(tfr, name)(*operands)
    assert result.tolist() == expected


@pytest.mark.parametrize("dtype", ordered(dtypes.INTEGER), ids=str)
def test_shifts_past_the_width_leave_nothing_but_the_sign(dtype):
    bits = np.iinfo(dtype).bits
    amounts = tfr.asarray([bits - 1, bits, 127], dtype=dtype)
    ones = tfr.ones(3, dtype=dtype)
    assert tfr.bitwise_left_shift(ones, amounts).tolist()[1:] == [0, 0]
    assert tfr.bitwise_right_shift(ones, amounts).tolist() == [0, 0, 0]
    if dtype in dtypes.SIGNED:
        assert tfr.bitwise_right_shift(-ones, amounts).tolist() == [-1, -1, -1]


def test_where_takes_numbers_anywhere():
    x = tfr.asarray([1, 2], dtype=tfr.int8)
    assert tfr.where(True, x, 0).tolist() == [1, 2]
    assert tfr.where(tfr.asarray([True, False]), x, 0).dtype == tfr.int8
    assert tfr.where(tfr.asarray([2.5, 0.0]), 1, 0).tolist() == [1, 0]
    assert tfr.where(False, 1.5, x).dtype == tfr.float32


def test_nan_is_everybody_elses_unit_in_fmax_and_nobodys_in_maximum():
    x, y = tfr.asarray([1.0, math.nan]), tfr.asarray([math.nan, math.nan])
    assert np.isnan(tfr.maximum(x, y).numpy()).all()
    assert np.isnan(tfr.fmin(x, y).numpy()).tolist() == [False, True]
