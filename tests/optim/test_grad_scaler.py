"""GradScaler: gradients that float16 has no numbers for arrive, and a step with infinite ones changes nothing."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError

DEVICES = ["cpu", "numpy", "llvm"] + [
    name for name in ("opencl", "wgpu", "cuda") if name in tfr.backends.available()
]


def weights(device=None):
    return {"w": tfr.asarray([1.0, 2.0], device=device), "b": tfr.asarray(0.5, device=device)}


def loss(params, x):
    return tfr.mean(params["w"] * x + params["b"])


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", DEVICES)
def test_scaled_steps_are_the_steps_of_the_loss_itself(device):
    x = tfr.asarray([3.0, -1.0], device=device)
    plain, scaled = weights(device), weights(device)
    scaler = tfr.GradScaler(1024.0)
    optimizers = [tfr.optim.Adam(0.1), tfr.optim.Adam(0.1)]
    for _ in range(2):
        optimizers[0].update(plain, tfr.grad(loss)(plain, x))
        gradients = tfr.grad(lambda params: scaler.scale(loss(params, x)))(scaled)
        assert scaler.step(optimizers[1], scaled, gradients).item() is True
    for name, tensor in plain.items():
        np.testing.assert_allclose(scaled[name].numpy(), tensor.numpy(), rtol=1e-6)


def test_gradients_too_small_for_float16_arrive():
    weight = tfr.asarray(np.float16([1.0]))
    tiny = lambda w: tfr.sum(w * np.float16(1e-4)) * np.float16(1e-4)  # noqa: E731
    scaler = tfr.GradScaler(1024.0)
    gradients, finite = scaler.unscale(tfr.grad(lambda w: scaler.scale(tiny(w)))(weight))
    assert finite.item()
    assert gradients.dtype == tfr.float32
    assert gradients.item() == pytest.approx(1e-8, rel=0.01)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("jitted", [False, True])
def test_a_step_with_a_gradient_that_is_not_finite_changes_nothing(bad, jitted):
    def step(params, optimizer, scaler, gradients):
        return scaler.step(optimizer, params, gradients)

    if jitted:
        step = tfr.jit(step, updates=("params", "optimizer", "scaler"))
    params, optimizer, scaler = weights(), tfr.optim.AdamW(0.1), tfr.GradScaler(8.0)
    optimizer.init(params)
    good = {"w": tfr.asarray([8.0, 16.0]), "b": tfr.asarray(1.0)}
    assert step(params, optimizer, scaler, good).item() is True
    before = {
        name: tensor.numpy() for name, tensor in [*params.items(), *optimizer.state_dict().items()]
    }
    assert step(params, optimizer, scaler, good | {"b": tfr.asarray(bad)}).item() is False
    after = {
        name: tensor.numpy() for name, tensor in [*params.items(), *optimizer.state_dict().items()]
    }
    assert before.keys() == after.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array)
    assert (scaler.scale_factor.item(), scaler.good_steps.item()) == (4.0, 0)
    assert step(params, optimizer, scaler, good).item() is True
    assert optimizer.step.item() == 2


def test_the_factor_grows_after_good_steps_and_falls_at_bad_ones():
    scaler = tfr.GradScaler(16.0, growth_interval=3)
    seen = []
    for good in (1, 1, 1, 1, 0, 1, 1, 1):
        scaler.update(tfr.asarray(bool(good)))
        seen.append((scaler.scale_factor.item(), scaler.good_steps.item()))
    assert seen == [(16, 1), (16, 2), (32, 0), (32, 1), (16, 0), (16, 1), (16, 2), (32, 0)]


def test_the_factor_is_pytorchs():
    torch = pytest.importorskip("torch")
    peer = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    parameter = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    scaler, ours = tfr.GradScaler(4.0, growth_interval=2), tfr.ones(1)
    for value in (1.0, 1.0, np.inf, 2.0, 1.0, 1.0, 1.0, np.nan):
        optimizer.zero_grad()
        peer.scale((parameter * value).sum()).backward()
        peer.step(optimizer)
        peer.update()
        gradient = tfr.grad(lambda w: scaler.scale(tfr.sum(w * value)))(ours)  # noqa: B023
        scaler.step(tfr.optim.SGD(0.1), ours, gradient)
        assert scaler.scale_factor.item() == peer.get_scale()
        np.testing.assert_allclose(ours.numpy(), parameter.detach().numpy(), rtol=1e-6)


def test_a_factor_that_would_overflow_stays():
    scaler = tfr.GradScaler(3e38, growth_interval=1)
    scaler.update(tfr.asarray(True))
    assert scaler.scale_factor.item() == np.float32(3e38)


def test_clipping_between_the_parts():
    params, scaler = weights(), tfr.GradScaler(4.0)
    gradients, finite = scaler.unscale({"w": tfr.asarray([12.0, 16.0]), "b": tfr.asarray(0.0)})
    clipped, norm = tfr.optim.clip_grad_norm(gradients, 1.0)
    assert norm.item() == 5.0
    tfr.optim.SGD(1.0).update(params, clipped, where=finite)
    np.testing.assert_allclose(params["w"].numpy(), [0.4, 1.2], rtol=1e-5)


def test_the_state_is_saved_and_loaded():
    first, second = tfr.GradScaler(16.0, growth_interval=2), tfr.GradScaler()
    first.update(tfr.asarray(True))
    second.load_state_dict(first.state_dict())
    assert (second.scale_factor.item(), second.good_steps.item()) == (16.0, 1)
    with pytest.raises(ArgumentError, match="scale_factor and good_steps"):
        second.load_state_dict({"scale": tfr.asarray(1.0)})


@pytest.mark.parametrize("nothing", [{}, [], None, {"w": None}])
def test_without_gradients_there_is_nothing_to_scale(nothing):
    with pytest.raises(ArgumentError, match="there are no gradients"):
        tfr.GradScaler().unscale(nothing)


@pytest.mark.parametrize(
    "options",
    [{"init_scale": 0.0}, {"growth_factor": 0.5}, {"backoff_factor": 0.0}, {"growth_interval": 0}],
    ids=str,
)
def test_factors_that_mean_nothing_are_refused(options):
    with pytest.raises(ArgumentError, match="GradScaler"):
        tfr.GradScaler(**options)
