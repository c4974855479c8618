"""Fourier transforms of the NumPy engine: the bits of NumPy's functions, by the ufuncs that these call."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tensorframe.backends.numpy import fourier
from tensorframe.backends.numpy.functions import implementation
from tensorframe.graph.op import find

NAMES = ["fft", "ifft", "rfft", "irfft"]


def transformed(name, x, points, axis, norm):
    return implementation[find(name + "n")](x, (points,), (axis,), norm)


def lines(name, dtype):
    """Return arrays of the dtype that a transform takes: a line, rows, columns, every other element."""
    x = np.random.default_rng(3).normal(size=(6, 10)).astype(dtype)
    if name != "rfft":
        x = x + 1j * x[::-1]
    return [x[0], x, x.T, x[:, ::2], x[None, ::-1]]


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_bits_are_numpys(name, dtype, norm):
    for x in lines(name, dtype):
        for axis in range(x.ndim):
            for points in (1, 4, 7, 16):
                expected = getattr(np.fft, name)(x, points, axis, norm)
                result = transformed(name, x, points, axis, norm)
                assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
                assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "private", [None, SimpleNamespace(fft=np.add, rfft_n_even=np.add)], ids=["none", "others"]
)
def test_versions_of_numpy_without_these_ufuncs_run_its_functions(monkeypatch, private):
    monkeypatch.setattr(np.fft, "_pocketfft_umath", private)
    fourier._line.cache_clear()
    try:
        x = np.arange(8.0)
        for name in ("fft", "rfft"):
            expected = getattr(np.fft, name)(x, 8, 0, "ortho")
            assert transformed(name, x, 8, 0, "ortho").tobytes() == expected.tobytes()
    finally:
        fourier._line.cache_clear()
