"""Random programs have the gradients that differences tell, of first and second order, on every device."""

import numpy as np
import pytest

import tensorframe as tfr
from tests.gradient.programs import BINARY, UNARY, check, operands, program

CHUNK = 20


@pytest.mark.parametrize("start", range(0, 40, CHUNK))
def test_op_by_op(start):
    for seed in range(start, start + CHUNK):
        check(seed)


@pytest.mark.parametrize("start", range(100, 120, CHUNK))
def test_by_plans(start):
    with tfr.config.override(small_size=0, small_nodes=0):
        for seed in range(start, start + CHUNK):
            check(seed)


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


def test_against_jax():
    jax = pytest.importorskip("jax")
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", True)
    x, y, *_ = operands(5)

    def loss(xp, norm):
        def function(x, y):
            hidden = xp.tanh(x @ y.T) @ y
            scaled = (hidden - xp.mean(hidden, axis=1, keepdims=True)) / xp.sqrt(
                xp.var(hidden, axis=1, keepdims=True) + 1e-5
            )
            return xp.sum(xp.cumsum(scaled**3, axis=0) * xp.maximum(x, y)) / norm(x)

        return function

    ours = tfr.grad(loss(tfr, tfr.linalg.vector_norm), (0, 1))(tfr.asarray(x), tfr.asarray(y))
    theirs = jax.grad(loss(jnp, jnp.linalg.norm), (0, 1))(x, y)
    for found, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-10)
    matrix = tfr.hessian(lambda x: loss(tfr, tfr.linalg.vector_norm)(x, tfr.asarray(y)))(
        tfr.asarray(x)
    )
    other = jax.hessian(lambda x: loss(jnp, jnp.linalg.norm)(x, y))(x)
    np.testing.assert_allclose(matrix.numpy(), other, rtol=1e-8, atol=1e-10)
