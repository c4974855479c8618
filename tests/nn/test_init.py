"""Initial values: their distributions, bounds, and that nothing is made before it is used."""

import math
from statistics import NormalDist

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.nn import init

KEY = tfr.random.key(11)
RANDOM = ["uniform", "normal", "trunc_normal", "xavier_uniform", "xavier_normal"]
RANDOM += ["kaiming_uniform", "kaiming_normal", "orthogonal"]


def std(values):
    return float(values.numpy().std())


def test_variances_are_those_of_the_papers():
    shape, fan_in, fan_out = (40, 30, 3, 3), 270, 360
    for name, arguments, expected in (
        ("xavier_uniform", {"gain": 2.0}, 2 * math.sqrt(2 / (fan_in + fan_out))),
        ("xavier_normal", {}, math.sqrt(2 / (fan_in + fan_out))),
        ("kaiming_uniform", {"nonlinearity": "relu"}, math.sqrt(2 / fan_in)),
        ("kaiming_normal", {"mode": "fan_out", "a": 1.0}, math.sqrt(1 / fan_out)),
        ("uniform", {"a": -3.0, "b": 3.0}, math.sqrt(3.0)),
        ("normal", {"std": 0.5}, 0.5),
    ):
        assert std(getattr(init, name)(shape, **arguments, key=KEY)) == pytest.approx(
            expected, rel=0.02
        ), name


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize(("a", "b"), [(-2.0, 2.0), (0.5, 4.0), (-math.inf, -1.0)])
def test_truncated_normal_numbers_are_quantiles_of_what_is_left(dtype, a, b):
    normal = NormalDist(1.0, 2.0)
    low, high = (normal.cdf(bound) for bound in (a, b))
    found = init.trunc_normal(4000, 1.0, 2.0, a, b, dtype=dtype, key=KEY)
    assert found.dtype.name == dtype
    values = np.sort(found.numpy().astype(np.float64))
    assert values[0] >= a
    assert values[-1] <= b
    ranks = np.array([(normal.cdf(value) - low) / (high - low) for value in values])
    # Kolmogorov and Smirnov's distance of 4000 numbers is below this in all but one of a thousand samples
    assert np.abs(ranks - (np.arange(4000) + 0.5) / 4000).max() < 1.95 / math.sqrt(4000)


@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-11), ("float32", 4e-6)])
def test_the_inverse_of_erf(dtype, rtol):
    y = np.concatenate([np.linspace(-0.999, 0.999, 201), 1 - 2.0 ** -np.arange(8, 22)])
    found = init._inverse_erf(tfr.asarray(y.astype(dtype))).numpy()
    exact = [
        NormalDist().inv_cdf((value + 1) / 2) / math.sqrt(2) for value in y.astype(dtype).tolist()
    ]
    np.testing.assert_allclose(found, exact, rtol=rtol, atol=1e-7 if dtype == "float32" else 1e-15)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 3), (3, 3)])
def test_orthogonal_rows_or_columns(shape):
    found = init.orthogonal(shape, 2.0, dtype="float64", key=KEY).numpy().reshape(shape[0], -1)
    product = found @ found.T if found.shape[0] <= found.shape[1] else found.T @ found
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-12)


def test_fixed_ones():
    np.testing.assert_array_equal(init.zeros((2, 3)).numpy(), np.zeros((2, 3)))
    np.testing.assert_array_equal(init.ones((2, 3)).numpy(), np.ones((2, 3)))
    np.testing.assert_array_equal(init.eye((2, 3)).numpy(), np.eye(2, 3))
    assert init.constant((2,), 3).tolist() == [3.0, 3.0]


@pytest.mark.parametrize("name", RANDOM)
def test_a_key_gives_the_same_numbers_on_every_device_and_nothing_is_computed(name):
    make = getattr(init, name)
    one, other = make((4, 4), key=KEY), make((4, 4), key=KEY, device="numpy")
    assert not one.is_computed
    rtol = 0.0 if name in ("uniform", "xavier_uniform", "kaiming_uniform") else 1e-5
    np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=rtol, atol=1e-6 if rtol else 0)


@pytest.mark.parametrize("name", [*RANDOM, "zeros", "ones", "constant", "eye"])
def test_the_one_with_an_underscore_fills_a_tensor_of_any_dtype(name):
    tensor = tfr.full((4, 4), 7.0, dtype="float64", device="numpy")
    tied, other = [tensor], tensor.copy()
    options = {"key": KEY} if name in RANDOM else {"val": 2.0} if name == "constant" else {}
    assert getattr(init, f"{name}_")(tensor, **options) is tensor
    assert (tensor.dtype.name, str(tensor.device)) == ("float64", "numpy")
    wanted = getattr(init, name)((4, 4), dtype="float64", device="numpy", **options)
    np.testing.assert_array_equal(tied[0].numpy(), wanted.numpy())
    assert other.numpy().min() == 7.0


@pytest.mark.parametrize(
    ("nonlinearity", "param", "gain"),
    [
        ("linear", None, 1.0),
        ("conv2d", None, 1.0),
        ("sigmoid", None, 1.0),
        ("tanh", None, 5 / 3),
        ("relu", None, math.sqrt(2)),
        ("leaky_relu", None, math.sqrt(2 / 1.0001)),
        ("leaky_relu", 1.0, 1.0),
        ("selu", None, 0.75),
    ],
)
def test_gains(nonlinearity, param, gain):
    assert init.calculate_gain(nonlinearity, param) == pytest.approx(gain)


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        (lambda: init.calculate_gain("swish"), ArgumentError, "no gain for 'swish'"),
        (lambda: init.xavier_normal(3), ShapeError, r"\(out, in, ...\), got \(3,\)"),
        (lambda: init.kaiming_normal((3, 3), mode="fan"), ArgumentError, "'fan_in' or 'fan_out'"),
        (lambda: init.orthogonal(3), ShapeError, "two axes or more"),
        (lambda: init.eye(3), ShapeError, "two axes"),
        (lambda: init.trunc_normal(3, a=1.0, b=1.0), ArgumentError, "a=1.0 is not below b=1.0"),
        (lambda: init.trunc_normal(3, dtype="int32"), DTypeError, "real floating"),
        (lambda: init.normal_((3, 3)), DTypeError, "normal_: takes a Tensor, got tuple"),
    ],
)
def test_what_does_not_fit_is_said(wrong, kind, said):
    with pytest.raises(kind, match=said):
        wrong()
