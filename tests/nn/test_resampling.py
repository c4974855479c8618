"""Resampling and rearranging: views where there are some, and what is refused."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it

X = tfr.asarray(np.arange(24.0, dtype=np.float32).reshape(1, 2, 3, 4)).compute()


def test_whole_factors_are_views_that_fuse():
    x = tfr.asarray(np.ones((2, 3, 32, 32), np.float32)).compute()
    assert tfr.explain(F.interpolate(x * 2, scale_factor=2) + 1).kernels == 1
    gradient = tfr.grad(lambda x: (F.interpolate(x, scale_factor=2) * 3).sum())(x)
    assert gradient.numpy().max() == gradient.numpy().min() == 12.0
    assert tfr.explain(F.interpolate(x, scale_factor=0.5) + 1).kernels == 1
    assert tfr.explain(F.interpolate(x, 48, mode="bilinear")).kernels <= 2
    assert tfr.explain(F.pixel_shuffle(x[:, :1].reshape(2, 4, 16, 16) * 2, 2) + 1).kernels == 1


def test_the_same_size_is_the_same_tensor():
    for mode in ("nearest", "bilinear", "bicubic", "area"):
        np.testing.assert_array_equal(F.interpolate(X, (3, 4), mode=mode).numpy(), X.numpy())


def test_what_is_not_a_neighbour_does_not_matter():
    x = np.ones((1, 1, 6), np.float32)
    x[..., 5] = np.nan
    found = F.interpolate(x, 12, mode="linear").numpy()[0, 0]
    np.testing.assert_array_equal(np.isnan(found), np.arange(12) > 8)


def test_nearest_neighbours_of_large_factors_stay_inside():
    for factor in (0.4, 0.7, 1.3, 2.7, 3.0, 7.1):
        found = F.interpolate(X, scale_factor=factor).numpy()
        assert found.shape[2:] == (int(3 * factor), int(4 * factor))
        assert set(np.unique(found)) <= set(np.unique(X.numpy()))


def test_resampling_maps_over_examples():
    found = tfr.vmap(lambda x: F.interpolate(x, 5, mode="bilinear"))(X[None]).numpy()
    np.testing.assert_allclose(found[0], F.interpolate(X, 5, mode="bilinear").numpy(), rtol=1e-6)


WRONG = {
    "takes either size or scale_factor": (ArgumentError, lambda: F.interpolate(X)),
    "scale_factor must be positive and finite": (
        OutOfRangeError,
        lambda: F.interpolate(X, scale_factor=float("inf")),
    ),
    "new sizes must be positive, got (0, 0)": (
        ArgumentError,
        lambda: F.interpolate(X, scale_factor=0.1),
    ),
    'mode "linear" takes (examples, channels, and 1 axes)': (
        ShapeError,
        lambda: F.interpolate(X, 2, mode="linear"),
    ),
    'mode "nearest" has no align_corners': (
        ArgumentError,
        lambda: F.interpolate(X, 2, align_corners=True),
    ),
    'mode "nearest" has no antialias': (ArgumentError, lambda: F.interpolate(X, 2, antialias=True)),
    "size has one number, or one for each of 2 axes, got 3": (
        ArgumentError,
        lambda: F.interpolate(X, (1, 2, 3)),
    ),
    "there is no mode 'cubic'": (ArgumentError, lambda: F.interpolate(X, 2, mode="cubic")),
    "input has a real floating dtype": (DTypeError, lambda: F.interpolate(X.astype("int32"), 2)),
    "2 channels are not a multiple of upscale_factor squared, 4": (
        ShapeError,
        lambda: F.pixel_shuffle(X, 2),
    ),
    "downscale_factor=2 does not divide images of 3 by 4": (
        ShapeError,
        lambda: F.pixel_unshuffle(X, 2),
    ),
    "groups=3 does not divide 2 channels": (ShapeError, lambda: F.channel_shuffle(X, 3)),
    "of up to 4 axes, the last one first, got 3 numbers": (
        ArgumentError,
        lambda: F.pad(X, (1, 2, 3)),
    ),
    'mode "reflect" adds at most 3 elements to an axis of 4': (
        ShapeError,
        lambda: F.pad(X, (4, 0), "reflect"),
    ),
    'mode "circular" adds at most 4 elements': (ShapeError, lambda: F.pad(X, (5, 0), "circular")),
    "cuts more off than a tensor of shape (1, 2, 3, 4)": (ShapeError, lambda: F.pad(X, (-3, -2))),
    'mode "reflect" takes no value': (ArgumentError, lambda: F.pad(X, (1, 1), "reflect", 2.0)),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments_are_named(message):
    kind, function = WRONG[message]
    with pytest.raises(kind) as caught:
        function()
    assert message in str(caught.value)
