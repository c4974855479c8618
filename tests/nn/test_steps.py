"""Steps of training: how many kernels norms and losses are with their gradients, and that these are right."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.backends.devices import FOUND


def numbers(*shape, device="cpu"):
    values = np.random.default_rng(shape[0]).standard_normal(shape).astype(np.float32)
    return tfr.asarray(values, device=device).compute()


def layer_norm(x, w, b):
    return tfr.value_and_grad(
        lambda *args: tfr.sum(F.layer_norm(args[0], 300, *args[1:]) ** 2), (0, 1, 2)
    )(x, w, b)


def test_steps_of_training_are_few_kernels():
    x, w, b = numbers(64, 300), numbers(300), numbers(300)
    value, gradients = layer_norm(x, w, b)
    assert tfr.explain(value, *gradients).kernels <= 5
    labels = tfr.asarray(np.arange(64) % 300).compute()
    for smoothing in (0.0, 0.1):
        loss = lambda x: F.cross_entropy(x, labels, label_smoothing=smoothing)  # noqa: B023, E731
        assert tfr.explain(*tfr.value_and_grad(loss)(x)).kernels <= 3
    assert tfr.explain(F.cross_entropy(x, labels)).kernels <= 2
    softmax = tfr.value_and_grad(lambda x: tfr.sum(tfr.softmax(x) ** 2))(x)
    assert tfr.explain(*softmax).kernels <= 2


@pytest.mark.parametrize("device", ["llvm", *FOUND])
def test_results_are_those_of_separate_kernels(device):
    arguments = numbers(64, 300), numbers(300), numbers(300)
    with tfr.config.override(fuse=False):
        value, gradients = layer_norm(*arguments)
        wanted = [one.numpy() for one in (value, *gradients)]
    value, gradients = layer_norm(*[tfr.asarray(one, device=device) for one in arguments])
    for own, one in zip((value, *gradients), wanted, strict=True):
        np.testing.assert_allclose(own.numpy(), one, rtol=2e-4, atol=2e-4)


def test_no_kernel_waits_for_itself():
    """A mean that is read before and after what is made of it is stored by none of those that wait for another."""
    x = numbers(50, 80)
    mean = tfr.mean(x, axis=1, keepdims=True)
    first = tfr.sum((x - mean) ** 2, axis=1, keepdims=True)
    second = tfr.max((x - mean) / first, axis=0, keepdims=True)
    third = tfr.sum(tfr.exp(x - mean) * second, axis=1)
    found = (third + mean[:, 0]).numpy()
    values = x.numpy().astype(np.float64)
    means = values.mean(1, keepdims=True)
    squares = ((values - means) ** 2).sum(1, keepdims=True)
    largest = ((values - means) / squares).max(0, keepdims=True)
    wanted = (np.exp(values - means) * largest).sum(1) + means[:, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
