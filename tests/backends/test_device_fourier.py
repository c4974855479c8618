"""Fourier transforms on devices: against a longer precision for many lengths, and every layout, size and scaling.

`nox -s fourier` takes all lengths up to 4,096 and some primes above.
"""

import os

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.device.tables import chirp, roots_of_unity
from tensorframe.backends.registry import backend_of
from tensorframe.kernel.groups.algorithms.butterflies import cosine_and_sine
from tensorframe.kernel.groups.algorithms.radices import (
    PRIMES,
    convolution_length,
    launches_of,
    radices_of,
)
from tests.backends.devices import FOUND, holds, on_every_device, some

# CUDA has cuFFT
WITH_OWN = [name for name in FOUND if name != "cuda"]
on_devices = pytest.mark.parametrize("device", WITH_OWN) if WITH_OWN else on_every_device

PRIMES_ABOVE = (4099, 5003, 7919, 65537, 104729)
EVERY = [
    (name, length)
    for name in ("fft", "rfft", "irfft")
    for length in (*range(1, 4097), *PRIMES_ABOVE)
]
# All radices, and where errors are largest: twice the largest radix, most stages of one, and convolutions in one launch
# and in several.
SAMPLE = [
    ("fft", 338),
    ("fft", 2187),
    ("fft", 2310),
    ("fft", 5003),
    ("rfft", 441),
    ("irfft", 1009),
]
# With all of them a kernel is compiled for each length without a large prime factor: several processes share them.
PARTS = 32 if os.environ.get("FOURIER") == "all" else 1
# The dtype with more digits, by characters.
LONGER = {"f": "d", "d": "g", "F": "D", "D": "G"}
# Units in the last place, of the root of the mean square, that a transform may be off.
ROUNDING = 2.0


def cases(part):
    """The transforms and lengths of a part of this run."""
    return EVERY[part::PARTS] if PARTS > 1 else SAMPLE


