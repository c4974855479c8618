"""Activation functions: one kernel each, random ones by a key, and what they refuse."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from tensorframe.graph.node import reachable
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.nn.cases.activations import ELEMENTWISE

X = tfr.asarray(np.linspace(-3.0, 3.0, 12, dtype=np.float32).reshape(3, 4))
KEY = tfr.random.key(5)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_takes_dim(name):
    for dim in (0, 1, -1):
        expected = getattr(tfr, name)(X, axis=dim).numpy()
        np.testing.assert_array_equal(getattr(F, name)(X, dim=dim).numpy(), expected)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax_converts_its_input_to_the_dtype_that_is_asked_for(name):
    function = getattr(F, name)
    numbers = tfr.asarray([[1, 2, 4], [0, 0, 9]])
    found = function(numbers, dim=1, dtype="float64")
    expected = function(tfr.asarray(numbers.numpy().astype("float64")), dim=1)
    assert found.dtype == tfr.float64
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    assert function(X, dtype=tfr.float16).dtype == tfr.float16
    with pytest.raises(DTypeError, match=f"{name}: dtype is a real floating one, got int32"):
        function(X, dtype="int32")
    with pytest.raises(DTypeError, match="real"):
        function(numbers)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_an_activation_is_one_node_and_its_gradient_no_array_between(name):
    call, _ = ELEMENTWISE[name]
    x = tfr.asarray(np.linspace(-3.0, 3.0, 50_000, dtype=np.float32)).compute()
    result = call(F, x)
    assert len([node for node in reachable([result.node]) if node.inputs]) == 1
    gradient = tfr.grad(lambda x: call(F, x).sum())(x)
    assert tfr.explain(gradient).kernels == 1


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_slopes_far_out_are_no_nan(name):
    call, _ = ELEMENTWISE[name]
    for dtype in ("float32", "float64", "float16"):
        x = tfr.asarray([-1e4, -100.0, 100.0, 1e4], dtype=dtype)
        assert np.isfinite(tfr.grad(lambda x: call(F, x).sum())(x).numpy()).all()


def test_random_slopes_of_rrelu_are_between_the_bounds():
    found = F.rrelu(tfr.full(1000, -1.0), 0.25, 0.75, training=True, key=KEY).numpy()
    assert -0.75 <= found.min() < -0.7
    assert -0.3 < found.max() <= -0.25


def test_gumbel_softmax_chooses_with_the_probabilities_of_softmax():
    logits = tfr.log(tfr.asarray([0.2, 0.3, 0.5]))
    many = tfr.broadcast_to(logits, (20_000, 3))
    chosen = F.gumbel_softmax(many, hard=True, key=KEY).numpy()
    assert set(np.unique(chosen)) == {0.0, 1.0}
    np.testing.assert_allclose(chosen.mean(0), [0.2, 0.3, 0.5], atol=0.02)
    soft = F.gumbel_softmax(many, tau=0.5, key=KEY).numpy()
    np.testing.assert_allclose(soft.sum(1), 1.0, rtol=1e-5)
    np.testing.assert_array_equal(soft.argmax(1), chosen.argmax(1))


def test_a_hard_choice_has_the_gradient_of_the_soft_one():
    weight = tfr.asarray(np.arange(12.0).reshape(3, 4))
    x = tfr.asarray(X, dtype="float64")

    def loss(hard):
        return lambda x: tfr.sum(F.gumbel_softmax(x, hard=hard, dim=0, key=KEY) * weight)

    np.testing.assert_allclose(tfr.grad(loss(True))(x).numpy(), tfr.grad(loss(False))(x).numpy())
    tfr.check_gradient(loss(False), x)


def test_numbers_that_shape_them_need_no_other_plan():
    @tfr.jit
    def f(x, slope):
        return F.leaky_relu(x, slope)

    assert f(X, 0.5).numpy().min() == -1.5
    assert f(X, 0.25).numpy().min() == -0.75


def test_wrong_arguments():
    with pytest.raises(DTypeError, match="relu: input has a real floating dtype, got int64"):
        F.relu(tfr.asarray([1, 2]))
    with pytest.raises(DTypeError, match="elu: alpha must be a real number, got 'a'"):
        F.elu(X, "a")
    with pytest.raises(ArgumentError, match="celu: alpha must not be 0"):
        F.celu(X, 0.0)
    with pytest.raises(ArgumentError, match="softshrink: lambd must not be negative"):
        F.softshrink(X, -1)
    with pytest.raises(ArgumentError, match=r"hardtanh: min_val=2.0 is above max_val=1.0"):
        F.hardtanh(X, 2)
    with pytest.raises(ArgumentError, match="gelu: there is no approximate 'erf'"):
        F.gelu(X, "erf")
    with pytest.raises(ShapeError, match=r"glu: axis 0 of shape \(3, 4\) has no two halves"):
        F.glu(X, 0)
    with pytest.raises(ShapeError, match="one for each of 4 channels, got shape"):
        F.prelu(X, tfr.ones(3))


def test_bounds_of_random_slopes_are_in_order():
    with pytest.raises(OutOfRangeError, match=r"lower=0.3 is above upper=0.2"):
        F.rrelu([1.0], 0.3, 0.2)
