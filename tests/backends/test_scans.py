"""Scans of floats accumulate in float64 in every engine: long rows are accurate, in any layout, without temporaries."""

import tracemalloc

import ml_dtypes
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.numpy import scans
from tensorframe.backends.numpy.functions import implementation
from tensorframe.ops.reduction import CUMULATIVE_PROD, CUMULATIVE_SUM

DEVICES = [
    name
    for name in ("cpu", "numpy", "llvm", "opencl", "wgpu", "cuda")
    if name in tfr.backends.available()
]
LONG = 100_000


def normals(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("shape", "axis"), [((LONG,), 0), ((2, LONG), 1), ((LONG, 3), 0)])
def test_long_sums_are_within_1e_5(device, shape, axis):
    x = normals(shape)
    found = tfr.cumulative_sum(tfr.asarray(x, device=device), axis=axis).numpy()
    np.testing.assert_allclose(found, np.cumsum(x, axis=axis, dtype=np.float64), rtol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_long_products_are_within_1e_5(device):
    x = 1 + normals(LONG) / 100
    found = tfr.cumulative_prod(tfr.asarray(x, device=device)).numpy()
    np.testing.assert_allclose(found, np.cumprod(x, dtype=np.float64), rtol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_rounded_once(device, dtype):
    """Ones stop to count at 2048, or 256, where the sum itself has half precision."""
    place = tfr.Device(device)
    found = tfr.cumulative_sum(tfr.asarray(np.ones(5000, dtype), device=place), dtype=dtype)
    np.testing.assert_array_equal(
        found.numpy(), np.arange(1, 5001).astype(np.float32).astype(dtype)
    )


SHAPES = [(70_000,), (300, 500), (5, 40_000), (40_000, 5), (20, 30, 200), (4, 3, 2, 9000)]


@pytest.mark.parametrize("op", [CUMULATIVE_SUM, CUMULATIVE_PROD])
@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pieces_are_nowhere_to_be_seen(op, dtype, shape, monkeypatch):
    """Whatever their size and the layout, results are those of the whole line in double precision."""
    x = (normals(shape) / 50 + (op is CUMULATIVE_PROD)).astype(dtype)
    ufunc = np.add if op is CUMULATIVE_SUM else np.multiply
    wide = np.complex128 if dtype == "complex64" else np.float64
    for axis in range(x.ndim):
        exact = ufunc.accumulate(x, axis=axis, dtype=wide).astype(dtype)
        for piece in (scans.PIECE, 1 << 10):
            monkeypatch.setattr(scans, "PIECE", piece)
            found = implementation[op](x, axis)
            assert found.tobytes() == exact.tobytes()
            turned = implementation[op](x.T, x.ndim - 1 - axis)
            assert turned.T.tobytes() == exact.tobytes()
            backwards = implementation[op](np.flip(np.flip(x).copy()), axis)
            assert backwards.tobytes() == exact.tobytes()


def test_no_array_of_float64_is_made():
    x = normals((1000, 2000))
    for axis in (0, 1):
        tracemalloc.start()
        implementation[CUMULATIVE_SUM](x, axis)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1.2 * x.nbytes  # the result, and pieces
