"""Fourier transforms of the NumPy engine: the bits of NumPy's functions, by the ufuncs that these call.

Where nothing is scaled NumPy computes single precision in double, and we in single, as its scaled transforms do.
"""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from tensorframe.backends.numpy import fourier
from tensorframe.backends.numpy.functions import implementation
from tensorframe.graph.op import find

NAMES = ["fft", "ifft", "rfft", "irfft"]


def transformed(name, x, points, axis, norm):
    return implementation[find(name + "n")](x, (points,), (axis,), norm)


def expected_of(name, x, points, axis, norm):
    """Return what NumPy makes of an array, in single precision if that is its own: times a power of two is exact."""
    numpys = getattr(np.fft, name)
    unscaled = "forward" if name.startswith("i") else "backward"
    if norm != unscaled or x.real.dtype == np.float64:
        return numpys(x, points, axis, norm)
    scaled = {"forward": "backward", "backward": "forward"}[unscaled]
    return numpys(x, points, axis, scaled) * np.float32(points)


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
                expected = expected_of(name, x, points, axis, norm)
                result = transformed(name, x, points, axis, norm)
                assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
                if points & (points - 1):  # what scales by no power of two rounds
                    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
                else:
                    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft"])
def test_real_values_of_single_precision_are_transformed_in_it(name, norm):
    x = np.random.default_rng(4).normal(size=(6, 10)).astype("float32")
    for axis in range(2):
        expected = transformed(name, x.astype("complex64"), 7, axis, norm)
        np.testing.assert_array_equal(transformed(name, x, 7, axis, norm), expected)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_several_axes_have_the_bits_of_numpys_functions(name):
    x = lines(name.removesuffix("n"), "float64")[1].reshape(2, 3, 10)
    for axes in [(0, 2), (2, 0), (1, 2, 0), (2, 1, 0)]:
        sizes = (4, 6, 9)[: len(axes)]
        for norm in ("backward", "ortho", "forward"):
            expected = getattr(np.fft, name)(x, sizes, axes, norm)
            result = implementation[find(name)](x, sizes, axes, norm)
            assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_is_not_copied_to_double(name):
    size, width = 256, 1024
    x = np.ones((size, width), np.float32 if name == "rfft" else np.complex64)
    points = 2 * (width - 1) if name == "irfft" else width
    transformed(name, x, points, 1, "backward")  # its plan is kept
    tracemalloc.start()
    try:
        result = transformed(name, x, points, 1, "backward")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.1 * result.nbytes


@pytest.mark.parametrize(
    "private", [None, SimpleNamespace(fft=np.add, rfft_n_even=np.add)], ids=["none", "others"]
)
def test_versions_of_numpy_without_these_ufuncs_run_its_functions(monkeypatch, private):
    monkeypatch.setattr(np.fft, "_pocketfft_umath", private)
    fourier._lines.cache_clear()
    fourier._line.cache_clear()
    try:
        x = np.arange(8.0)
        for name in ("fft", "rfft"):
            expected = getattr(np.fft, name)(x, 8, 0, "ortho")
            assert transformed(name, x, 8, 0, "ortho").tobytes() == expected.tobytes()
    finally:
        fourier._lines.cache_clear()
        fourier._line.cache_clear()