def operand(name, length, dtype):
    """Two rows for a transform of so many points: real ones, or half a spectrum, where it takes these."""
    taken = {"complex64": "float32", "complex128": "float64"}[dtype] if name == "rfft" else dtype
    return some((2, length // 2 + 1 if name == "irfft" else length), taken, seed=length)


def error(found, name, x, length):
    """The error in units in the last place, relative to the size of all results."""
    exact = getattr(np.fft, name)(x.astype(LONGER[x.dtype.char]), length)
    off = np.sqrt((np.abs(found - exact) ** 2).sum() / (np.abs(exact) ** 2).sum())
    return float(off / np.finfo(x.dtype).eps)


def same(found, expected):
    """Asserts equal shapes and dtypes, and elements up to rounding."""
    assert found.shape == expected.shape
    assert found.numpy().dtype == expected.dtype
    scale = np.sqrt((np.abs(expected) ** 2).mean()) * np.finfo(expected.dtype).eps
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=30 * scale)


@on_devices
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_error_is_within_twice_the_rounding(device, dtype, part):
    if not holds(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    for name, length in cases(part):
        x = operand(name, length, dtype)
        found = getattr(tfr.fft, name)(tfr.asarray(x, device=device), length)
        assert not tfr.explain(found).fallbacks
        assert error(found.numpy(), name, x, length) <= ROUNDING, (name, length)


@on_devices
def test_one_axis(device):
    # cut, as it is, padded; odd and even; with a convolution
    for name, n, axis, norm in [
        ("fft", 5, 0, "ortho"),
        ("fft", 1, 2, "backward"),
        ("ifft", 7, 1, "forward"),
        ("ifft", 17, 1, "backward"),
        ("rfft", None, 1, "backward"),
        ("rfft", 17, 0, "ortho"),
        ("ihfft", 16, -1, "forward"),
        ("irfft", None, 1, "backward"),
        ("irfft", 17, 1, "ortho"),
        ("irfft", 1, 2, "forward"),
        ("hfft", 16, -1, "backward"),
        ("hfft", 34, 0, "forward"),
    ]:
        x = some((5, 12, 3), "float32" if name in ("rfft", "ihfft") else "complex64")
        result = getattr(tfr.fft, name)(tfr.asarray(x, device=device), n=n, axis=axis, norm=norm)
        assert not tfr.explain(result).fallbacks
        same(result, getattr(np.fft, name)(x, n=n, axis=axis, norm=norm))


@on_devices
def test_a_real_operand_of_a_complex_transform(device):
    x = some((4, 10), "float32")
    for name in ("fft", "ifft"):
        same(getattr(tfr.fft, name)(tfr.asarray(x, device=device)), getattr(np.fft, name)(x))


@on_devices
def test_several_axes(device):
    for name, sizes, axes, norm in [
        ("fftn", None, None, "backward"),
        ("ifftn", (4, 19), (0, 2), "ortho"),
        ("rfftn", None, (2, 0), "forward"),
        ("rfftn", (3, 7, 9), (1, 2, 0), "backward"),
        ("irfftn", None, None, "ortho"),
        ("irfftn", (4, 19), (0, 2), "backward"),
    ]:
        x = some((6, 5, 8), "float32" if name == "rfftn" else "complex64")
        result = getattr(tfr.fft, name)(
            tfr.asarray(x, device=device), s=sizes, axes=axes, norm=norm
        )
        assert not tfr.explain(result).fallbacks
        same(result, getattr(np.fft, name)(x, s=sizes, axes=axes, norm=norm))


@on_devices
def test_views_and_long_axes_of_any_stride(device):
    x = some((5000, 4), "complex64")
    y = tfr.asarray(x, device=device)
    same(tfr.fft.fft(y, axis=0), np.fft.fft(x, axis=0))
    same(tfr.fft.fft(y.T[::-1, ::2]), np.fft.fft(x.T[::-1, ::2]))
    same(tfr.fft.irfft(y[1:4098], axis=0), np.fft.irfft(x[1:4098], axis=0))
    row = tfr.asarray(x[:7, :1], device=device)
    same(
        tfr.fft.rfft(tfr.real(tfr.broadcast_to(row, (7, 9))), axis=0),
        np.fft.rfft(np.broadcast_to(x[:7, :1].real, (7, 9)), axis=0),
    )


@on_devices
def test_imaginary_parts_that_real_values_cannot_have_are_left_out(device):
    for n in (8, 9):
        x = some((n // 2 + 1,), "complex64")
        assert x[0].imag != 0
        assert x[-1].imag != 0
        same(tfr.fft.irfft(tfr.asarray(x, device=device), n), np.fft.irfft(x, n))


@on_devices
def test_infinities_stay_in_their_row(device):
    x = np.ones((3, 8), np.complex64)
    x[1, 2] = np.inf
    found = tfr.fft.fft(tfr.asarray(x, device=device)).numpy()
    assert not np.isfinite(found[1]).any()
    same(tfr.asarray(found[::2]), np.fft.fft(x[::2]))


@on_devices
def test_gradients_jit_and_batches_see_the_same_rows(device):
    x, weight = some((3, 10), "float32"), some((3, 6), "float32")

    def loss(t):
        return (tfr.abs(tfr.fft.rfft(t)) ** 2 * tfr.asarray(weight, device=t.device)).sum()

    expected = tfr.grad(loss)(tfr.asarray(x))
    y = tfr.asarray(x, device=device)
    for function in (tfr.grad(loss), tfr.jit(tfr.grad(loss))):
        found = function(y)
        assert str(found.device) == device
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=2e-5, atol=1e-5)
    batched = tfr.vmap(tfr.fft.ifft)(tfr.asarray(x, device=device))
    same(batched, np.fft.ifft(x))


@on_devices
def test_launches_are_few_and_a_table_is_written_once(device, monkeypatch):
    x = tfr.asarray(some((4, 154), "complex64"), device=device).compute()
    long = tfr.asarray(some((1, 5005), "complex64"), device=device).compute()
    queue = backend_of(x.device).open_device(x.device).queue
    launches, writes = [], []
    launch, write = queue.launch, queue.write
    monkeypatch.setattr(queue, "launch", lambda *given: (launches.append(1), launch(*given)))
    monkeypatch.setattr(queue, "write", lambda *given: (writes.append(given[2]), write(*given)))
    spectrum = tfr.fft.fft(x).compute()
    assert len(launches) == 1
    # tables of other tests' transforms may be there
    assert [data.nbytes for data in writes] in ([], [154 * 8])
    writes.clear()
    back = tfr.fft.ifft(spectrum[:3]).compute()
    assert back.shape == (3, 154)
    assert (len(launches), writes) == (2, [])
    tfr.fft.fft(long).compute()  # two launches, whose columns have roots of their own
    assert len(launches) == 4
    assert {data.nbytes for data in writes} <= {65 * 8, 77 * 8, 5005 * 8}
    assert 5005 * 8 in {data.nbytes for data in writes}
    writes.clear()
    tfr.fft.ifft(long).compute()
    assert (len(launches), writes) == (6, [])


def test_radices_are_factors_and_launches_fit():
    for length in range(1, 3000):
        radices = radices_of(length)
        if radices is None:
            size = convolution_length(length)
            assert 2 * length - 1 <= size < 4 * length
            assert radices_of(size) is not None
        else:
            assert np.prod(radices, dtype=int) == length
    assert radices_of(16) == (4, 4)
    assert radices_of(32) == (8, 4)
    assert radices_of(12) == (4, 3)
    for length in (2048, 2049 * 2, 5**7, 2**22, 3**13):
        if radices_of(length) is None:
            continue
        launches = launches_of(length, 1024)
        sizes = [int(np.prod(radices)) for radices in launches]
        assert np.prod(sizes) == length
        assert max(sizes) <= 128


def test_cosines_and_sines_of_butterflies_are_rounded_once():
    assert cosine_and_sine(1, 3)[0] == -0.5
    assert cosine_and_sine(1, 12)[1] == 0.5
    assert cosine_and_sine(1, 8) == (np.sqrt(0.5), np.sqrt(0.5))
    if np.finfo(np.longdouble).eps == np.finfo(np.float64).eps:
        return  # there are no more digits to compare with here
    for count in PRIMES:
        for number in range(count // 2 + 1):
            angle = 2 * np.arccos(np.longdouble(-1)) * number / count
            for exact, found in zip(
                (np.cos(angle), np.sin(angle)), cosine_and_sine(number, count), strict=True
            ):
                # half a unit in the last place, and what the longer float is off itself
                assert abs(exact - found) <= 0.51 * abs(np.spacing(found)) + 1e-18


def test_tables_are_accurate():
    double = np.dtype(np.float64)
    for length in (1, 3, 8, 12, 100, 1009):
        exact = np.exp(
            np.clongdouble(-2j) * np.arccos(np.longdouble(-1)) * np.arange(length) / length
        )
        assert np.abs(roots_of_unity(length, double) - exact).max() <= 2.3e-16
    k = np.arange(50)
    np.testing.assert_allclose(chirp(50, double), np.exp(-1j * np.pi * k * k / 50), atol=1e-12)
