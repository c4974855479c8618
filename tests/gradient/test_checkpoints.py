"""Checkpoints: what they give is what the block gives, and memory is what they are for."""

import numpy as np
import pytest

import tensorframe as tfr

RANDOM = np.random.default_rng(11)


def tensor(*shape):
    return tfr.asarray(RANDOM.normal(size=shape) * 0.3)


def layers(x, weights):
    for weight in weights:
        x = tfr.tanh(x @ weight)
    return x


def chain(block, every):
    def loss(x, weights):
        for start in range(0, len(weights), every):
            x = block(x, weights[start : start + every])
        return tfr.sum(x * x)

    return loss


@pytest.mark.parametrize("device", ["numpy", "llvm", "opencl", "wgpu"])
def test_gradients_are_those_of_the_block(device):
    if device not in tfr.backends.available():
        pytest.skip(f"{device} is not here")
    x = tensor(6, 8).to_device(device)
    weights = [tensor(8, 8).to_device(device) for _ in range(4)]
    with tfr.config.override(small_size=0):
        plain = tfr.grad(chain(layers, 2), (0, 1))(x, weights)
        again = tfr.grad(chain(tfr.checkpoint(layers), 2), (0, 1))(x, weights)
        np.testing.assert_allclose(again[0].numpy(), plain[0].numpy(), rtol=1e-10)
        for found, wanted in zip(again[1], plain[1], strict=True):
            np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-10)


def test_a_chain_of_64_peaks_at_few_activations():
    """In blocks of 8: 8 results of blocks and the 8 of one block are the ideal, 65 is what there is without."""
    x, weights = tensor(512, 32), [tensor(32, 32) for _ in range(64)]
    given = x.nbytes + sum(weight.nbytes for weight in weights)

    def activations(block):
        value, gradient = tfr.value_and_grad(chain(block, 8))(x, weights)
        (peak,) = tfr.explain(value, gradient).peak.values()
        return (peak - given) / x.nbytes

    assert activations(layers) > 60
    assert activations(tfr.checkpoint(layers)) <= 2.5 * 16
    assert activations(tfr.checkpoint(layers)) < 24


def test_an_estimate_says_so_beforehand():
    x, weights = tensor(512, 32), [tensor(32, 32) for _ in range(16)]
    with_all = tfr.estimate(tfr.grad(chain(layers, 4))(x, weights))
    with_few = tfr.estimate(tfr.grad(chain(tfr.checkpoint(layers), 4))(x, weights))
    assert max(with_few.peak.values()) < 0.8 * max(with_all.peak.values())


def test_what_is_closed_over_has_its_gradient():
    x, weight = tensor(4, 4), tensor(4, 4)

    def loss(x, weight):
        return tfr.sum(tfr.checkpoint(lambda y: tfr.sin(y @ weight) * y)(tfr.exp(x)))

    def plain(x, weight):
        y = tfr.exp(x)
        return tfr.sum(tfr.sin(y @ weight) * y)

    for found, wanted in zip(
        tfr.grad(loss, (0, 1))(x, weight), tfr.grad(plain, (0, 1))(x, weight), strict=True
    ):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    "turned",
    [tfr.hessian, lambda f: tfr.jit(tfr.hessian(f)), lambda f: tfr.hessian(tfr.jit(f))],
    ids=["hessian", "jit of hessian", "hessian of jit"],
)
def test_second_derivatives(turned):
    def inner(x):
        return {"a": tfr.sin(x) * x, "b": tfr.exp(x)}

    def loss(block):
        return lambda x: tfr.sum(block(x)["a"] * block(x * 2)["b"])

    x = tensor(3)
    wanted = tfr.hessian(loss(inner))(x)
    found = turned(loss(tfr.checkpoint(inner)))(x)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)


def test_of_each_example():
    x, weight = tensor(5, 4), tensor(4, 4)
    block = tfr.checkpoint(lambda row: tfr.sum(tfr.sin(row @ weight)))
    found = tfr.vmap(tfr.grad(block))(x)
    wanted = tfr.grad(lambda x: tfr.sum(tfr.sin(x @ weight)))(x)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)


def test_random_numbers_are_the_same_both_times():
    def dropped(x):
        return x * x * tfr.random.bernoulli(x.shape, 0.5, key=tfr.random.key(3))

    x = tensor(100)
    found = tfr.grad(lambda x: tfr.sum(tfr.checkpoint(dropped)(x)))(x)
    wanted = 2 * dropped(x).numpy() / x.numpy()
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-14)


def test_values_may_be_looked_at_inside():
    def block(x):
        y = tfr.sin(x)
        return y * float(y[0]) if y.sum() < 100 else y

    x = tensor(3)
    found = tfr.grad(lambda x: tfr.sum(tfr.checkpoint(block)(x)))(x)
    np.testing.assert_allclose(found.numpy(), np.cos(x.numpy()) * np.sin(x.numpy()[0]), rtol=1e-12)


def test_outside_of_a_gradient_a_block_is_the_function():
    x = tfr.asarray(np.ones(100_000))
    y = tfr.sin(x) * x
    once = str(tfr.explain(y))
    y = tfr.checkpoint(lambda x: tfr.sin(x) * x)(x)
    assert str(tfr.explain(y)) == once
