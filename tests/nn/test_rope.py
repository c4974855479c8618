"""Rotary positions turn pairs of features by their angle, in both layouts, wherever a sequence begins."""

from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import known_devices
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.gradient.differences import check
from tests.nn.reference import rope

DEVICES = [str(device) for device in known_devices()]
RANDOM = np.random.default_rng(6)

OPTIONS: dict[str, dict[str, Any]] = {
    "halves": {},
    "interleaved": {"interleaved": True},
    "some features": {"dims": 4},
    "some features, interleaved": {"dims": 4, "interleaved": True},
    "offset": {"offset": 17},
    "base and scale": {"base": 500.0, "scale": 0.25},
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", OPTIONS)
def test_pairs_are_turned(name: str, device: str) -> None:
    x = RANDOM.standard_normal((2, 3, 5, 8)).astype("float32")
    found = F.rope(tfr.asarray(x, device=device), **OPTIONS[name]).numpy()
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, rope(x, **OPTIONS[name]), rtol=1e-5, atol=5e-6)


def test_sequences_begin_where_they_do() -> None:
    x = RANDOM.standard_normal((2, 3, 5, 8))
    offset = np.array([[3], [11]])
    for given in (tfr.asarray(offset), tfr.asarray(offset).astype("int32")):
        np.testing.assert_allclose(F.rope(x, offset=given).numpy(), rope(x, offset=offset))
    whole = F.rope(tfr.asarray(x)).numpy()
    np.testing.assert_allclose(F.rope(x[..., 3:, :], offset=3).numpy(), whole[..., 3:, :])
    jitted = tfr.jit(lambda x, offset: F.rope(x, offset=offset))
    for start in (0, 3, 4):
        np.testing.assert_allclose(
            jitted(tfr.asarray(x[..., start:, :]), start).numpy(), whole[..., start:, :]
        )


def test_products_depend_on_the_distance() -> None:
    q, k = tfr.asarray(RANDOM.standard_normal((2, 1, 8)))
    for interleaved in (False, True):
        products = [
            tfr.sum(
                F.rope(q, offset=start, interleaved=interleaved)
                * F.rope(k, offset=start + 4, interleaved=interleaved)
            ).item()
            for start in (0, 9, 400)
        ]
        np.testing.assert_allclose(products, products[0], rtol=1e-9)


def test_frequencies_stand_in_place_of_powers() -> None:
    x = RANDOM.standard_normal((5, 8))
    powers = 10000.0 ** (-2 * np.arange(4) / 8)
    np.testing.assert_allclose(F.rope(x, frequencies=powers).numpy(), rope(x), rtol=1e-12)


@pytest.mark.parametrize("interleaved", [False, True])
def test_gradients_are_differences(interleaved: bool) -> None:
    check(lambda x: F.rope(x, interleaved=interleaved, dims=4), RANDOM.standard_normal((2, 3, 6)))


def test_half_precision_is_rounded_once() -> None:
    x = RANDOM.standard_normal((7, 8)).astype("float16")
    wanted = F.rope(x.astype("float32")).numpy().astype("float16")
    np.testing.assert_array_equal(F.rope(x).numpy(), wanted)


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(tfr.errors.ShapeError, match=r"an even number of up to 7, got 7"):
        F.rope(tfr.ones((3, 7)))
    with pytest.raises(tfr.errors.ShapeError, match=r"up to 8, got 10"):
        F.rope(tfr.ones((3, 8)), 10)
    with pytest.raises(tfr.errors.ShapeError, match=r"\(..., positions, features\)"):
        F.rope(tfr.ones(8))
    with pytest.raises(tfr.errors.ShapeError, match="4 frequencies"):
        F.rope(tfr.ones((3, 8)), frequencies=tfr.ones(3))
    with pytest.raises(tfr.errors.DTypeError, match="int64"):
        F.rope(tfr.ones((3, 8), dtype="int64"))
    with pytest.raises(tfr.errors.ArgumentError, match="positive"):
        F.rope(tfr.ones((3, 8)), base=0)
