"""What special values were wrong once, each as somebody met it, and how quantiles select."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, LinAlgError, OutOfRangeError
from tests.backends.devices import FOUND, holds

inf, nan = math.inf, math.nan
ENGINES = sorted({"cpu", "numpy", "llvm"} & set(tfr.backends.available()))

on_every_engine = pytest.mark.parametrize("device", [*ENGINES, *FOUND])


@pytest.fixture
def on(device):
    """Plans on a device, whatever the size."""
    with tfr.use_backend(device), tfr.config.override(small_size=0, small_nodes=0):
        yield


def f32(*values):
    return tfr.asarray(np.array(values, np.float32))


@on_every_engine
@pytest.mark.usefixtures("on")
def test_variances_without_nan_see_infinities():
    assert math.isnan(tfr.nanvar(f32(1, nan, inf)).item())
    assert math.isnan(tfr.nanstd(f32(nan, inf, -inf)).item())
    assert tfr.nanvar(f32(1, nan, 3)).item() == 1.0


@on_every_engine
@pytest.mark.usefixtures("on")
def test_medians_of_infinities():
    assert tfr.median(f32(4, inf)).item() == inf
    assert tfr.nanmedian(f32(4, nan, nan, inf)).item() == inf
    assert math.isnan(tfr.median(f32(-inf, inf)).item())
    assert math.isnan(tfr.median(f32(1, nan, 2)).item())


def test_medians_of_nothing_are_nan():
    for name in ("median", "nanmedian"):
        assert math.isnan(getattr(tfr, name)(tfr.zeros(0)).item())
        assert (
            np.isnan(getattr(tfr, name)(tfr.zeros((3, 0)), axis=1).numpy()).tolist() == [True] * 3
        )
    assert tfr.nanquantile(tfr.zeros((3, 0)), [0.1, 0.9], axis=1).shape == (2, 3)
    assert tfr.median(tfr.zeros((0, 3), dtype="int64")).dtype == tfr.float32


def test_between_a_number_and_an_infinity_lies_the_infinity():
    points = [0.0, 0.25, 0.5, 0.75, 1.0]
    assert tfr.quantile(f32(1, inf), points).tolist() == [1, inf, inf, inf, inf]
    assert tfr.quantile(f32(-inf, 1), points).tolist() == [-inf, -inf, -inf, -inf, 1]
    assert tfr.quantile(f32(inf, inf), points).tolist() == [inf] * 5
    assert np.isnan(tfr.quantile(f32(-inf, inf), points).numpy()).tolist() == [0, 1, 1, 1, 0]
    largest = float(np.finfo(np.float32).max)
    assert tfr.median(f32(-largest, largest)).item() == 0
    assert tfr.quantile(f32(largest, largest), 0.3).item() == largest


@on_every_engine
@pytest.mark.usefixtures("on")
def test_interpolation_between_infinities():
    x = f32(0, 0.5, 1)
    for points, values in (
        ([-inf, inf], [1, 2]),
        ([0, inf], [1, 2]),
        ([-inf, 1], [1, 1]),
        ([0, 1], [inf, inf]),
        ([0, 1], [-inf, 2]),
        ([0, 1], [2, inf]),
    ):
        expected = np.interp(x.numpy(), points, values)
        np.testing.assert_array_equal(tfr.interp(x, f32(*points), f32(*values)).numpy(), expected)


@on_every_engine
@pytest.mark.usefixtures("on")
def test_gradients_do_not_look_at_the_centre():
    x = np.array([1, 4, nan, 16, 25, inf, 49], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for spacing in ((), (0.5,), (np.arange(7.0, dtype=np.float32),)):
            for order in (1, 2):
                expected = np.gradient(x, *spacing, edge_order=order)
                found = tfr.gradient(tfr.asarray(x), *spacing, edge_order=order)
                np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_gradients_come_in_the_order_of_their_axes():
    x = np.arange(12.0).reshape(3, 4) ** 2
    for axis in ((1, 0), (0, -1), (-1, -2)):
        for spacing in ((), (2.0, 0.5)):
            found = tfr.gradient(tfr.asarray(x), *spacing, axis=axis)
            for one, expected in zip(found, np.gradient(x, *spacing, axis=axis), strict=True):
                np.testing.assert_allclose(one.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "bool"])
def test_integers_are_points_whose_distances_do_not_wrap(dtype):
    limits = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for points in (np.array(limits, dtype), np.array(limits[::-1], dtype)):
        y, wide = np.array([0.0, 1.0]), points.astype(float)
        found = tfr.gradient(tfr.asarray(y), tfr.asarray(points))
        np.testing.assert_allclose(found.numpy(), np.gradient(y, wide))
        found = tfr.trapezoid(tfr.asarray(y), tfr.asarray(points))
        np.testing.assert_allclose(found.item(), np.trapezoid(y, wide))


def test_large_integers_are_points_as_close_as_they_are():
    moments = tfr.asarray(np.array([0, 1, 3]) + 1_700_000_000_000_000_000)
    assert tfr.gradient(f32(0, 2, 6), moments).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("dtype", "low", "high", "expected"),
    [
        ("uint8", "int8", "int8", "int16"),
        ("uint8", "uint8", None, "uint8"),
        ("int8", None, "int64", "int64"),
        ("float32", "float64", "float64", "float64"),
        ("int32", "float32", "float32", "float32"),
        ("int8", "uint32", "bool", "int64"),
    ],
)
def test_clip_promotes_as_other_functions_of_tensors_do(dtype, low, high, expected):
    x = tfr.asarray(np.array([0, 1, 100]), dtype=dtype)
    bounds = [None if one is None else tfr.asarray(1, dtype=one) for one in (low, high)]
    found = tfr.clip(x, *bounds)
    assert found.dtype == tfr.dtypes.as_dtype(expected)
    arrays = [None if one is None else one.numpy() for one in bounds]
    assert found.tolist() == np.clip(x.numpy(), *arrays).tolist()


def test_clip_keeps_negative_bounds_of_unsigned_integers():
    bound = tfr.asarray(np.array([-5], np.int8))
    assert tfr.clip(tfr.asarray(np.array([200], np.uint8)), bound, bound).tolist() == [-5]
    assert tfr.clip(tfr.asarray(np.array([200], np.uint8)), -5, 300).dtype == tfr.uint8


@pytest.mark.parametrize("p", [None, 2, 1, -1, inf, -inf, "fro", "nuc"])
def test_singular_matrices_have_an_infinite_condition(p):
    regular = np.diag([2.0, 4.0, 5.0])
    # the last one's determinant is too small for a float, which makes it no less regular
    stack = np.stack([np.zeros((3, 3)), regular, np.ones((3, 3)), regular * 1e-120])
    found = tfr.linalg.cond(tfr.asarray(stack), p).numpy()
    assert found[0] == inf
    assert found[2] > 1e15
    np.testing.assert_allclose(found[[1, 3]], np.linalg.cond(regular, p))


def test_conditions_of_what_has_none():
    with pytest.raises(LinAlgError, match="without elements"):
        tfr.linalg.cond(tfr.zeros((0, 0)))
    assert math.isnan(tfr.linalg.cond(tfr.asarray([[nan, 0.0], [0.0, 1.0]]), 1).item())


@pytest.mark.parametrize("dtype", ["uint32", "int8", "float64", "bool", "float16"])
def test_set_differences_keep_their_dtype(dtype):
    x = tfr.asarray(np.array([1, 0, 1]), dtype=dtype)
    for other in ([], [1.5], tfr.asarray([1], dtype="int64")):
        assert tfr.setdiff1d(x, other).dtype == x.dtype
    assert tfr.setdiff1d(tfr.asarray(np.array([2**53 + 1, 7])), [7.0]).tolist() == [2**53 + 1]


@on_every_engine
@pytest.mark.usefixtures("on")
def test_geometric_sequences_are_exact_at_powers_of_ten(device):
    if holds(device, "float64"):
        found = tfr.geomspace(1, 1e15, 16, dtype="float64").tolist()
        assert found == [float(10**power) for power in range(16)]
    assert tfr.geomspace(1, 1e6, 7).tolist() == [float(10**power) for power in range(7)]
    assert tfr.geomspace(-1, -1000, 4).tolist() == [-1, -10, -100, -1000]
    assert tfr.geomspace(0.1, 0.7, 5).tolist()[::4] == f32(0.1, 0.7).tolist()


def test_geometric_sequences_between_what_is_none():
    assert np.isnan(tfr.geomspace(nan, 1, 3).numpy()).all()
    for ends in ((0, 1), (1, 0), (1, -1)):
        with pytest.raises(ArgumentError, match="no geometric sequence"):
            tfr.geomspace(*ends)
    with pytest.raises(ArgumentError, match="no geometric sequence"):
        tfr.geomspace(0, 1j)


def test_integrals_of_nothing_are_zero():
    assert tfr.trapezoid(tfr.zeros(0), tfr.zeros(0)).item() == 0
    assert tfr.trapezoid(tfr.zeros((2, 0)), tfr.zeros((2, 0))).tolist() == [0, 0]


def test_what_a_scan_begins_with_changes_no_element():
    x = np.array([complex(inf, 0), 2])
    found = tfr.cumulative_prod(tfr.asarray(x), include_initial=True).numpy()
    assert found[0] == 1
    assert found[1].real == inf
    assert found[1].imag == 0


def test_bins_may_fall_from_nan():
    bins = np.array([nan, inf, 2.5, 2.5, 1.0])
    x = np.array([0.0, 1.0, 2.5, 7.0, inf, nan])
    for right in (False, True):
        found = tfr.digitize(tfr.asarray(x), bins, right=right)
        assert found.tolist() == np.digitize(x, bins, right=right).tolist()


def test_bins_that_numbers_do_not_tell_apart_are_refused():
    with pytest.raises(OutOfRangeError, match="has no 4 bins"):
        tfr.histogram(tfr.asarray(np.array([2**62])), 4).counts.compute()


def test_averages_of_integers_are_as_exact_as_means():
    x = tfr.asarray(np.array([2**31 - 1, -(2**31)], np.int32))
    assert tfr.average(x, weights=tfr.asarray([1, 1])).item() == tfr.mean(x).item() == -0.5
    half = tfr.asarray([60000.0, 60000.0], dtype="float16")
    assert tfr.average(half, weights=tfr.asarray([1.0, 1.0], dtype="float16")).item() == 60000
