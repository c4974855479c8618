"""What tests of creation share: dtypes, and what they compare."""

import numpy as np

import tensorframe as tfr

DTYPES = sorted(tfr.dtypes.BY_NAME)
INTEGERS = sorted(dtype.name for dtype in tfr.dtypes.INTEGER)


def same(found, expected, dtype=None):
    """Asserts equal shapes, elements and dtypes."""
    expected = np.asarray(expected)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert found.shape == expected.shape
    assert found.dtype == (dtype or expected.dtype)
