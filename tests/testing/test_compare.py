"""The comparison counts representable numbers, in every dtype, and says where results differ."""

import math

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.testing.compare import assert_close, ulp_distance

FLOATS = sorted(dtypes.FLOAT, key=str)


@pytest.mark.parametrize("dtype", FLOATS)
def test_neighbours_are_one_apart_everywhere(dtype):
    start = np.array([0.0, -0.0, 1.0, -1.0, 0.1, 300.0, -1e-3], dtype)
    up = np.nextafter(start, dtype.type(math.inf))
    assert ulp_distance(start, up).tolist() == [1.0] * 7
    assert ulp_distance(up, start).tolist() == [1.0] * 7
    assert ulp_distance(start, start).tolist() == [0.0] * 7


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_distance_counts_across_powers_of_two_and_zero(dtype):
    steps = 2.0 ** -(np.finfo(dtype).nmant if dtype != tfr.bfloat16 else 7)
    array, two = np.array(1, dtype), np.array(2, dtype)
    assert ulp_distance(array, two) == 1 / steps
    tiny = np.nextafter(np.array(0, dtype), array)
    assert ulp_distance(-tiny, tiny) == 2


@pytest.mark.parametrize("dtype", FLOATS)
def test_zeros_are_equal_and_nan_is_far_from_numbers(dtype):
    first = np.array([0.0, math.nan, math.nan, math.inf, math.inf], dtype)
    second = np.array([-0.0, math.nan, 1.0, math.inf, -math.inf], dtype)
    distance = ulp_distance(first, second)
    assert distance[:4].tolist() == [0.0, 0.0, math.inf, 0.0]
    assert distance[4] > 2 ** (dtype.itemsize * 8 - 2)


def test_complex_takes_the_part_that_is_further_off():
    one = np.float32(1.0)
    near, far = np.nextafter(one, one * 2), one + np.float32(2.0**-21)
    first, second = np.array([1 + 1j, 1 + 1j], np.complex64), np.empty(2, np.complex64)
    second.real, second.imag = np.array([near, far]), np.array([far, one])
    assert ulp_distance(first, second).tolist() == [4.0, 4.0]


def test_integers_are_as_far_as_they_differ_without_overflow():
    assert ulp_distance(
        np.array([-(2**63)], np.int64), np.array([2**63 - 1], np.int64)
    ).tolist() == [2.0**64]
    assert ulp_distance(
        np.array([2**63 + 1], np.uint64), np.array([2**63], np.uint64)
    ).tolist() == [1.0]
    assert ulp_distance(np.array([-100], np.int8), np.array([100], np.int8)).tolist() == [200.0]
    assert ulp_distance(np.array([True, False]), np.array([False, False])).tolist() == [1.0, 0.0]


def test_a_result_may_be_near_in_any_of_three_ways():
    expected = np.array([1.0, 1000.0], np.float64)
    actual = expected * (1 + 1e-9)
    assert_close(actual, expected, rtol=1e-8)
    assert_close(actual, expected, atol=1e-5)
    assert_close(actual, expected, ulp=1e8)
    with pytest.raises(AssertionError):
        assert_close(actual, expected, rtol=1e-10, atol=1e-10, ulp=10)


def test_no_tolerance_lets_nan_or_infinity_pass():
    for bad in (math.nan, math.inf):
        with pytest.raises(AssertionError):
            assert_close(
                np.array([bad], np.float32), np.array([1.0], np.float32), rtol=1e30, atol=math.inf
            )
        with pytest.raises(AssertionError):
            assert_close(np.array([1.0], np.float32), np.array([bad], np.float32), rtol=math.inf)


def test_the_message_says_where_and_by_how_much():
    expected = np.zeros((3, 4), np.float32)
    actual = expected.copy()
    actual[1, 2], actual[2, 3] = 1e-45, 7.0
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected, name="result 1")
    message = str(caught.value)
    assert message.startswith("result 1: 2 of 12 elements of float32[3, 4] differ (ulp=0")
    first, second = message.splitlines()[1:]
    assert first.startswith("  at [2, 3]: 7.0, expected 0.0 (")
    assert second.endswith("expected 0.0 (1 ULP)")


def test_shape_and_dtype_must_agree():
    with pytest.raises(AssertionError, match=r"shape is \(2,\), expected \(1, 2\)"):
        assert_close(np.ones(2), np.ones((1, 2)))
    with pytest.raises(AssertionError, match="dtype is float64, expected float32"):
        assert_close(np.ones(2), np.ones(2, np.float32))


def test_tensors_and_zero_dimensions_are_compared_too():
    assert_close(tfr.asarray(2.0) * 3, np.float32(6.0))
    with pytest.raises(AssertionError, match="1 of 1 elements"):
        assert_close(tfr.asarray(2.0), np.float32(6.0))
