"""Schedules, clipping and averages: the values that a formula in NumPy gives, and PyTorch."""

import math
from itertools import count

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import optim
from tensorframe.optim import schedules

S = schedules
# a schedule, and what a few lines of Python say about it
SCHEDULES = {
    "constant": (S.constant(0.25), lambda n: 0.25),
    "linear": (S.linear(1.0, 0.2, 10), lambda n: 1.0 - 0.8 * min(n, 10) / 10),
    "cosine": (
        S.cosine(2.0, 10, 0.5),
        lambda n: 0.5 + 1.5 * (1 + math.cos(math.pi * min(n, 10) / 10)) / 2,
    ),
    "exponential": (S.exponential(2.0, 0.5, 4), lambda n: 2.0 * 0.5 ** (n / 4)),
    "step": (S.step(2.0, 0.1, 3), lambda n: 2.0 * 0.1 ** (n // 3)),
    "warm_up": (
        S.warm_up(S.linear(1.0, 0.0, 8), 3),
        lambda n: (n + 1) / 4 if n < 3 else 1 - min(n - 3, 8) / 8,
    ),
    "join": (
        S.join([S.constant(1.0), S.exponential(0.5, 0.5), S.constant(0.1)], [2, 5]),
        lambda n: 1.0 if n < 2 else 0.5 * 0.5 ** (n - 2) if n < 5 else 0.1,
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_functions_of_a_step_tensor(name):
    schedule, formula = SCHEDULES[name]
    for updates in range(14):
        rate = schedule(tfr.asarray(updates, dtype="int32"))
        assert rate.dtype == tfr.float32
        assert rate.shape == ()
        assert rate.item() == pytest.approx(formula(updates), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(
    "make",
    [
        lambda: S.linear(1.0, 0.0, 0),
        lambda: S.cosine(-1.0, 5),
        lambda: S.step(1.0, 0.0, 5),
        lambda: S.warm_up(1.0, 2.5),
        lambda: S.join([S.constant(1.0)], [3]),
        lambda: S.join([S.constant(1.0)] * 3, [3, 3]),
    ],
    ids=count(),
)
def test_schedules_that_mean_nothing_are_refused(make):
    with pytest.raises(tfr.errors.ArgumentError):
        make()


def test_equal_schedules_are_equal():
    assert S.warm_up(S.cosine(1.0, 10), 3) == S.warm_up(S.cosine(1.0, 10), 3)
    assert hash(S.cosine(1.0, 10)) == hash(S.cosine(1.0, 10))
    assert S.cosine(1.0, 10) != S.cosine(1.0, 11)


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("scale", [0.01, 10.0])
def test_clip_grad_norm(norm_type, scale):
    generator = np.random.default_rng(0)
    arrays = [
        scale * generator.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (5,))
    ]
    whole = np.concatenate([array.ravel() for array in arrays]).astype(np.float64)
    norm = np.linalg.norm(whole, norm_type)
    clipped, got = optim.clip_grad_norm(list(map(tfr.asarray, arrays)), 1.5, norm_type)
    assert got.item() == pytest.approx(norm, rel=1e-5)
    for tensor, array in zip(clipped, arrays, strict=True):
        np.testing.assert_allclose(tensor.numpy(), array * min(1, 1.5 / norm), rtol=1e-5)


def test_clip_grad_norm_is_pytorchs():
    torch = pytest.importorskip("torch")
    array = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
    parameter = torch.nn.Parameter(torch.zeros(6, 5))
    parameter.grad = torch.tensor(array)
    norm = torch.nn.utils.clip_grad_norm_([parameter], 2.0)
    clipped, got = optim.clip_grad_norm({"w": tfr.asarray(array)}, 2.0)
    assert got.item() == pytest.approx(norm.item(), rel=1e-6)
    np.testing.assert_allclose(clipped["w"].numpy(), parameter.grad.numpy(), rtol=1e-6)


def test_half_precision_gradients_do_not_overflow_the_norm():
    clipped, norm = optim.clip_grad_norm([tfr.asarray(np.full(4, 300.0, np.float16))], 1.0)
    assert norm.item() == 600.0
    assert clipped[0].dtype == tfr.float16
    np.testing.assert_array_equal(clipped[0].numpy(), np.full(4, 0.5, np.float16))


def test_clip_grad_value():
    clipped = optim.clip_grad_value({"a": tfr.asarray([-3.0, 0.5, 2.0])}, 1.0)
    assert clipped["a"].tolist() == [-1.0, 0.5, 1.0]


def test_norms_below_zero_are_refused():
    with pytest.raises(tfr.errors.ArgumentError, match="norm_type"):
        optim.clip_grad_norm([tfr.ones(2)], 1.0, -1.0)


@pytest.mark.parametrize("warm_up", [False, True])
def test_averages_of_weights(warm_up):
    generator = np.random.default_rng(0)
    weights = {"w": tfr.asarray(generator.standard_normal(4)), "steps": tfr.asarray(3)}
    average = optim.ExponentialMovingAverage(weights, 0.6, warm_up=warm_up)
    expected = weights["w"].numpy()
    for step in range(5):
        new = generator.standard_normal(4)
        weights["w"] += tfr.asarray(new) - weights["w"]
        average.update(weights)
        decay = min(0.6, (1 + step) / (10 + step)) if warm_up else 0.6
        expected = decay * expected + (1 - decay) * new
    np.testing.assert_allclose(average.average["w"].numpy(), expected, rtol=1e-6)
    average.copy_to(weights)
    np.testing.assert_allclose(weights["w"].numpy(), expected, rtol=1e-6)
    assert weights["steps"].item() == 3


def test_an_average_is_of_the_weights_that_it_began_with():
    average = optim.ExponentialMovingAverage({"w": tfr.ones(2)})
    for other in ({"v": tfr.ones(2)}, {"w": tfr.ones(3)}, {"w": tfr.ones(2), "v": tfr.ones(1)}):
        with pytest.raises(tfr.errors.ArgumentError, match="is not what the average was made of"):
            average.update(other)
