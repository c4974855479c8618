"""Activation functions under PyTorch's argument names are the rows of the namespace."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_takes_dim(name):
    x = np.linspace(-3.0, 3.0, 12, dtype=np.float32).reshape(3, 4)
    for dim in (0, 1, -1):
        expected = getattr(tfr, name)(x, axis=dim).numpy()
        np.testing.assert_array_equal(getattr(F, name)(x, dim=dim).numpy(), expected)
