"""Dropout: how much is dropped, what stays, and that the backward pass drops the same."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DTypeError, OutOfRangeError, ShapeError
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.backends.devices import FOUND

KEY = tfr.random.key(7)


def test_elements_are_dropped_with_their_probability_and_others_scaled():
    for p in (0.1, 0.5, 0.9):
        found = F.dropout(tfr.ones(20_000), p, key=KEY).numpy()
        kept = found != 0
        assert abs(kept.mean() - (1 - p)) < 0.01
        np.testing.assert_allclose(found[kept], 1 / (1 - p), rtol=1e-6)


def test_the_ends_of_the_range():
    x = tfr.asarray([1.0, -np.inf, 3.0])
    assert F.dropout(x, 0.0).tolist() == x.tolist()
    assert F.dropout(x, 1.0).tolist() == [0.0, 0.0, 0.0]
    assert F.dropout(x, 0.7, training=False).tolist() == x.tolist()
    assert F.alpha_dropout(tfr.ones(3), 1.0, training=True).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("device", ["numpy", "llvm", *FOUND])
def test_a_key_drops_the_same_on_every_device(device):
    wanted = F.dropout(tfr.ones((30, 40)), 0.3, key=KEY).numpy()
    found = F.dropout(tfr.ones((30, 40), device=device), 0.3, key=KEY)
    assert found.device.backend == device
    np.testing.assert_array_equal(found.numpy(), wanted)
    other = F.dropout(tfr.ones((30, 40), device=device), 0.3, key=tfr.random.key(8))
    assert (other.numpy() != wanted).any()


def test_gradients_pass_where_elements_stayed():
    x = tfr.asarray(np.linspace(1.0, 2.0, 1000))
    out, pullback = tfr.vjp(lambda x: F.dropout(x, 0.25, key=KEY), x)
    (gradient,) = pullback(tfr.ones(1000, dtype="float64"))
    np.testing.assert_allclose(gradient.numpy(), out.numpy() / x.numpy())


def test_nothing_of_the_size_of_the_input_is_stored_for_the_gradient():
    x = tfr.asarray(np.linspace(1.0, 2.0, 100_000, dtype=np.float32)).compute()
    gradient = tfr.grad(lambda x: F.dropout(x, 0.25, key=KEY).sum())(x)
    plan = tfr.explain(gradient)
    assert plan.kernels == 1
    assert plan.bytes_written == x.size * 4


def test_draws_without_a_key_differ():
    x = tfr.ones(100)
    assert F.dropout(x).tolist() != F.dropout(x).tolist()


@pytest.mark.parametrize(
    ("name", "shape", "axes"),
    [
        ("dropout1d", (50, 8, 3), 1),
        ("dropout2d", (50, 8, 2, 3), 2),
        ("dropout3d", (50, 8, 2, 1, 3), 3),
    ],
)
def test_whole_channels_are_dropped(name, shape, axes):
    found = getattr(F, name)(tfr.ones(shape), 0.5, key=KEY).numpy().reshape(*shape[:2], -1)
    assert set(np.unique(found)) == {0.0, 2.0}
    assert (found == found[..., :1]).all()
    assert 0.4 < (found[..., 0] == 0).mean() < 0.6


def test_alpha_dropout_leaves_mean_and_variance():
    x = tfr.random.normal(50_000, key=tfr.random.key(1))
    found = F.alpha_dropout(x, 0.3, training=True, key=KEY).numpy()
    assert abs(found.mean()) < 0.02
    assert abs(found.var() - 1) < 0.03


def test_wrong_arguments():
    for p in (-0.1, 1.5, float("nan")):
        with pytest.raises(OutOfRangeError, match="dropout: p is a probability from 0 to 1"):
            F.dropout(tfr.ones(3), p)
    with pytest.raises(ShapeError, match=r"axes \(..., channels, height, width\)"):
        F.dropout2d(tfr.ones((3, 4)))
    with pytest.raises(DTypeError, match="dropout: input has a real floating dtype"):
        F.dropout(tfr.asarray([1, 2]))
