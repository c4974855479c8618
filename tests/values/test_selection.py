"""Quantiles select: no plan sorts for them, and the engine asks NumPy for one place at a time."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.numpy import sorting
from tensorframe.backends.numpy.sorting import partition, select
from tensorframe.errors import IndexingError
from tests.backends.devices import FOUND


def ops_of(tensor):
    """The names of the library calls of a plan."""
    plan = tfr.explain(tensor)
    return [op.op.name for step in plan.steps if step.region for op in step.region.ops]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("median", ()), ("percentile", (30,)), ("quantile", ([0.1, 0.5, 0.9],))],
)
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)])
def test_nothing_is_sorted_for_a_quantile(name, arguments, axis):
    x = tfr.zeros((40, 50, 60))
    found = ops_of(getattr(tfr, name)(x, *arguments, axis=axis))
    assert "sort" not in found
    assert found.count("partition") == 1
    # how many elements are not NaN is known when it runs, and so are the places
    found = ops_of(getattr(tfr, f"nan{name}")(x, *arguments, axis=axis))
    assert "sort" not in found
    assert found.count("select") == 1


def test_nothing_is_sorted_for_probabilities_in_a_tensor():
    x, q = tfr.zeros((40, 50)), tfr.asarray([0.1, 0.7])
    for name in ("quantile", "nanquantile"):
        found = ops_of(getattr(tfr, name)(x, q, axis=0))
        assert "sort" not in found
        assert found.count("select") == 1


DTYPES = ["bool", "int8", "uint64", "float16", "bfloat16", "float32", "float64"]
PLACES = [(0,), (499,), (250,), (249, 250), (0, 1, 2, 250, 251, 499), (-1, 0), (7, 7, 450)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("places", PLACES, ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_places_are_those_of_sorting(dtype, places, axis):
    values = np.random.default_rng(3).integers(0, 2 if dtype == "bool" else 100, (500, 500))
    values = values[:, :3] if axis == 0 else values[:3]
    x = values.astype(tfr.dtypes.as_dtype(dtype))
    if dtype.startswith(("float", "bfloat")):
        x[values == 7] = np.nan
    found, ordered = partition(x, places, axis), np.sort(x.astype(float), axis=axis)
    assert found.dtype == x.dtype
    found, size = np.moveaxis(found.astype(float), axis, -1), x.shape[axis]
    ordered = np.moveaxis(ordered, axis, -1)
    np.testing.assert_array_equal(np.sort(found, axis=-1), ordered)
    for place in places:
        index = place % size
        np.testing.assert_array_equal(found[:, index], ordered[:, index])
        np.testing.assert_array_equal(np.sort(found[:, : index + 1]), ordered[:, : index + 1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 2, 40])
def test_lines_have_places_of_their_own(dtype, count):
    generator = np.random.default_rng(4)
    values = generator.integers(0, 2 if dtype == "bool" else 100, (2, 3, 400))
    x = values.astype(tfr.dtypes.as_dtype(dtype))
    places = generator.integers(0, 400, (2, 3, count))
    places[0, 1] = places[1, 2]
    expected = np.take_along_axis(np.sort(x.astype(float), axis=-1), places, -1)
    found = select(x, places)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found.astype(float), expected)
    alike = np.broadcast_to(places[:1, :1], places.shape)
    expected = np.take_along_axis(np.sort(x.astype(float), axis=-1), alike, -1)
    np.testing.assert_array_equal(select(x, alike).astype(float), expected)
    assert select(x[:0], places[:0]).shape == (0, 3, count)


def test_what_is_selected_from_is_not_changed():
    x = np.arange(1000.0)[::-1].copy()
    partition(x, (10,), 0)
    select(x, np.array([10]))
    select(x, np.array([999]))
    assert x.tolist() == list(range(1000))[::-1]


def test_places_that_are_none_are_refused():
    x = tfr.asarray(np.arange(100.0))
    for q in (1.5, -0.5):
        with pytest.raises(IndexingError, match="places"):
            tfr.quantile(x, tfr.asarray([0.5, q])).compute()


@pytest.mark.parametrize(
    "device", sorted({"cpu", "numpy", "llvm", *FOUND} & set(tfr.backends.available()))
)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_probabilities_may_be_a_tensor(name, device):
    values = np.random.default_rng(5).random((7, 300)).astype(np.float32)
    values[2, 5:90] = np.nan
    q = np.array([[0.0, 0.3], [0.9, 1.0]])
    with tfr.use_backend(device):
        x, probabilities = tfr.asarray(values), tfr.asarray(q)
        found = getattr(tfr, name)(x, probabilities, axis=1).numpy()
        np.testing.assert_allclose(found, getattr(np, name)(values, q, axis=1), rtol=1e-6)


def test_one_place_at_a_time(monkeypatch):
    """NumPy selects a single place by vector instructions, several by scalar ones."""
    asked = []
    original = np.partition

    class Lines(np.ndarray):
        def partition(self, kth, axis=-1):
            asked.append((self.shape[axis], kth))
            self[...] = original(np.asarray(self), kth, axis=axis)

    monkeypatch.setattr(sorting, "_comparable", lambda x: x.view(Lines))
    partition(np.random.default_rng(0).random(1000), (499, 500, 999), 0)
    assert asked == [(1000, 500), (500, 499), (499, 498)]
