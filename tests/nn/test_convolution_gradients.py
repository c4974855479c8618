"""Gradients of convolutions: those of differences, of gradients, of complex numbers, on every device."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.backends.devices import FOUND
from tests.nn.convolution_cases import CASES, CONV, HOSTS, TRANSPOSED, expected, numbers

GRADIENTS = ["in strides", "dilated", "in groups", "by channel", "along a line", "everything"]


@pytest.mark.parametrize(
    ("name", "device"),
    [(name, host) for name in GRADIENTS for host in HOSTS]
    + [("everything", device) for device in FOUND],
)
def test_gradients_are_those_of_differences(name, device):
    shape, weights, how = CASES[name]
    x, w = numbers(*shape)[:1], numbers(*weights, seed=1)
    b = numbers(weights[0], seed=2)

    def loss(x, w, b):
        return tfr.sin(CONV[len(shape) - 2](x, w, b, **how)).mean()

    if device == "cpu":
        tfr.check_gradient(loss, *map(tfr.asarray, (x, w, b)))
        return
    wanted = tfr.grad(loss, argnums=(0, 1, 2))(*map(tfr.asarray, (x, w, b)))
    there = [tfr.asarray(one, device=device) for one in (x, w, b)]
    for one, cpus in zip(tfr.grad(loss, argnums=(0, 1, 2))(*there), wanted, strict=True):
        assert str(one.device).startswith(device)
        np.testing.assert_allclose(one.numpy(), cpus.numpy(), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", ["in strides", "longer at the end", "dilated", "in groups"])
def test_gradients_of_transposed_convolutions_are_those_of_differences(name):
    shape, weights, how = TRANSPOSED[name]

    def loss(x, w):
        return tfr.sin(F.conv_transpose2d(x, w, **how)).mean()

    tfr.check_gradient(loss, tfr.asarray(numbers(*shape)), tfr.asarray(numbers(*weights, seed=1)))


def test_a_gradient_of_a_gradient():
    x, w = numbers(1, 2, 5, 5), numbers(4, 1, 3, 2, seed=1)

    def slope(x, w):
        def loss(x, w):
            return tfr.sin(F.conv2d(x, w, stride=2, padding=1, groups=2)).sum()

        by_x, by_w = tfr.grad(loss, argnums=(0, 1))(x, w)
        return (by_x * by_x).mean() + (by_w * by_w).mean()

    tfr.check_gradient(slope, tfr.asarray(x), tfr.asarray(w), rtol=1e-5)


def test_complex_convolutions_and_their_gradients():
    x = numbers(1, 2, 4, 4) + 1j * numbers(1, 2, 4, 4, seed=1)
    w = numbers(3, 2, 2, 2, seed=2) + 1j * numbers(3, 2, 2, 2, seed=3)
    found = F.conv2d(tfr.asarray(x), tfr.asarray(w)).numpy()
    real, imaginary = [
        expected(one, w.real) + 1j * expected(one, w.imag) for one in (x.real, x.imag)
    ]
    np.testing.assert_allclose(found, real + 1j * imaginary, rtol=1e-4, atol=1e-5)

    def loss(x, w):
        return tfr.real(F.conv2d(x, w) * (2 - 1j)).mean()

    tfr.check_gradient(loss, tfr.asarray(x), tfr.asarray(w))
