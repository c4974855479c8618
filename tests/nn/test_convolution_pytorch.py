"""Convolutions beside PyTorch: values and both gradients of random configurations, to 1e-5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it

torch = pytest.importorskip("torch")

# PyTorch's "same" padding copies the input for even kernels, and says so
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")

COUNT = 300


def configuration(generator: np.random.Generator) -> tuple[str, Any, Any, dict[str, Any]] | None:
    """A function's name, input, weights and arguments; None where PyTorch has no such convolution."""
    rank = int(generator.integers(1, 4))
    groups, each, made = [int(one) for one in generator.choice([1, 1, 2, 3, 8, 17], 3)]
    if generator.random() < 0.2:  # each channel by itself
        groups, each = 24, 1
    spatial = generator.integers(3, (40, 20, 9)[rank - 1], rank).tolist()
    kernel = generator.integers(1, 5, rank).tolist()
    how: dict[str, Any] = {
        "stride": generator.integers(1, 4, rank).tolist(),
        "padding": generator.integers(0, 4, rank).tolist(),
        "dilation": generator.integers(1, 3, rank).tolist(),
        "groups": groups,
    }
    shape: tuple[int, ...] = (int(generator.integers(1, 5)), groups * each, *spatial)
    if generator.random() < 0.35:
        extra = [
            int(generator.integers(0, max(s, d)))
            for s, d in zip(how["stride"], how["dilation"], strict=True)
        ]
        how["output_padding"] = extra
        sizes = [
            (n - 1) * s - 2 * p + d * (k - 1) + o + 1
            for n, s, p, d, k, o in zip(
                spatial, how["stride"], how["padding"], how["dilation"], kernel, extra, strict=True
            )
        ]
        name, weights = f"conv_transpose{rank}d", (groups * each, made, *kernel)
    else:
        name, weights = f"conv{rank}d", (groups * made, each, *kernel)
        sizes = [
            n + 2 * p - d * (k - 1)
            for n, p, d, k in zip(spatial, how["padding"], how["dilation"], kernel, strict=True)
        ]
        if generator.random() < 0.15:
            how |= {"stride": 1, "padding": "same"}
            sizes = spatial
    if min(sizes) < 1:
        return None
    x, w = generator.standard_normal(shape), generator.standard_normal(weights)
    return name, x.astype(np.float32), w.astype(np.float32), how


def close(found: Any, expected: Any) -> None:
    """To 1e-5 of the largest element."""
    scale = max(float(np.abs(expected).max()), 1e-6)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found / scale, expected / scale, atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_random_configurations(seed):
    generator = np.random.default_rng(seed)
    done = 0
    while done < COUNT // 6:
        chosen = configuration(generator)
        if chosen is None:
            continue
        done += 1
        name, x, w, how = chosen
        theirs = [torch.tensor(one, requires_grad=True) for one in (x, w)]
        expected = getattr(torch.nn.functional, name)(*theirs, **how)
        ct = generator.standard_normal(expected.shape).astype(np.float32)
        expected.backward(torch.tensor(ct))
        function = getattr(F, name)
        found, pull = tfr.vjp(lambda x, w: function(x, w, **how), tfr.asarray(x), tfr.asarray(w))  # noqa: B023
        close(found.numpy(), expected.detach().numpy())
        for ours, their in zip(pull(tfr.asarray(ct)), theirs, strict=True):
            close(ours.numpy(), their.grad.numpy())
