"""Operands of different orders of axes on devices: NumPy's values, whatever the dtype, in one kernel."""

import numpy as np
import pytest

import tensorframe as tfr
from tests.backends.devices import holds, on_every_device, some

pytestmark = on_every_device


@pytest.mark.sweep(3)
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex64"])
def test_a_transposed_operand(device, dtype):
    if not holds(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    x, y = some((3, 70, 45), dtype), some((3, 45, 70), dtype, seed=1)
    result = tfr.where(tfr.asarray(x, device=device) != 0, tfr.asarray(y, device=device).mT, 1)
    plan = tfr.explain(result)
    assert plan.kernels == 1
    np.testing.assert_array_equal(
        result.numpy(), np.where(x != 0, y.swapaxes(1, 2), 1).astype(dtype)
    )


def test_a_transposed_copy(device):
    x = some((70, 45), "float32")
    flat = tfr.reshape(tfr.asarray(x, device=device).mT, (-1,))
    np.testing.assert_array_equal(flat.numpy(), x.T.ravel())
