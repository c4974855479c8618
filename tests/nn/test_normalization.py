"""Normalisations: how many kernels they are, the statistics that they leave behind, and what they refuse."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.backends.devices import FOUND


def numbers(*shape, device="cpu", dtype="float32"):
    found = np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)
    return tfr.asarray(found, device=device).compute()


def calls(device):
    x, image = numbers(64, 1000, device=device), numbers(8, 16, 20, 20, device=device)
    row, channel = numbers(1000, device=device), numbers(16, device=device)
    return {
        "layer_norm": lambda: F.layer_norm(x, 1000, row, row),
        "rms_norm": lambda: F.rms_norm(x, 1000, row),
        "batch_norm": lambda: F.batch_norm(image, None, None, channel, channel, training=True),
        "batch_norm by running statistics": lambda: F.batch_norm(
            image, channel, channel * channel, channel, channel
        ),
        "instance_norm": lambda: F.instance_norm(image, None, None, channel, channel),
        "group_norm": lambda: F.group_norm(image, 4, channel, channel),
    }


@pytest.mark.parametrize("device", ["cpu", "llvm", *FOUND])
@pytest.mark.parametrize("name", calls("cpu"))
def test_a_normalisation_is_one_kernel(name, device):
    plan = tfr.explain(calls(device)[name]())
    assert (plan.kernels, plan.library_calls) == (1, 0)


def test_mean_and_variance_of_rows_far_from_zero_are_accurate():
    x = numbers(4, 1000, dtype="float64") + 1000.0
    wanted = F.layer_norm(x, 1000).numpy()
    found = F.layer_norm(x.astype("float32"), 1000).numpy()
    np.testing.assert_allclose(found, wanted, atol=2e-3)


def test_batch_norm_moves_the_handles_of_running_statistics():
    x = numbers(6, 3, 4)
    mean, var = tfr.zeros(3), tfr.ones(3)
    before = mean, tfr.asarray(var, copy=True)
    F.batch_norm(x, mean, var, training=True, momentum=0.25)
    values = x.numpy().astype(np.float64)
    np.testing.assert_allclose(mean.numpy(), 0.25 * values.mean((0, 2)), rtol=1e-5, atol=1e-6)
    unbiased = values.var((0, 2), ddof=1)
    np.testing.assert_allclose(var.numpy(), 0.75 + 0.25 * unbiased, rtol=1e-5)
    assert before[0] is mean
    assert before[1].tolist() == [1.0] * 3
    assert mean.dtype == var.dtype == tfr.float32


def test_running_statistics_do_not_move_without_training():
    x, mean, var = numbers(6, 3), numbers(3), numbers(3) * numbers(3)
    wanted = mean.tolist(), var.tolist()
    F.batch_norm(x, mean, var).compute()
    assert (mean.tolist(), var.tolist()) == wanted


def test_normalisations_map_over_examples():
    x, w = numbers(5, 3, 8), numbers(5, 8)
    mapped = tfr.vmap(lambda x, w: F.layer_norm(x, 8, w))(x, w).numpy()
    for index in range(5):
        own = F.layer_norm(x[index], 8, w[index]).numpy()
        np.testing.assert_allclose(mapped[index], own, rtol=1e-5, atol=1e-6)


def test_second_derivatives():
    x = numbers(2, 4, dtype="float64")

    def steepness(x):
        return tfr.sum(tfr.grad(lambda x: tfr.sum(F.layer_norm(x, 4) ** 3))(x) ** 2)

    tfr.check_gradient(steepness, x)
    tfr.check_gradient(
        lambda x: tfr.sum(tfr.grad(lambda x: tfr.sum(F.rms_norm(x, 4) ** 3))(x) ** 2), x
    )


X = tfr.ones((4, 6, 2))
WRONG = {
    "normalized_shape=(3,) are not the last sizes": lambda: F.layer_norm(X, 3),
    "weight has shape (3,), but normalized_shape needs (2,)": lambda: F.layer_norm(
        X, 2, tfr.ones(3)
    ),
    "num_groups=4 does not divide the 6 channels": lambda: F.group_norm(X, 4),
    "bias has shape (2,), but an input with 6 channels needs (6,)": lambda: F.group_norm(
        X, 3, bias=tfr.ones(2)
    ),
    "running_mean has shape (5,)": lambda: F.batch_norm(X, tfr.ones(5), tfr.ones(6)),
    "one element for each channel": lambda: F.batch_norm(tfr.ones((1, 3)), training=True),
    "axes (examples, channels, ...)": lambda: F.batch_norm(tfr.ones(3), training=True),
}


@pytest.mark.parametrize("message", WRONG)
def test_shapes_that_do_not_fit_are_named(message):
    with pytest.raises(ShapeError) as caught:
        WRONG[message]()
    assert message in str(caught.value)


def test_other_wrong_arguments():
    with pytest.raises(ArgumentError, match="batch_norm: running_mean and running_var are needed"):
        F.batch_norm(X)
    with pytest.raises(DTypeError, match="running_mean is moved on, so it is a Tensor"):
        F.batch_norm(X, np.zeros(6), np.ones(6), training=True)
    with pytest.raises(DTypeError, match="layer_norm: input has a real floating dtype, got int64"):
        F.layer_norm(tfr.asarray([1, 2]), 2)
    with pytest.raises(DTypeError, match="layer_norm: eps must be a real number, got 'small'"):
        F.layer_norm(X, 2, eps="small")
