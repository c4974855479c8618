"""Gradients of selections whose result is stored by the time that the gradient is computed.

What was selected from is computed anew, by other kernels than before, or by a product of another size: it may be
rounded otherwise than the stored result was, so a rule that looked for the result among the elements would find none.
Here the stored results are moved by a unit in the last place.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.nn import functional

ROWS = np.arange(24) // 4
DEVICES = sorted({"numpy", "cpu", "llvm", "opencl", "wgpu"} & set(tfr.backends.available()))

SELECTIONS: dict[str, Callable[[tfr.Tensor], tfr.Tensor]] = {
    "max": lambda v: tfr.max(v, axis=1),
    "min": lambda v: tfr.min(v, axis=0),
    "max of all": tfr.max,
    "maximum": lambda v: tfr.maximum(v, v[::-1]),
    "minimum": lambda v: tfr.minimum(v, v[:, ::-1]),
    "fmax": lambda v: tfr.fmax(v, v[::-1]),
    "fmin": lambda v: tfr.fmin(v, v[::-1]),
    "relu": lambda v: functional.relu(v - 2),
    "rnn": lambda v: functional.rnn(v[:1, None], None, [v, v], False, nonlinearity="relu")[0],
    "segment_max": lambda v: tfr.segment_max(v, ROWS, 6),
    "segment_min": lambda v: tfr.segment_min(v, ROWS, 6),
    "windows": lambda v: functional.max_pool2d(v[None, None], 2),
    "overlapping windows": lambda v: functional.max_pool2d(v[None, None], 3, stride=1),
}


def _elements(x: tfr.Tensor) -> tfr.Tensor:
    return tfr.exp(tfr.sin(x * 3)) / (x + 0.1)


def _operand(device: str) -> tfr.Tensor:
    values = np.random.default_rng(3).uniform(0.5, 3, (24, 24)) / 5
    return tfr.asarray(values.astype("f4"), device=device)


def _store_rounded_otherwise(tensor: tfr.Tensor) -> None:
    """Store the elements of a tensor, each but for its last bit."""
    tensor.compute()
    moved = tfr.asarray(np.nextafter(tensor.numpy(), np.float32(np.inf)), device=tensor.device)
    tensor.node.settle(moved.compute().node.storage)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", SELECTIONS)
def test_gradients_are_those_of_results_that_are_not_stored(name, device):
    def selected(x: tfr.Tensor) -> tfr.Tensor:
        return SELECTIONS[name](_elements(x))

    x = _operand(device)
    recorded, pullback = tfr.vjp(selected, x)
    (expected,) = pullback(tfr.ones(recorded.shape, device=device))
    assert np.count_nonzero(expected.numpy()) > 0

    stored, pullback = tfr.vjp(selected, x)
    _store_rounded_otherwise(stored)
    (actual,) = pullback(tfr.ones(stored.shape, device=device))
    np.testing.assert_allclose(actual.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_places_are_found_when_the_largest_elements_are_stored(device):
    elements = _elements(_operand(device))
    pooled, places = functional.max_pool2d(elements[None, None], 2, return_indices=True)
    largest = pooled.numpy()
    _store_rounded_otherwise(pooled)
    np.testing.assert_array_equal(elements.numpy().reshape(-1)[places.numpy()], largest)
