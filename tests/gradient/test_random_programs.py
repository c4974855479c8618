"""Random programs have the gradients that differences tell, of first and second order, on every device."""

import numpy as np
import pytest

import tensorframe as tfr
from tests.gradient.programs import BINARY, UNARY, check, operands, program

CHUNK = 4


@pytest.mark.sweep(3)
@pytest.mark.parametrize("start", range(0, 40, CHUNK))
def test_op_by_op(start):
    for seed in range(start, start + CHUNK):
        check(seed)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("start", range(100, 120, CHUNK))
def test_by_plans(start):
    with tfr.config.override(small_size=0, small_nodes=0):
        for seed in range(start, start + CHUNK):
            check(seed)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", ["llvm", "opencl", "wgpu"])
def test_on_devices(device):
    if device not in tfr.backends.available():
        pytest.skip(f"{device} is not here")
    with tfr.config.override(small_size=0, small_nodes=0):
        check(201, device, length=3, second=device == "llvm")


def test_programs_use_everything():
    used = {name for seed in range(300) for name, *_ in program(seed)[0]}
    assert used == UNARY.keys() | BINARY.keys()


def test_gradients_cross_devices():
    """What lives on another device has its gradient there."""
    devices = ["cpu", *[one for one in ("opencl", "wgpu") if one in tfr.backends.available()]]
    x, y, *_ = operands(3)
    here, there = tfr.asarray(x), tfr.asarray(y).to_device(devices[-1])

    def loss(x, y):
        return tfr.sum(tfr.sin(x) * y) + tfr.sum(tfr.exp(y.to_device("cpu")) * x)

    with tfr.transfer_policy("allow"):
        for_x, for_y = tfr.grad(loss, (0, 1))(here, there)
    assert (for_x.device, for_y.device) == (here.device, there.device)
    np.testing.assert_allclose(for_x.numpy(), np.cos(x) * y + np.exp(y), rtol=1e-12)
    np.testing.assert_allclose(for_y.numpy(), np.sin(x) + np.exp(y) * x, rtol=1e-12)


def test_a_long_chain_is_no_recursion():
    def chain(x):
        for _ in range(5_000):
            x = x * 1.0001
        return x

    assert tfr.grad(chain)(tfr.asarray(1.0, dtype=tfr.float64)).item() == pytest.approx(
        1.0001**5_000
    )
