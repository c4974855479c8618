"""Tolerances, limits, covariance and calculus: NumPy's answers, as lazy as any other tensor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tensorframe as tfr
from tensorframe import errors
from tensorframe.testing.compare import assert_close

inf, nan = math.inf, math.nan
VALUES = st.sampled_from([0.0, 1.0, 1.0 + 1e-9, 1.00001, 1e-9, -1.0, inf, -inf, nan])
PAIRS = st.tuples(hnp.arrays(float, 6, elements=VALUES), hnp.arrays(float, 6, elements=VALUES))


@given(pair=PAIRS, equal_nan=st.booleans(), rtol=st.sampled_from([0.0, 1e-5, 0.5]))
def test_isclose_is_numpys(pair, equal_nan, rtol):
    a, b = map(tfr.asarray, pair)
    keywords: dict[str, Any] = {"rtol": rtol, "equal_nan": equal_nan}
    assert tfr.isclose(a, b, **keywords).tolist() == np.isclose(*pair, **keywords).tolist()
    assert tfr.allclose(a, b, **keywords).item() is np.allclose(*pair, **keywords)
    assert tfr.array_equal(a, b, equal_nan).item() is np.array_equal(*pair, equal_nan)


def test_integers_are_close_without_wrapping_around():
    least, most = tfr.asarray([0], dtype="uint8"), tfr.asarray([255], dtype="uint8")
    assert tfr.isclose(least, most, atol=10).tolist() == [False]
    assert tfr.isclose(tfr.asarray([True]), tfr.asarray([1])).tolist() == [True]
    assert tfr.isclose(tfr.asarray([1.0], dtype="float16"), 1.0).tolist() == [True]


def test_shapes_decide_equality_before_elements_do():
    x, rows = tfr.asarray([1, 2]), tfr.asarray([[1, 2], [1, 2]])
    assert tfr.array_equal(x, rows).item() is False
    assert tfr.array_equiv(x, rows).item() is True
    assert tfr.array_equiv(x, tfr.asarray([1, 2, 3])).item() is False
    with pytest.raises(errors.ShapeError, match="broadcast"):
        tfr.allclose(x, tfr.asarray([1, 2, 3]))


@given(
    x=hnp.arrays(np.float32, (2, 3), elements=st.sampled_from([0.0, -5.0, 7.5, inf, -inf, nan])),
    low=st.sampled_from([None, -1, 0.5, nan, -inf]),
    high=st.sampled_from([None, 3, 6.5, nan, inf]),
)
def test_clip_keeps_the_dtype_and_nan_wins(x, low, high):
    found = tfr.clip(tfr.asarray(x), low, high)
    expected = x if low is None and high is None else np.clip(x, low, high)
    assert_close(found, expected.astype(np.float32))


def test_clip_takes_bounds_of_other_dtypes_and_shapes():
    x = tfr.asarray([1, 100, 200], dtype="uint8")
    assert tfr.clip(x, -5, 1000).tolist() == [1, 100, 200]
    assert tfr.clip(x, 300).tolist() == [255, 255, 255]
    assert tfr.clip(x, max=tfr.asarray([[50], [150]])).tolist() == [[1, 50, 50], [1, 100, 150]]
    assert tfr.clip(x, max=tfr.asarray([150], dtype="int64")).dtype == np.int64
    assert tfr.clip(x, 1.5).dtype == np.float32
    assert tfr.clip(tfr.asarray([0.5], dtype="float32"), 1.0).dtype == np.float32
    assert tfr.clip(tfr.asarray([0.5], dtype="float32"), np.float64(1.0)).dtype == np.float64
    assert tfr.clip(x).tolist() == x.tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_nan_to_num_takes_the_limits_of_the_dtype(dtype):
    found = tfr.nan_to_num(tfr.asarray([nan, inf, -inf, 1.5], dtype=dtype)).tolist()
    limits = tfr.finfo(dtype)
    assert found == [0.0, limits.max, limits.min, 1.5]


def test_nan_to_num_replaces_the_parts_of_complex_elements():
    z = np.asarray([complex(nan, inf), 1 + 2j])
    assert tfr.nan_to_num(tfr.asarray(z)).tolist() == np.nan_to_num(z).tolist()
    assert tfr.nan_to_num(tfr.asarray([1, 2])).tolist() == [1, 2]


COV = [
    {},
    {"bias": True},
    {"ddof": 2},
    {"fweights": True},
    {"aweights": True},
    {"fweights": True, "aweights": True},
    {"aweights": True, "bias": True},
]


@pytest.mark.parametrize("options", COV, ids=str)
@pytest.mark.parametrize("dtype", [float, complex])
def test_covariance_and_correlation_are_numpys(options, dtype):
    generator = np.random.default_rng(3)
    x, y = (
        generator.normal(size=(3, 20)).astype(dtype),
        generator.normal(size=(2, 20)).astype(dtype),
    )
    x = x + x[::-1] * (1j if dtype is complex else 0.5)
    keywords: dict[str, Any] = dict(options)
    if "fweights" in options:
        keywords["fweights"] = generator.integers(1, 5, 20)
    if "aweights" in options:
        keywords["aweights"] = generator.random(20)
    assert_close(tfr.cov(x, y, **keywords), np.cov(x, y, **keywords), rtol=1e-12, atol=1e-13)
    assert_close(tfr.cov(x.T, rowvar=False), np.cov(x.T, rowvar=False), rtol=1e-12, atol=1e-13)
    assert_close(tfr.corrcoef(x, y), np.corrcoef(x, y), rtol=1e-12, atol=1e-13)
    assert tfr.cov(x[0]).shape == ()


def test_covariance_checks_its_weights():
    x = tfr.zeros((2, 3))
    with pytest.raises(errors.ShapeError, match="3 observations"):
        tfr.cov(x, aweights=tfr.ones(2))
    with pytest.raises(errors.DTypeError, match="integers"):
        tfr.cov(x, fweights=tfr.ones(3))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("shape", [(5,), (4, 6), (3, 3, 4)])
def test_gradients_are_numpys(shape, order):
    generator = np.random.default_rng(4)
    y = generator.normal(size=shape)
    points = [np.cumsum(generator.random(size) + 0.1) for size in shape]
    for spacing in ((), (0.5,), points):
        found, expected = (
            tfr.gradient(y, *spacing, edge_order=order),
            np.gradient(y, *spacing, edge_order=order),
        )
        pairs = [(found, expected)] if len(shape) == 1 else list(zip(found, expected, strict=True))
        for one, wanted in pairs:
            assert_close(one, wanted, rtol=1e-10, atol=1e-10)
    with pytest.raises(errors.ShapeError, match="samples"):
        tfr.gradient(tfr.zeros(order), edge_order=order)


def test_integrals_by_the_trapezoidal_rule_are_numpys():
    y, points = (
        np.random.default_rng(5).normal(size=(3, 7)),
        np.sort(np.random.default_rng(6).random(7)),
    )
    assert_close(tfr.trapezoid(y), np.trapezoid(y), rtol=1e-12)
    assert_close(tfr.trapezoid(y, points), np.trapezoid(y, points), rtol=1e-12)
    assert_close(tfr.trapezoid(y, dx=0.1, axis=0), np.trapezoid(y, dx=0.1, axis=0), rtol=1e-12)
    assert_close(tfr.trapezoid(y, abs(y), axis=0), np.trapezoid(y, abs(y), axis=0), rtol=1e-12)
    assert tfr.trapezoid(tfr.zeros((2, 0))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", ["int16", "float32", "complex128"])
@pytest.mark.parametrize(("n", "m"), [(5, 3), (3, 5), (4, 4), (6, 1), (2, 6)])
def test_convolutions_are_numpys(n, m, mode, dtype):
    x, y = np.arange(1, n + 1).astype(dtype), np.arange(2, m + 2).astype(dtype)
    assert_close(tfr.convolve(tfr.asarray(x), tfr.asarray(y), mode), np.convolve(x, y, mode), ulp=4)


def test_convolution_checks_its_operands():
    x = tfr.ones(3)
    with pytest.raises(errors.ShapeError, match="vectors"):
        tfr.convolve(x, tfr.ones((2, 2)))
    with pytest.raises(errors.ShapeError, match="not empty"):
        tfr.convolve(x, tfr.ones(0))
    with pytest.raises(errors.ArgumentError, match="mode"):
        tfr.convolve(x, x, "wide")
    assert tfr.convolve(
        tfr.full(3, 300.0, dtype="float16"), tfr.full(3, 0.25, dtype="float16")
    ).tolist() == [75, 150, 225, 150, 75]
