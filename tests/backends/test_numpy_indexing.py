"""Assignments to large slices copy what stands beside the slice, not what is overwritten."""

import numpy as np
import pytest

from tensorframe.backends.numpy import indexing

BORDERS = {
    "inside": (slice(1, -1), slice(2, -3), slice(1, -1)),
    "from the start": (slice(0, -1), slice(0, -1), slice(0, -2)),
    "to the end": (slice(3, None), slice(1, None), slice(1, None)),
    "rows": (slice(2, -2), slice(None), slice(None)),
    "columns": (slice(None), slice(None), slice(1, -1)),
    "all": (slice(None), slice(None), slice(None)),
    "every second": (slice(None), slice(None), slice(1, None, 2)),
    "a few": (slice(1, 3), slice(2, 5), slice(None)),
}


@pytest.mark.parametrize("key", BORDERS.values(), ids=BORDERS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(30, 40, 500), (500, 40, 30), (3000, 20, 20), (9, 8, 7)])
def test_a_slice_is_replaced_and_the_rest_is_as_it_was(shape, order, key):
    x = np.asarray(np.random.default_rng(0).random(shape), order=order)
    before, want = x.copy(), x.copy()
    want[key] = 1 - x[key]
    ranges = [part.indices(size) for part, size in zip(key, shape, strict=True)]
    starts, _, steps = zip(*ranges, strict=True)
    sizes = tuple(len(range(*one)) for one in ranges)
    got = indexing.set_slice(x, 1 - x[key], starts, sizes, steps)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(x, before)
    assert got.strides == x.strides
