"""The devices with kernels and memory of their own that are here, and what tests of all of them share."""

import numpy as np
import pytest

import tensorframe as tfr

FOUND = [name for name in ("opencl", "wgpu", "cuda") if name in tfr.backends.available()]

on_every_device = pytest.mark.parametrize(
    "device", FOUND or [pytest.param("opencl", marks=pytest.mark.skip(reason="no such device"))]
)


def holds(device: str, dtype: str) -> bool:
    """Whether a device has arrays of a dtype."""
    found = tfr.backends.devices()
    info = next(one for one in found if str(one.device) == device)
    return np.dtype(dtype) in info.capabilities.dtypes


def some(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Elements of any dtype: small integers, normal numbers."""
    generator = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return generator.random(shape) > 0.7
    if kind in "iu":
        return generator.integers(0, 100, shape).astype(dtype)
    found = generator.standard_normal(shape)
    if kind == "c":
        found = found + 1j * generator.standard_normal(shape)
    return found.astype(dtype)
