"""Gradients of values added, multiplied and compared where indices select: repeated, tied, zero and outside."""

import numpy as np
import pytest

import tensorframe as tfr
from tests.gradient.differences import check

NUMBERS = np.array([0, 2, 0, 2, 2])
SEGMENTS = ["segment_sum", "segment_prod", "segment_max", "segment_min", "segment_mean"]
RANDOM = np.random.default_rng(3)


def numbers(*shape):
    return RANDOM.uniform(0.5, 2.0, shape)


@pytest.mark.parametrize("name", SEGMENTS)
def test_segments(name):
    for shape in ((5,), (5, 2)):
        check(lambda x: getattr(tfr, name)(x, NUMBERS, 4)[:3:2], numbers(*shape))


@pytest.mark.parametrize("name", ["segment_sum", "segment_prod", "segment_mean"])
def test_segments_of_complex_numbers(name):
    check(lambda x: getattr(tfr, name)(x, NUMBERS, 4), numbers(5) + 1j * numbers(5))


def test_products_with_zeros():
    for x in ([0.0, 2.0, 3.0, 4.0, 5.0], [0.0, 0.0, 3.0, 4.0, 0.0], [0.0, 2.0, 0.0, 0.0, 0.0]):
        check(lambda x: tfr.segment_prod(x, NUMBERS, 3), np.array(x))


@pytest.mark.parametrize("name", ["segment_max", "segment_min"])
def test_ties_share(name):
    found = tfr.grad(lambda x: getattr(tfr, name)(x, NUMBERS, 3)[2])(tfr.asarray([1.0, 2, 1, 2, 2]))
    np.testing.assert_allclose(found.numpy(), [0, 1 / 3, 0, 1 / 3, 1 / 3], rtol=1e-6)


@pytest.mark.parametrize(
    "key",
    [
        NUMBERS % 3,
        (slice(None), NUMBERS % 2),
        (NUMBERS % 3, NUMBERS % 2),
        (..., None, NUMBERS % 2),
        1,
    ],
    ids=str,
)
def test_values_that_are_added(key):
    x = numbers(3, 2)
    check(lambda x, v: tfr.index_add(x, key, v) ** 2, x, numbers(*x[key].shape))
    check(lambda x, v: tfr.index_add(x, key, v), x, numbers(1))


def test_counted_weights():
    check(lambda w: tfr.bincount(NUMBERS, weights=w) ** 2, numbers(5))


def test_joined_by_ufuncs():
    def joined(ufunc, x, v):
        x = x + 0
        ufunc.at(x, [1, 0, 1], v)
        return x

    for ufunc in (np.add, np.multiply, np.maximum, np.minimum):
        check(lambda x, v, ufunc=ufunc: joined(ufunc, x, v), numbers(3), numbers(3))


def test_second_derivatives():
    def energy(x):
        return tfr.sum(tfr.segment_sum(x**2, NUMBERS, 3) ** 2) / 2

    found = tfr.hessian(energy)(tfr.asarray([1.0, 2.0, 3.0, 0.5, 1.5]))
    x, same = found.numpy() * 0 + [1.0, 2.0, 3.0, 0.5, 1.5], NUMBERS[:, None] == NUMBERS
    totals = np.where(same, x**2, 0).sum(1)
    wanted = 4 * x[0][:, None] * x * same + np.diag(2 * totals)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)
