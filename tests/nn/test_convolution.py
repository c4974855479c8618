"""Convolutions give what their definition does, on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.backends.devices import FOUND
from tests.nn.convolution_cases import (
    CASES,
    CONV,
    DEVICES,
    TRANSPOSE,
    TRANSPOSED,
    expected,
    expected_transposed,
    numbers,
    on_devices,
)
from tests.nn.direct_convolution import direct

on_all_devices = pytest.mark.parametrize("device", DEVICES)


@pytest.mark.parametrize(("name", "device"), on_devices(CASES))
def test_convolution_is_what_its_definition_says(name, device):
    shape, weights, how = CASES[name]
    x, w = numbers(*shape), numbers(*weights, seed=1)
    found = CONV[x.ndim - 2](tfr.asarray(x, device=device), tfr.asarray(w, device=device), **how)
    wanted = expected(x, w, **how)
    assert found.shape == wanted.shape
    assert str(found.device).startswith(device)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("name", "device"), on_devices(TRANSPOSED))
def test_transposed_convolution_is_what_its_definition_says(name, device):
    shape, weights, how = TRANSPOSED[name]
    x, w = numbers(*shape), numbers(*weights, seed=1)
    function = TRANSPOSE[x.ndim - 2]
    found = function(tfr.asarray(x, device=device), tfr.asarray(w, device=device), **how)
    wanted = expected_transposed(x, w, **how)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)


@on_all_devices
@pytest.mark.parametrize("dtype", ["int32", "float16"])
def test_other_dtypes(dtype, device):
    if not all(
        np.dtype(dtype) in info.capabilities.dtypes
        for info in tfr.backends.devices()
        if str(info.device).startswith(device)
    ):
        pytest.skip(f"{device} has no {dtype}")
    x, w = numbers(1, 40, 5, 5, dtype=dtype), numbers(3, 40, 3, 3, dtype=dtype)
    found = F.conv2d(tfr.asarray(x, device=device), tfr.asarray(w, device=device))
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_allclose(
        found.numpy(), expected(x, w), rtol=2e-3, atol=0.05 if dtype == "float16" else 0
    )


def test_dtypes_promote_as_beside_operators():
    assert F.conv1d(tfr.ones((1, 1, 3)), np.ones((1, 1, 2))).dtype == np.float64
    assert F.conv1d(
        tfr.ones((1, 1, 3), dtype="int32"), tfr.ones((1, 1, 2)), bias=[1.0]
    ).tolist() == [[[3.0, 3.0]]]


def test_same_and_valid_padding():
    x, w = numbers(1, 2, 6, 7), numbers(3, 2, 4, 2, seed=1)
    found = F.conv2d(x, w, padding="same", dilation=(1, 2))
    wanted = direct(x, w, (1, 1), (1, 1), (2, 1), (1, 1), (1, 2), 1)
    assert found.shape == (1, 3, 6, 7)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(F.conv2d(x, w, padding="valid").numpy(), F.conv2d(x, w).numpy())


def test_an_example_needs_no_batch():
    x, w, b = numbers(2, 6, 7), numbers(4, 2, 3, 3, seed=1), numbers(4, seed=2)
    alone = F.conv2d(x, w, b, padding=1)
    assert alone.shape == (4, 6, 7)
    np.testing.assert_array_equal(alone.numpy(), F.conv2d(x[None], w, b, padding=1).numpy()[0])
    back = numbers(2, 4, 3, 3, seed=3)
    assert F.conv_transpose2d(x, back).shape == (4, 8, 9)
    assert F.conv1d(numbers(2, 6), numbers(3, 2, 2)).shape == (3, 5)
    assert F.conv3d(numbers(2, 3, 4, 5), numbers(3, 2, 2, 2, 2)).shape == (3, 2, 3, 4)


@on_all_devices
def test_tensors_without_elements(device):
    w = tfr.ones((4, 2, 3, 3), device=device)
    assert F.conv2d(tfr.ones((0, 2, 5, 5), device=device), w).numpy().shape == (0, 4, 3, 3)
    nothing = F.conv2d(tfr.ones((1, 0, 5, 5), device=device), tfr.ones((4, 0, 3, 3), device=device))
    np.testing.assert_array_equal(nothing.numpy(), np.zeros((1, 4, 3, 3)))
    by_x, by_w = tfr.grad(lambda x, w: F.conv2d(x, w).sum(), argnums=(0, 1))(
        tfr.ones((0, 2, 5, 5), device=device), w
    )
    assert by_x.numpy().shape == (0, 2, 5, 5)
    np.testing.assert_array_equal(by_w.numpy(), np.zeros((4, 2, 3, 3)))


def test_random_configurations_are_what_the_definition_says():
    """Values and both gradients, of 60 configurations: the gradients are linear, so the definition gives them too."""
    generator = np.random.default_rng(7)
    done = 0
    while done < 60:
        rank = int(generator.integers(1, 4))
        groups, each, made = generator.integers(1, 4, 3)
        spatial, kernel = generator.integers(1, 9, rank), generator.integers(1, 5, rank)
        stride, dilation = generator.integers(1, 4, (2, rank))
        padding = generator.integers(0, 3, rank)
        if np.any(spatial + 2 * padding < (kernel - 1) * dilation + 1):
            continue
        done += 1
        x = generator.standard_normal((int(generator.integers(1, 4)), groups * each, *spatial))
        w = generator.standard_normal((groups * made, each, *kernel))
        how: dict[str, Any] = {
            "stride": stride.tolist(),
            "padding": padding.tolist(),
            "dilation": dilation.tolist(),
            "groups": int(groups),
        }
        wanted = expected(x, w, **how)
        ct = generator.standard_normal(wanted.shape)
        found, pull = tfr.vjp(lambda x, w: CONV[rank](x, w, **how), tfr.asarray(x), tfr.asarray(w))  # noqa: B023
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-10, atol=1e-10)
        by_x, by_w = pull(tfr.asarray(ct))
        # <ct, conv(dx, w)> = <by_x, dx>, and the same for the weights
        dx, dw = generator.standard_normal(x.shape), generator.standard_normal(w.shape)
        np.testing.assert_allclose(
            (by_x.numpy() * dx).sum(), (ct * expected(dx, w, **how)).sum(), rtol=1e-8, atol=1e-8
        )
        np.testing.assert_allclose(
            (by_w.numpy() * dw).sum(), (ct * expected(x, dw, **how)).sum(), rtol=1e-8, atol=1e-8
        )


@pytest.mark.parametrize("device", FOUND)
def test_devices_have_a_kernel_for_it_all(device):
    """A convolution, bias and relu are one launch, without the cpu; elements are gathered where they lie."""
    given = numbers(2, 9, 10, 6), numbers(8, 6, 3, 3, seed=1), numbers(8, seed=2)
    x, w, b = [tfr.asarray(one, device=device).compute() for one in given]
    found = tfr.maximum(F.conv2d(x.transpose(0, 3, 1, 2), w, b, padding=1), 0)
    plan = found.explain()
    assert (plan.library_calls, plan.kernels, plan.transfers, plan.fallbacks) == (1, 0, 0, 0), plan
    wanted = expected(given[0].transpose(0, 3, 1, 2), given[1], padding=1) + given[2][:, None, None]
    np.testing.assert_allclose(found.numpy(), np.maximum(wanted, 0), rtol=1e-4, atol=1e-5)
