"""Quantiles select: no plan sorts for them, and the engine asks NumPy for one place at a time."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.numpy.sorting import partition


def ops_of(tensor):
    """The names of the library calls of a plan."""
    plan = tfr.explain(tensor)
    return [one.op.name for step in plan.steps if step.region for one in step.region.ops]


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
        at = place % size
        np.testing.assert_array_equal(found[:, at], ordered[:, at])
        np.testing.assert_array_equal(np.sort(found[:, : at + 1]), ordered[:, : at + 1])


def test_what_is_selected_is_not_changed():
    x = np.arange(1000.0)[::-1].copy()
    partition(x, (10,), 0)
    assert x[0] == 999


def test_one_place_at_a_time(monkeypatch):
    """NumPy selects a single place by vector instructions, several by scalar ones."""
    asked = []
    original = np.partition

    class Lines(np.ndarray):
        def partition(self, kth, axis=-1):
            asked.append((self.shape[axis], kth))
            self[...] = original(np.asarray(self), kth, axis=axis)

    monkeypatch.setattr(np, "moveaxis", lambda x, source, target: x.view(Lines))
    partition(np.random.default_rng(0).random(1000), (499, 500, 999), 0)
    assert asked == [(1000, 500), (500, 499), (499, 498)]
