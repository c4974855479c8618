"""Fourier transforms against NumPy, their precision, frequencies and shifts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe.errors import ArgumentError, AxisError, DTypeError, ShapeError

ONE_AXIS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
ALL_AXES = ["fftn", "ifftn", "rfftn", "irfftn"]
REAL_INPUT = {"rfft", "ihfft", "rfftn"}
NORMS = ["backward", "ortho", "forward", None]


def signal(shape, name, dtype=np.float64):
    """Returns noise, complex where the transform takes it."""
    rng = np.random.default_rng(0)
    real = rng.normal(size=shape)
    if name in REAL_INPUT:
        return real.astype(dtype)
    return (real + 1j * rng.normal(size=shape)).astype(np.result_type(dtype, np.complex64))


def same(found, expected, tolerance=1e-12):
    """Asserts equal shapes, dtypes and elements up to rounding."""
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [None, 1, 4, 5, 12])
@pytest.mark.parametrize("name", ONE_AXIS)
def test_transforms_along_one_axis_are_numpys(name, n, norm):
    x = signal((3, 6), name)
    for axis in (-1, 0):
        expected = getattr(np.fft, name)(x, n=n, axis=axis, norm=norm)
        same(getattr(tfr.fft, name)(tfr.asarray(x), n=n, axis=axis, norm=norm), expected)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("axes", [None, (0,), (-1, 0), (0, 2, 1)])
@pytest.mark.parametrize("name", ALL_AXES)
def test_transforms_over_axes_are_numpys(name, axes, norm):
    x = signal((3, 4, 5), name)
    same(
        getattr(tfr.fft, name)(x, axes=axes, norm=norm),
        getattr(np.fft, name)(x, axes=axes, norm=norm),
    )
    if axes is not None:
        sizes = (6, 3, 4)[: len(axes)]
        expected = getattr(np.fft, name)(x, s=sizes, axes=axes, norm=norm)
        same(getattr(tfr.fft, name)(x, s=sizes, axes=axes, norm=norm), expected)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_two_axes_are_the_last_two(name):
    x = signal((2, 3, 4), "rfft2" if name == "rfft2" else name)
    x = x.real if name == "rfft2" else x
    same(getattr(tfr.fft, name)(x), getattr(np.fft, name)(x))


@pytest.mark.parametrize("name", ONE_AXIS + ALL_AXES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_single_precision_stays_single(name, dtype):
    x = tfr.asarray(np.ones((4, 4), dtype))
    result = getattr(tfr.fft, name)(x)
    assert tfr.dtypes.real_of(result.dtype) == tfr.float32
    assert result.numpy().dtype == result.dtype


@given(st.integers(1, 40), st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_the_inverse_gives_the_signal_back(n, seed):
    x = np.random.default_rng(seed).normal(size=n)
    np.testing.assert_allclose(tfr.fft.ifft(tfr.fft.fft(x)).numpy(), x, atol=1e-12)
    np.testing.assert_allclose(tfr.fft.irfft(tfr.fft.rfft(x), n=n).numpy(), x, atol=1e-12)
    np.testing.assert_allclose(tfr.fft.hfft(tfr.fft.ihfft(x), n=n).numpy(), x, atol=1e-12)


@given(st.integers(1, 50), st.floats(1e-3, 1e3))
@settings(max_examples=50, deadline=None)
def test_frequencies_are_numpys(n, d):
    same(tfr.fft.fftfreq(n, d=d, dtype="float64"), np.fft.fftfreq(n, d=d))
    same(tfr.fft.rfftfreq(n, d=d, dtype="float64"), np.fft.rfftfreq(n, d=d))


def test_frequencies_have_the_default_dtype_and_the_device_asked_for():
    assert tfr.fft.fftfreq(4).dtype == tfr.float32
    assert tfr.fft.rfftfreq(4, device="numpy").device == tfr.Device("numpy")
    with pytest.raises(DTypeError, match="int64"):
        tfr.fft.fftfreq(4, dtype="int64")


@pytest.mark.parametrize("shape", [(5,), (4, 3), (1, 0, 2)])
@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts_are_numpys(name, shape):
    x = np.arange(np.prod(shape)).reshape(shape)
    for axes in (None, 0, -1, tuple(range(len(shape)))):
        same(getattr(tfr.fft, name)(x, axes=axes), getattr(np.fft, name)(x, axes=axes))


def test_recording_a_transform_computes_nothing():
    assert tfr.fft.fft(tfr.ones(4)).node.storage is None


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tfr.fft.fft(tfr.ones(0)), ShapeError, r"shape \(0,\)"),
        (lambda: tfr.fft.irfft(tfr.ones(1)), ShapeError, r"shape \(1,\)"),
        (lambda: tfr.fft.fft(tfr.ones(4), n=0), ShapeError, "got 0"),
        (lambda: tfr.fft.fft(tfr.ones(4), axis=1), AxisError, "out of bounds"),
        (lambda: tfr.fft.fftn(tfr.ones((4, 4)), axes=(0, 0)), AxisError, "twice"),
        (lambda: tfr.fft.fftn(tfr.ones((4, 4)), s=(2,), axes=(0, 1)), ShapeError, "1 sizes"),
        (lambda: tfr.fft.rfft(tfr.ones(4, dtype="complex64")), DTypeError, "real values"),
        (lambda: tfr.fft.fft(tfr.ones(4), norm="both"), ArgumentError, "no norm 'both'"),
        (lambda: tfr.fft.fftfreq(0), ShapeError, "at least one point"),
    ],
)
def test_errors_come_when_recording(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_calls_that_are_remembered_are_those_that_mean_the_same():
    x = tfr.asarray(np.arange(8.0))
    for _ in range(2):
        assert tfr.fft.fft(x, 1).shape == (1,)
        assert tfr.fft.fft(x, axis=0, n=4).shape == tfr.fft.fft(x, n=4, axis=0).shape == (4,)
        assert tfr.fft.fft(x, np.int64(4)).shape == (4,)
        assert tfr.fft.fft(x[:4]).shape == (4,)
        assert tfr.fft.irfft(x + 0j, 6).shape == tfr.fft.irfft(x + 0j, n=6).shape == (6,)
        with pytest.raises(DTypeError):
            tfr.fft.fft(x, 4.0)
    counts = tfr.asarray([1, 2, 3])
    assert tfr.fft.fft(counts).dtype == tfr.complex64
    tfr.set_default_dtype("float64")
    try:
        assert tfr.fft.fft(counts).dtype == tfr.complex128
    finally:
        tfr.set_default_dtype("float32")


def test_transforms_that_are_remembered_have_the_line_of_their_own_call():
    x = tfr.asarray(np.arange(8.0))
    first = tfr.fft.rfft(x)
    second = tfr.fft.rfft(x)
    assert first.node.op is second.node.op
    assert first.node.site[1] != second.node.site[1]
    out = tfr.zeros(5, dtype=tfr.complex128)
    assert tfr.fft.rfft(x, out=out) is out


def test_arguments_by_name_are_not_taken_for_others_by_place():
    x = tfr.ones((2, 3))
    tfr.fft.fft(x, axis=1)
    with pytest.raises(tfr.errors.TensorFrameError):
        tfr.fft.fft(x, 1, "axis")
