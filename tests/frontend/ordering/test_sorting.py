"""Sorting, order statistics, histograms and interpolation, against NumPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, IndexingError, OutOfRangeError, ShapeError

DTYPES = ["bool", "int8", "uint8", "int64", "uint64", "float16", "bfloat16", "float32", "float64"]
FEW = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, np.inf, -np.inf, np.nan])
SOME = hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=5), elements=FEW)
random = np.random.default_rng(7)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, -1, None])
@pytest.mark.parametrize("descending", [False, True])
def test_every_dtype_sorts_in_both_orders(dtype, axis, descending):
    x = tfr.asarray(random.integers(0, 6, (7, 9))).astype(dtype)
    expected = np.sort(x.astype("float64").numpy(), axis=axis)
    if descending:
        expected = np.flip(expected, -1 if axis is None else axis)
    found = tfr.sort(x, axis=axis, descending=descending)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found.astype("float64").numpy(), expected)
    positions = tfr.argsort(x, axis=axis, descending=descending)
    taken = tfr.take_along_axis(x, positions, axis=axis)
    np.testing.assert_array_equal(taken.astype("float64").numpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_equal_elements_keep_their_order(dtype, descending):
    values = random.integers(0, 2, 40)
    found = tfr.argsort(tfr.asarray(values).astype(dtype), descending=descending)
    assert found.tolist() == sorted(range(40), key=values.tolist().__getitem__, reverse=descending)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("descending", [False, True])
def test_nan_is_last_in_either_order(dtype, descending):
    x = tfr.asarray([1.0, np.nan, np.inf, -np.inf]).astype(dtype)
    numbers = [np.inf, 1.0, -np.inf] if descending else [-np.inf, 1.0, np.inf]
    assert tfr.sort(x, descending=descending).tolist()[:3] == numbers
    assert tfr.argsort(x, descending=descending)[-1].item() == 1


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_extreme_integers_sort_descending(dtype):
    limits = np.iinfo(dtype)
    x = tfr.asarray(np.asarray([limits.min, limits.max, 1], dtype))
    assert tfr.sort(x, descending=True).tolist() == [limits.max, 1, limits.min]


def test_complex_elements_are_ordered_by_their_parts():
    elements = [
        1j,
        2.0,
        1 - 1j,
        complex(1, np.nan),
        complex(np.nan, 0),
        1 + 1j,
        complex(np.nan, np.nan),
    ]
    for values in (elements, elements[::-1], elements[:3]):
        expected = np.asarray(values, "complex64")
        np.testing.assert_array_equal(tfr.sort(tfr.asarray(expected)).numpy(), np.sort(expected))
        np.testing.assert_array_equal(
            tfr.argsort(tfr.asarray(expected)).numpy(), np.argsort(expected, stable=True)
        )
    with pytest.raises(DTypeError, match="complex"):
        tfr.quantile(tfr.asarray(elements), 0.3)


def test_sorting_computes_nothing():
    x = tfr.asarray([3, 1, 2]) + 1
    results = [tfr.sort(x), tfr.argsort(x), *tfr.topk(x, 2), tfr.median(x), *tfr.histogram(x)]
    assert all(result.node.storage is None for result in (x, *results))


@settings(deadline=None, max_examples=100)
@given(SOME, st.data())
def test_topk_is_the_front_of_the_sorted_elements(array, data):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    k = data.draw(st.integers(0, array.shape[axis]))
    largest = data.draw(st.booleans())
    x = tfr.asarray(array)
    values, indices = tfr.topk(x, k, axis=axis, largest=largest)
    expected = tfr.sort(x, axis=axis, descending=largest).numpy().take(range(k), axis)
    np.testing.assert_array_equal(values.numpy(), expected)
    np.testing.assert_array_equal(np.take_along_axis(array, indices.numpy(), axis), expected)
    assert indices.dtype == tfr.int64


def test_topk_names_the_size_it_exceeds():
    with pytest.raises(IndexingError, match="axis 0 has 3 elements, asked for 4"):
        tfr.topk(tfr.asarray([1, 2, 3]), 4)


@pytest.mark.parametrize("shape", [(5000,), (3, 2500), (2500, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_partition_of_long_lines_finds_neighbours_and_the_last_element(shape, dtype):
    chance = np.random.default_rng(7)
    array = (chance.standard_normal(shape) * 100).astype(dtype)
    if dtype is np.float32:
        array[chance.random(shape) < 0.01] = np.nan
    axis = int(np.argmax(shape))
    size = shape[axis]
    kth = (size // 2 - 1, size // 2, size - 1)
    ordered = tfr.partition(tfr.asarray(array), kth, axis=axis).numpy()
    expected = np.sort(array, axis=axis)
    np.testing.assert_array_equal(ordered.take(kth, axis), expected.take(kth, axis))
    np.testing.assert_array_equal(np.sort(ordered, axis=axis), expected)
    lower = ordered.take(range(size // 2 - 1), axis)
    assert np.all(lower <= expected.take([size // 2 - 1], axis))


@settings(deadline=None, max_examples=50)
@given(SOME, st.data())
def test_partition_puts_elements_where_sorting_would(array, data):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    size = array.shape[axis]
    kth = data.draw(st.integers(-size, size - 1))
    expected = np.sort(array, axis=axis).take(kth, axis)
    x = tfr.asarray(array)
    np.testing.assert_array_equal(
        tfr.partition(x, kth, axis=axis).numpy().take(kth, axis), expected
    )
    positions = tfr.argpartition(x, [kth], axis=axis).numpy()
    np.testing.assert_array_equal(
        np.take_along_axis(array, positions, axis).take(kth, axis), expected
    )


FINITE = hnp.arrays(
    np.float64,
    hnp.array_shapes(max_dims=3, max_side=5),
    elements=st.floats(-100, 100) | st.just(np.nan),
)


@settings(deadline=None, max_examples=150)
@given(FINITE, st.data())
def test_quantiles_agree_with_numpy(array, data):
    axes = [None, *range(-array.ndim, array.ndim), tuple(range(array.ndim))]
    axis = data.draw(st.sampled_from(axes))
    keepdims = data.draw(st.booleans())
    q = data.draw(
        hnp.arrays(np.float64, st.sampled_from([(), (2,), (2, 1)]), elements=st.floats(0, 1))
    )
    method = data.draw(st.sampled_from(["linear", "lower", "higher", "midpoint", "nearest"]))
    x = tfr.asarray(array)
    options = {"axis": axis, "keepdims": keepdims, "method": method}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("quantile", "nanquantile"):
            expected = getattr(np, name)(array, q, **options)
            for shares in (q, tfr.asarray(q)):
                found = getattr(tfr, name)(x, shares, **options)
                assert found.shape == expected.shape
                np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=50)
@given(FINITE)
def test_medians_and_percentiles_agree_with_numpy(array):
    x = tfr.asarray(array)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, arguments in (
            ("median", ()),
            ("nanmedian", ()),
            ("percentile", (25,)),
            ("nanpercentile", ([10, 90],)),
        ):
            expected = getattr(np, name)(array, *arguments, axis=-1)
            found = getattr(tfr, name)(x, *arguments, axis=-1)
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_quantiles_keep_infinities_and_dtypes():
    x = tfr.asarray([-np.inf, -np.inf, 1.0, np.inf, np.inf])
    assert tfr.quantile(x, [0.0, 0.1, 0.5, 0.9]).tolist() == [-np.inf, -np.inf, 1.0, np.inf]
    assert tfr.median(tfr.asarray([1, 2])).dtype == tfr.float32
    assert tfr.median(x.astype("float16")).dtype == tfr.float16


def test_quantiles_refuse_what_is_none():
    with pytest.raises(OutOfRangeError, match="0 to 1"):
        tfr.quantile(tfr.asarray([1.0]), 1.5)
    with pytest.raises(ShapeError, match="no elements"):
        tfr.quantile(tfr.zeros((0,)), 0.5)
    with pytest.raises(ArgumentError, match="method"):
        tfr.quantile(tfr.asarray([1.0]), 0.5, method="guess")


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("bins", [1, 7, [0, 2, 2.5, 9], "auto"])
@pytest.mark.parametrize("limits", [None, (1, 6)])
def test_histograms_agree_with_numpy(dtype, bins, limits):
    array = random.uniform(0, 10, 500).astype(dtype)
    counts, edges = tfr.histogram(tfr.asarray(array), bins=bins, range=limits)
    expected_counts, expected_edges = np.histogram(array, bins=bins, range=limits)
    np.testing.assert_array_equal(counts.numpy(), expected_counts)
    np.testing.assert_allclose(edges.numpy(), expected_edges, rtol=1e-6)
    assert counts.dtype == tfr.int64


def test_histograms_weigh_and_scale():
    array, weights = random.uniform(0, 10, 50), random.uniform(0, 1, 50)
    found, _ = tfr.histogram(tfr.asarray(array), 6, weights=tfr.asarray(weights), density=True)
    expected, _ = np.histogram(array, 6, weights=weights, density=True)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("array", [[], [2.0, 2.0]])
def test_histograms_of_no_range_have_width_one(array):
    counts, edges = tfr.histogram(tfr.asarray(np.asarray(array)), bins=2)
    expected_counts, expected_edges = np.histogram(np.asarray(array), bins=2)
    assert counts.tolist() == expected_counts.tolist()
    assert edges.tolist() == expected_edges.tolist()


def test_histograms_refuse_edges_that_are_none():
    with pytest.raises(OutOfRangeError, match="finite"):
        tfr.histogram(tfr.asarray([1.0, np.nan])).counts.compute()
    with pytest.raises(OutOfRangeError, match="range"):
        tfr.histogram(tfr.asarray([1.0]), range=(2, 1))
    with pytest.raises(ShapeError, match="weights"):
        tfr.histogram(tfr.asarray([1.0]), weights=tfr.asarray([1.0, 2.0]))


def test_bincount_agrees_with_numpy():
    array = np.asarray([0, 3, 3, 1])
    weights = np.asarray([0.5, 1.0, 2.0, -1.0])
    x = tfr.asarray(array)
    assert tfr.bincount(x).tolist() == np.bincount(array).tolist()
    assert tfr.bincount(x, minlength=6).tolist() == [1, 1, 0, 2, 0, 0]
    assert tfr.bincount(x, weights=tfr.asarray(weights)).tolist() == [0.5, -1.0, 0.0, 3.0]
    with pytest.raises(OutOfRangeError, match="-1"):
        tfr.bincount(tfr.asarray([-1]))
    with pytest.raises(DTypeError, match="integers"):
        tfr.bincount(tfr.asarray([1.0]))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("bins", [[0.0, 1.0, 1.0, 2.0], [2.0, 1.0, 0.0], [1.0], []])
def test_digitize_agrees_with_numpy(right, bins):
    array = np.asarray([[-1.0, 0.0, 1.0], [1.5, 2.0, 7.0]])
    found = tfr.digitize(tfr.asarray(array), np.asarray(bins), right=right)
    assert found.tolist() == np.digitize(array, np.asarray(bins), right=right).tolist()


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_interpolation_agrees_with_numpy(data):
    values = st.floats(-10, 10, width=16)
    xp = np.asarray(sorted(data.draw(st.lists(values, min_size=1, max_size=5, unique=True))))
    fp = data.draw(hnp.arrays(np.float64, xp.shape, elements=values))
    shapes = hnp.array_shapes(min_dims=0, max_dims=2, max_side=4)
    x = data.draw(hnp.arrays(np.float64, shapes, elements=values | st.sampled_from(xp.tolist())))
    options = data.draw(st.sampled_from([{}, {"left": -1.0, "right": 2.0}, {"period": 3.5}]))
    expected = np.interp(x, xp, fp, **options)
    found = tfr.interp(tfr.asarray(x), xp, tfr.asarray(fp), **options)
    assert found.shape == expected.shape
    if "period" not in options or len(set((xp % 3.5).tolist())) == len(xp):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-9)


def test_interpolation_keeps_nan():
    points = tfr.asarray([0.0, 1.0])
    assert np.isnan(tfr.interp(tfr.asarray(np.nan), points, points).item())


POSITIONS = ["int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("dtype", POSITIONS)
@pytest.mark.parametrize("descending", [False, True])
def test_long_lines_are_ordered_stably_in_every_dtype(dtype, descending):
    """Sorted as values that hold positions: equal elements, zeros of either sign and NaN keep their order."""
    draw = np.random.default_rng(3)
    values = draw.integers(0, 200, (3, 2000)).astype("float64")
    if "int" in dtype:
        x = tfr.asarray(values).astype(dtype) + tfr.asarray(np.iinfo(dtype).max - 250, dtype=dtype)
        x = tfr.where(tfr.asarray(values < 100), x, tfr.asarray(np.iinfo(dtype).min, dtype=dtype))
    else:
        special = draw.choice([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-7, -1e-7], (3, 2000))
        x = tfr.asarray(np.where(values < 150, special, values - 170)).astype(dtype)
    keys = x.astype("float64").numpy() if "int" not in dtype else x.numpy()
    if descending:
        keys = ~keys if "int" in dtype else -keys
    for axis in (1, 0, None):
        expected = np.argsort(keys, axis=axis, stable=True)
        found = tfr.argsort(x, axis=axis, descending=descending)
        assert found.dtype == tfr.int64
        np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_mean_of_the_middle_two_is_rounded_as_numpys(dtype: str) -> None:
    """Interpolation from the nearer end, as quantiles take it, is another rounding away."""
    numbers = (np.random.default_rng(0).normal(size=(500, 8)) * 100).astype(dtype)
    partly = np.where(np.arange(8) < 2, np.nan, numbers).astype(dtype)
    for function in ("median", "nanmedian"):
        actual = getattr(tfr, function)(tfr.asarray(partly), axis=1).numpy()
        np.testing.assert_array_equal(actual, getattr(np, function)(partly, axis=1))
    actual = tfr.median(tfr.asarray(numbers), axis=1).numpy()
    np.testing.assert_array_equal(actual, np.median(numbers, axis=1))
    if dtype == "float16":
        assert tfr.median(tfr.asarray(np.full(4, 60000, dtype))).item() == 60000
