"""What is made of numbers alone has few elements once, in memory that its tensors share, and nobody writes to it."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tests.runtime.small_calls import PLANNED, frames

_MADE = {
    "hanning": (lambda: tfr.hanning(7), 8),
    "kaiser": (lambda: tfr.kaiser(7, 8.5), 8),
    "indices": (lambda: tfr.indices((2, 3)), 10),
    "eye": (lambda: tfr.eye(3), 11),
    "tri": (lambda: tfr.tri(3, 4), 11),
    "fftfreq": (lambda: tfr.fft.fftfreq(7), 11),
    "diag_indices": (lambda: tfr.diag_indices(4)[1], 12),
    "sparse indices": (lambda: tfr.indices((3,), sparse=True)[0], 12),
    "fromfunction": (lambda: tfr.fromfunction(lambda i, j: i, (2, 3)), 18),
}


@pytest.mark.parametrize("name", _MADE)
def test_few_elements_are_made_once_in_few_frames(name):
    make, most = _MADE[name]
    with tfr.config.override(**PLANNED):
        expected = [make().numpy() for _ in range(3)]
    assert frames(make) <= most
    first, second = make(), make()
    assert first.is_computed
    for part in (*expected[1:], first.numpy(), second.numpy()):
        np.testing.assert_array_equal(part, expected[0], strict=True)
    assert np.shares_memory(first.numpy(), second.numpy())
    first[0] = 9
    np.testing.assert_array_equal(second.numpy(), expected[0])
    np.testing.assert_array_equal(make().numpy(), expected[0])


def test_arguments_and_settings_are_told_apart():
    for _ in range(3):
        assert tfr.eye(2).dtype == tfr.float32
        assert tfr.eye(2, dtype="int8").dtype == tfr.int8
        assert tfr.eye(2, dtype=tfr.int16).dtype == tfr.int16
        assert tfr.indices((2,), dtype=tfr.float32).dtype == tfr.float32
        assert tfr.eye(2, k=1).tolist() == [[0, 1], [0, 0]]
        assert tfr.kaiser(3, 0.0).tolist() == [1, 1, 1]
        assert tfr.kaiser(3, -0.0).tolist() == [1, 1, 1]
        with pytest.raises(TypeError):
            tfr.hanning(3.5)
        with tfr.use_backend("numpy"):
            assert tfr.eye(2).device == "numpy"
        tfr.set_default_dtype("float64")
        try:
            assert tfr.hanning(4).dtype == tfr.eye(2).dtype == tfr.float64
        finally:
            tfr.set_default_dtype("float32")


def test_it_is_part_of_what_is_recorded():
    for _ in range(3):
        tfr.eye(3).compute()
        assert not tfr.eye(300).is_computed
    x = tfr.asarray(np.arange(9.0).reshape(3, 3))

    def function(x):
        window = tfr.eye(3)
        assert not window.is_computed
        return tfr.sum(window * x)

    assert tfr.jit(function)(x).item() == 12
    assert tfr.grad(function)(x).tolist() == np.eye(3).tolist()
    assert tfr.vmap(function)(tfr.stack([x, x * 2])).tolist() == [12, 24]
    with tfr.config.override(validate=True):
        assert not tfr.eye(3).is_computed


def test_memory_that_is_shared_is_no_result_of_functions_that_update():
    @tfr.jit(updates="x", donate=True)
    def step(x):
        x *= 2
        x += 1

    for _ in range(4):
        tfr.eye(3).compute()
    whole, x = tfr.eye(3), tfr.eye(3)
    for _ in range(3):
        step(x)
    assert x.tolist() == (np.eye(3) * 8 + 7).tolist()
    assert whole.tolist() == tfr.eye(3).tolist() == np.eye(3).tolist()
