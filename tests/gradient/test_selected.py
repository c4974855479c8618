"""Gradients of medians and quantiles of long lines: elements are found again by counting, and nothing is sorted."""

import numpy as np
import pytest

import tensorframe as tfr
from tests.backends.devices import FOUND

DEVICES = ["cpu", *[name for name in FOUND if name != "cuda"]]
LENGTH = 1501


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


def lines():
    """Lines of other elements, of equal ones, with NaN, with zeros of both signs, and with infinities."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5, LENGTH)).astype(np.float32)
    x[1] = rng.integers(0, 9, LENGTH)
    x[2, ::7] = np.nan
    x[3] = np.where(np.arange(LENGTH) % 3, 0.0, -0.0)
    x[4, : LENGTH // 2 + 5] = np.inf
    return x


def expected(x, places, shares):
    """Where a stable order puts the elements at places, what each of them gets."""
    result = np.zeros_like(x)
    for line, row in zip(result, x, strict=True):
        order = np.argsort(row, kind="stable")
        for place, share in zip(places(row), shares, strict=True):
            line[order[place]] += share
    return result


@pytest.mark.parametrize("device", DEVICES)
def test_shares_go_to_the_elements_that_sorting_would_have_put_there(device):
    x = lines()
    t = tfr.asarray(x, device=device)
    found = tfr.grad(lambda t: tfr.sum(tfr.nanmedian(t, axis=1) * 3))(t)

    def middle(row):
        count = np.sum(~np.isnan(row))
        return (count - 1) // 2, count // 2

    np.testing.assert_array_equal(found.numpy(), expected(x, middle, (1.5, 1.5)))


@pytest.mark.parametrize("device", [name for name in DEVICES if name != "cpu"])
def test_several_places_of_a_line_add_up(device):
    x = lines()[:2]
    t = tfr.asarray(x, device=device)
    found = tfr.grad(lambda t: tfr.sum(tfr.quantile(t, [0.0, 0.5], axis=1, method="lower")))(t)
    np.testing.assert_array_equal(found.numpy(), expected(x, lambda _: (0, LENGTH // 2), (1, 1)))


@pytest.mark.parametrize("device", [name for name in DEVICES if name != "cpu"])
def test_nothing_is_sorted(device):
    t = tfr.asarray(lines()[:1], device=device)
    gradient = tfr.grad(lambda t: tfr.sum(tfr.median(t, axis=1)))
    assert "sort" not in str(tfr.explain(gradient(t)))
    # a few elements are sorted sooner than they are counted
    assert "sort" in str(tfr.explain(gradient(t[:, :100])))
