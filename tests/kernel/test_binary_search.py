"""The kernel that searches, interpreted: NumPy's places, never a load beyond the vector."""

import numpy as np
import pytest

from tensorframe.kernel.groups.algorithms.binary_search import Searching, build_search
from tensorframe.kernel.groups.target import Target
from tests.kernel.interpreted import run_built

TARGET = Target(4, np.dtype(np.float64), np.dtype(np.uint32))


def strides(array):
    return tuple(step // array.itemsize for step in array.strides)


def search(vector, values, right):
    (step,) = strides(vector)
    searching = Searching(
        vector.dtype, 0, vector.size, step, 1, values.shape, strides(values), right
    )
    found = np.zeros(values.shape, np.int64)
    run_built(
        build_search(searching, values.ndim, TARGET), {"x0": vector, "x1": values, "y0": found}
    )
    return found


@pytest.mark.parametrize("length", range(1, 10))
@pytest.mark.parametrize("side", ["left", "right"])
def test_vectors_of_every_length(length, side):
    vector = np.sort(np.random.default_rng(length).integers(0, 6, length)).astype(np.float32)
    values = np.arange(-1, 7, dtype=np.float32).reshape(2, 4)
    found = search(vector, values, side == "right")
    np.testing.assert_array_equal(found, np.searchsorted(vector, values, side=side))


def test_views():
    vector, values = np.arange(20, dtype=np.int16)[::-3][::-1], np.arange(12).reshape(3, 4).T
    values = values.astype(np.int16)
    np.testing.assert_array_equal(search(vector, values, False), np.searchsorted(vector, values))
    backwards = np.arange(20, dtype=np.int16)[::-1]
    np.testing.assert_array_equal(search(backwards[::-1], values[::-1], False), values[::-1])
