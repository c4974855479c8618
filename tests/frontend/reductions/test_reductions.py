"""Reductions, scans and statistics: NumPy's values on any shape, axis and dtype, and what NumPy gets less right."""

from __future__ import annotations

import math
import warnings
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

NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -2.5, 3.0, 100.0])
WITH_NAN = st.sampled_from([0.0, 1.0, -2.5, 3.0, nan])
DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float32", "float64", "complex64"]


@st.composite
def arrays_with_axis(draw, dtypes=DTYPES, elements=None, min_side=0):
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=min_side, max_side=4))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    if elements is not None and dtype.kind == "f":
        array = draw(hnp.arrays(dtype, shape, elements=elements))
    else:
        # the product of 64 of them fits float32
        small = st.integers(-3, 3)
        array = np.asarray(draw(hnp.arrays(np.int8, shape, elements=small))).astype(dtype)
    axes = st.integers(-len(shape), len(shape) - 1) if shape else st.none()
    several = st.lists(st.integers(0, max(len(shape) - 1, 0)), unique=True).map(tuple)
    axis = draw(st.one_of(st.none(), axes, several if shape else st.none()))
    return array, axis, draw(st.booleans())


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all"])
@given(case=arrays_with_axis())
def test_reductions_with_an_identity_are_numpys(name, case):
    array, axis, keepdims = case
    actual = getattr(tfr, name)(tfr.asarray(array), axis=axis, keepdims=keepdims)
    expected = getattr(np, name)(array, axis=axis, keepdims=keepdims)
    assert actual.node.storage is None
    assert_close(actual, np.asarray(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["max", "min", "ptp", "argmax", "argmin"])
@given(case=arrays_with_axis(["int8", "uint64", "float32"], WITH_NAN, min_side=1))
def test_extremes_and_their_positions_are_numpys(name, case):
    array, axis, keepdims = case
    if name.startswith("arg") and isinstance(axis, tuple):
        axis = None
    actual = getattr(tfr, name)(tfr.asarray(array), axis=axis, keepdims=keepdims)
    expected = np.asarray(getattr(np, name)(array, axis=axis, keepdims=keepdims))
    assert_close(actual, expected)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@given(case=arrays_with_axis(["int8", "int64", "float32", "float64"], NUMBERS, min_side=1))
def test_moments_are_numpys_in_the_default_dtype(name, case):
    array, axis, keepdims = case
    actual = getattr(tfr, name)(tfr.asarray(array), axis=axis, keepdims=keepdims)
    expected = np.asarray(getattr(np, name)(array, axis=axis, keepdims=keepdims))
    dtype = array.dtype if array.dtype.kind == "f" else np.float32
    assert_close(actual, expected.astype(dtype), rtol=1e-5, atol=1e-5)


@given(
    case=arrays_with_axis(["float64"], NUMBERS, min_side=1),
    correction=st.sampled_from([0, 1, 0.5, 100]),
)
def test_corrections_divide_by_what_is_left_of_the_count(case, correction):
    array, axis, keepdims = case
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.asarray(np.var(array, axis=axis, correction=correction, keepdims=keepdims))
    for keywords in ({"correction": correction}, {"ddof": correction}):
        actual: Any = tfr.var(tfr.asarray(array), axis=axis, keepdims=keepdims, **keywords)
        assert_close(actual, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("ours", "theirs"), [("cumulative_sum", "cumsum"), ("cumulative_prod", "cumprod")]
)
@given(
    case=arrays_with_axis(["bool", "int8", "uint8", "int64", "float64"], NUMBERS), data=st.data()
)
def test_scans_are_numpys(ours, theirs, case, data):
    array, _, include_initial = case
    if array.ndim == 0:
        array = array.reshape(1)
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    actual = getattr(tfr, ours)(tfr.asarray(array), axis=axis, include_initial=include_initial)
    expected = getattr(np, ours)(array, axis=axis, include_initial=include_initial)
    assert_close(actual, expected, rtol=1e-12)
    assert_close(getattr(tfr, theirs)(tfr.asarray(array)), getattr(np, theirs)(array), rtol=1e-12)


NAN_FREE = ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"]


@pytest.mark.parametrize("name", NAN_FREE)
@given(case=arrays_with_axis(["float64", "int32"], WITH_NAN, min_side=1))
def test_nan_is_left_out_as_in_numpy(name, case):
    array, axis, keepdims = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of axes without numbers
        expected = np.asarray(getattr(np, name)(array, axis=axis, keepdims=keepdims))
    actual = getattr(tfr, name)(tfr.asarray(array), axis=axis, keepdims=keepdims)
    if array.dtype.kind == "i" and expected.dtype.kind == "f":
        expected = expected.astype(np.float32)
    assert_close(actual, expected, rtol=1e-6, atol=1e-6)


def test_positions_and_running_sums_pass_over_nan():
    x = tfr.asarray([[nan, 3.0, 5.0], [2.0, nan, 1.0]])
    assert tfr.nanargmax(x, axis=1).tolist() == [2, 0]
    assert tfr.nanargmin(x, axis=0).tolist() == [1, 0, 1]
    assert tfr.nancumsum(x, axis=1).tolist() == [[0, 3, 8], [2, 2, 3]]


@pytest.mark.parametrize(
    ("dtype", "result"),
    [
        ("bool", "int64"),
        ("int8", "int64"),
        ("uint8", "uint64"),
        ("uint64", "uint64"),
        ("float16", "float16"),
        ("bfloat16", "bfloat16"),
        ("complex64", "complex64"),
    ],
)
@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod", "nansum"])
def test_sums_of_narrow_integers_are_wide(name, dtype, result):
    x = tfr.ones(3, dtype=dtype)
    assert getattr(tfr, name)(x).dtype == tfr.asarray(0, dtype=result).dtype
    assert getattr(tfr, name)(x, dtype="float64").dtype == np.float64


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_neither_overflows_nor_stalls(dtype):
    x = tfr.full(100_000, 100.0, dtype=dtype)
    assert tfr.mean(x).item() == 100.0
    assert tfr.var(x + tfr.asarray([0.0], dtype=dtype)).item() == 0.0
    ones = tfr.ones(4096, dtype=dtype)
    assert tfr.sum(ones).item() == 4096.0
    assert tfr.cumulative_sum(ones)[-1].item() == 4096.0
    assert tfr.std(tfr.asarray([1024.0, 3072.0] * 50, dtype=dtype)).item() == 1024.0


def test_means_of_wide_integers_are_right_to_the_last_place_of_the_result():
    x = np.random.default_rng(1).integers(2**40, 2**41, 10_001)
    exact = int(sum(map(int, x))) / x.size
    assert tfr.mean(tfr.asarray(x)).item() == np.float32(exact)
    assert tfr.mean(tfr.asarray(x), dtype="float64").item() == pytest.approx(exact, rel=1e-15)


def test_a_large_mean_costs_the_variance_no_digits():
    x = np.random.default_rng(2).normal(1e4, 1.0, 10_000).astype(np.float32)
    assert tfr.var(tfr.asarray(x)).item() == pytest.approx(np.var(x.astype(float)), rel=1e-4)


def test_complex_variance_is_real():
    x = np.asarray([1 + 2j, 3 - 1j, 0j])
    assert_close(tfr.var(tfr.asarray(x)), np.asarray(np.var(x)), ulp=4)
    assert_close(tfr.nanvar(tfr.asarray(x)), np.asarray(np.var(x)), ulp=4)


def test_nothing_has_a_sum_and_no_largest_element():
    empty = tfr.zeros((0, 3))
    assert tfr.sum(empty, axis=0).tolist() == [0, 0, 0]
    assert tfr.prod(empty, axis=0).tolist() == [1, 1, 1]
    assert tfr.all(empty).item() is True
    assert tfr.any(empty).item() is False
    assert math.isnan(tfr.mean(empty).item())
    assert tfr.max(empty, axis=1).shape == (0,)
    for reduce in (tfr.max, tfr.min, tfr.argmax, tfr.argmin, tfr.nanmax):
        with pytest.raises(errors.ShapeError, match="no elements"):
            reduce(empty, axis=0)


def test_axes_are_checked_when_the_reduction_is_recorded():
    x = tfr.zeros((2, 3))
    with pytest.raises(errors.AxisError, match="out of bounds"):
        tfr.sum(x, axis=2)
    with pytest.raises(errors.AxisError, match="twice"):
        tfr.max(x, axis=(0, -2))
    with pytest.raises(errors.ShapeError, match="needs an axis"):
        tfr.cumulative_sum(x)
    with pytest.raises(errors.DTypeError, match="complex64"):
        tfr.quantile(tfr.zeros(2, dtype="complex64"), 0.3)


@given(
    case=arrays_with_axis(
        ["float64", "float32"], st.sampled_from([0.0, 1.0, -300.0, 800.0, -inf]), min_side=1
    )
)
def test_softmax_sums_to_one_and_agrees_with_its_logarithm(case):
    array, axis, _ = case
    x = tfr.asarray(array)
    share, logarithm = tfr.softmax(x, axis=axis), tfr.log_softmax(x, axis=axis)
    total = tfr.sum(share, axis=axis).numpy()
    hopeless = tfr.all(x == -inf, axis=axis).numpy()
    assert np.isnan(total[hopeless]).all()
    assert total[~hopeless] == pytest.approx(1.0)
    assert_close(tfr.exp(logarithm), share.numpy(), rtol=1e-5, atol=1e-30)
    sums = tfr.logsumexp(x, axis=axis).numpy()
    assert (sums[hopeless] == -inf).all()
    wide = array.astype(np.longdouble)
    with np.errstate(all="ignore"):
        exact = np.asarray(np.log(np.sum(np.exp(wide), axis=axis)))
    assert sums == pytest.approx(exact.astype(float), rel=1e-5, abs=1e-6)


def test_softmax_of_nothing_is_nothing_and_nan_spreads():
    assert tfr.softmax(tfr.zeros((2, 0))).shape == (2, 0)
    assert tfr.logsumexp(tfr.zeros((2, 0)), axis=1).tolist() == [-inf, -inf]
    assert np.isnan(tfr.softmax(tfr.asarray([[0.0, nan], [0.0, 0.0]])).numpy()).tolist() == [
        [True, True],
        [False, False],
    ]
    half = tfr.softmax(tfr.full(60_000, 5.0, dtype="float16"))
    assert half.dtype == np.float16
    assert half[0].item() == pytest.approx(1 / 60_000, rel=1e-2)
    with pytest.raises(errors.DTypeError, match="int64"):
        tfr.softmax(tfr.asarray([1, 2]))


def test_averages_weigh_elements_or_slices():
    x, weights = np.arange(12.0).reshape(3, 4), np.asarray([1.0, 0.0, 3.0])
    for w, axis in ((None, None), (None, 1), (weights, 0), (x + 1, None), (x + 1, 1)):
        expected, total = np.average(x, axis, weights=w, returned=True)
        found, mass = tfr.average(tfr.asarray(x), axis, weights=w, returned=True)
        assert_close(found, np.asarray(expected), ulp=4)
        assert_close(mass, np.asarray(total), ulp=4)
    with pytest.raises(errors.ShapeError, match="fit neither"):
        tfr.average(tfr.asarray(x), weights=weights)


AXIS_FUNCTIONS = """
    sum prod max min any all argmax argmin mean var std average nanmean nanvar nanstd median
    softmax log_softmax logsumexp count_nonzero sort argsort
"""


@pytest.mark.parametrize("name", AXIS_FUNCTIONS.split())
def test_an_error_names_the_function_that_was_called(name):
    with pytest.raises(errors.AxisError, match=f"^{name}: axis 7"):
        getattr(tfr, name)(tfr.zeros((2, 3)), axis=7)


def test_a_sum_of_no_elements_behind_an_assignment_of_none_has_a_kernel() -> None:
    """Its elements would be put side by side first: loops over none of them."""
    with tfr.config.override(small_size=0, small_nodes=0):
        row = tfr.broadcast_to(tfr.asarray(np.float64(3.0)), (4,))
        first = tfr.reshape(tfr.asarray(np.arange(1.0, 4.0))[0:1], ())
        row[0:0] = tfr.broadcast_to(first, (0,))
        none = row[0:0]
        assert tfr.sum(tfr.asarray(np.float64(2.0)) * (none + none)).item() == 0
