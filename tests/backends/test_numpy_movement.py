"""Joined arrays lie so that nothing is moved twice."""

import numpy as np

from tensorframe.backends.numpy.functions import implementation
from tensorframe.ops.movement import CONCAT


def joined(parts, axis):
    result = implementation[CONCAT](*parts, axis)
    np.testing.assert_array_equal(result, np.concatenate(parts, axis=axis))
    return result


def test_heads_side_by_side_are_reshaped_without_a_copy():
    """The gradient of what is cut into queries, keys and values: next it is one row again."""
    heads = np.arange(3 * 2 * 4 * 500 * 16, dtype=np.float32).reshape(3, 2, 4, 500, 16)
    parts = [part.transpose(0, 2, 1, 3)[:, :, None] for part in heads]
    parts[1] = np.asfortranarray(parts[1])
    assert joined(parts, 2).flags.c_contiguous
    assert joined(parts, 2).reshape(1000, 192, copy=False).shape == (1000, 192)


def test_columns_that_lie_in_memory_are_copied_as_they_lie():
    parts = [np.ones((300, 70), np.float64).T for _ in range(2)]
    assert joined(parts, 0).flags.f_contiguous
    assert joined(parts, 1).flags.f_contiguous


def test_few_elements_and_rows_of_one():
    assert joined([np.ones((2, 3)), np.zeros((2, 4))], 1).flags.c_contiguous
    assert joined([np.ones((5000, 1)), np.zeros((5000, 2))], 1).shape == (5000, 3)
