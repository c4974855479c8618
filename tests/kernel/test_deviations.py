"""Squared distances from a mean, summed in the pass that reads the mean's elements: as accurate as in two passes."""

import numpy as np
import pytest

import tensorframe as tfr

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

SHAPE = (1100, 260)  # several chunks along either axis, and a part of one


def variances(x, axis):
    """The variance by one kernel, and what it is."""
    found = tfr.var(tfr.asarray(x, device="llvm"), axis)
    assert len(list(found.explain().steps)) == 1
    with np.errstate(invalid="ignore"):
        return found.numpy(), x.astype(np.longdouble).var(axis)


def drawn(dtype="float32"):
    return np.random.default_rng(2).standard_normal(SHAPE).astype(dtype)


@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("offset", [0.0, 1e3, -1e6])
def test_a_mean_far_from_zero_costs_no_digits(axis, dtype, offset):
    x = drawn(dtype) + np.dtype(dtype).type(offset)
    found, expected = variances(x, axis)
    # the mean is rounded to the dtype before anything is subtracted from it
    lost = (abs(offset) * np.finfo(dtype).eps) ** 2
    np.testing.assert_allclose(found, expected.astype(dtype), rtol=32 * np.finfo(dtype).eps + lost)


@pytest.mark.parametrize("axis", [None, 0])
def test_sorted_elements(axis):
    """The first elements of a chunk tell little of the others."""
    x = np.sort(np.exp(3 * drawn().ravel())).reshape(SHAPE)
    found, expected = variances(x, axis)
    np.testing.assert_allclose(found, expected.astype(np.float32), rtol=2e-6)


def test_a_chunk_that_begins_with_outliers():
    """The worst case: all that cancels does."""
    x = drawn()
    x[:8] += 1e6
    found, expected = variances(x, 0)
    np.testing.assert_allclose(found, expected.astype(np.float32), rtol=1e-5)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_in_its_column(odd):
    x = drawn()
    x[700, 7] = odd
    found, _ = variances(x, 0)
    assert np.isnan(found).tolist() == [index == 7 for index in range(SHAPE[1])]
    assert np.isnan(variances(x, None)[0])


def test_equal_elements_have_none():
    assert variances(np.full(SHAPE, 1 / 3, np.float32), 0)[0].max() < 1e-14
    # the mean of float64 is rounded, so it is off by an ulp
    assert variances(np.full(SHAPE, 3e38), None)[0] <= (3e38 * np.finfo(float).eps) ** 2


def test_distances_that_are_needed_besides_take_a_pass_of_their_own():
    x = tfr.asarray(drawn(), device="llvm")
    away = x - tfr.mean(x)
    apart, variance = tfr.compute(away, tfr.mean(away * away))
    expected = drawn() - drawn().mean()
    np.testing.assert_allclose(apart.numpy(), expected, atol=1e-6)
    np.testing.assert_allclose(variance.numpy(), (expected**2).mean(), rtol=1e-6)


@pytest.mark.parametrize("axis", [None, 0])
def test_the_bits_are_those_of_one_thread(axis):
    x = tfr.asarray(drawn(), device="llvm")
    found = []
    for threads in (1, 2, 16):
        with tfr.config.override(threads=threads):
            found.append(tfr.var(x, axis).numpy().tobytes())
    assert len({*found}) == 1


def test_distances_from_something_else():
    """Any value of the row will do, here the largest element of it."""
    x = drawn()
    t = tfr.asarray(x, device="llvm")
    below = t - tfr.max(t, axis=0)
    found = tfr.sum(below * below, axis=0).numpy()
    expected = ((x.astype(np.longdouble) - x.max(0)) ** 2).sum(0)
    np.testing.assert_allclose(found, expected.astype(np.float32), rtol=1e-6)


def test_a_product_that_is_there_already_is_no_square():
    """The sum of a product that was computed before, beside another sum: it has no operands any more."""
    x = (np.arange(5000) % 7).astype("f4")
    product = (tfr.asarray(x) * tfr.asarray(x + 1)).compute()
    other = tfr.asarray(x) + 1
    slope = tfr.cov(product, other)[0, 1]
    found = (other - slope * (other - other.mean())).std() / product.std()
    a, b = x.astype(float) * (x + 1), x.astype(float) + 1
    expected = (b - np.cov(a, b)[0, 1] * (b - b.mean())).std() / a.std()
    np.testing.assert_allclose(found.item(), expected, rtol=1e-5)
