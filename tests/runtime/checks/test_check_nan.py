"""The option `check_nan`: the first op that makes a NaN is named, with its line, and nothing changes."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import NanError

DEVICES = ["cpu", "numpy", "llvm"] + [
    name for name in ("opencl", "wgpu", "cuda") if name in tfr.backends.available()
]


@pytest.fixture(autouse=True)
def _looked_at():
    with tfr.config.override(check_nan=True):
        yield


def spread(low, high, count=5000, device=None):
    return tfr.asarray(np.linspace(low, high, count, dtype=np.float32), device=device)


@pytest.mark.parametrize("count", [3, 5000])
@pytest.mark.parametrize("device", DEVICES)
def test_the_first_op_is_named(device, count):
    x = spread(-1.0, 1.0, count, device)
    result = tfr.sum(tfr.exp(x) * tfr.log(x) + 1)
    with pytest.raises(NanError, match=rf"^log\(float32\[{count}\]\) makes a NaN") as raised:
        result.compute()
    assert "test_check_nan.py" in str(raised.value.location)
    assert not result.is_computed


def test_a_single_op_is_named():
    x = spread(-1.0, 1.0, 2)
    for _ in range(3):  # by the plan at first, by what is kept of it later
        with pytest.raises(NanError, match=r"^sqrt\(float32\[2\]\)"):
            tfr.sqrt(x).compute()


def test_differences_of_infinities_are_found_in_matmuls():
    x = tfr.asarray([[np.inf, -np.inf], [1.0, 2.0]])
    with pytest.raises(NanError, match="matmul"):
        (x @ tfr.ones((2, 2))).compute()


def test_a_nan_that_was_given_is_told_from_one_that_is_made():
    x = tfr.asarray([np.nan, 1.0])
    with pytest.raises(NanError, match=r"add is given a NaN, in float32\[2\]"):
        (x + 1).compute()


def test_what_has_none_computes_as_ever():
    x = spread(0.5, 2.0)
    expected = np.log(x.numpy()) * 2
    np.testing.assert_allclose((tfr.log(x) * 2).numpy(), expected, rtol=1e-6, atol=1e-7)
    assert tfr.sum(tfr.isnan(x / 1)).item() == 0
    assert (tfr.asarray([False, True]) & True).tolist() == [False, True]


def test_a_nan_that_a_choice_leaves_out_is_none():
    x = spread(-1.0, 1.0)
    assert tfr.isfinite(tfr.where(x > 0, tfr.log(x), 0)).all().item()


def test_a_loss_that_becomes_nan_names_its_op_and_leaves_the_model_as_it_was():
    @tfr.jit(updates=("params", "optimizer"))
    def step(params, optimizer, x):
        def loss(params):
            return tfr.mean(tfr.log(x @ params["w"]))

        value, gradients = tfr.value_and_grad(loss)(params)
        optimizer.update(params, gradients)
        return value

    params = {"w": tfr.ones(4)}
    optimizer = tfr.optim.SGD(0.1, momentum=0.9)
    optimizer.init(params)
    step(params, optimizer, tfr.ones((8, 4)))
    before = params["w"].numpy().copy()
    with pytest.raises(NanError, match=r"^log\(") as raised:
        step(params, optimizer, -tfr.ones((8, 4)))
    assert "test_check_nan.py" in str(raised.value.location)
    np.testing.assert_array_equal(params["w"].numpy(), before)
    assert optimizer.step.item() == 1
    step(params, optimizer, tfr.ones((8, 4)))
    assert optimizer.step.item() == 2
