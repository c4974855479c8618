"""The subject: one device of the backend that is checked, registered while a check runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tensorframe as tfr
from tensorframe.backends import registry
from tensorframe.backends.base import Backend, Capabilities, DeviceInfo
from tensorframe.backends.entries import entry_of
from tensorframe.dtypes import COMPLEX, FLOAT, INTEGER, DType, bool_
from tensorframe.errors import FallbackWarning
from tensorframe.graph.device import Device

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Check:
    """A promise with a name, and what raises where it is not kept."""

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        self.run()

    def __str__(self) -> str:
        return self.name


@dataclass(slots=True, eq=False)
class Subject:
    """A device under test."""

    backend: Backend
    device: Device
    capabilities: Capabilities
    ulp: float
    seeds: int
    elsewhere: list[tuple[str, str]] = field(default_factory=list)
    """Ops and dtypes that ran on another device in a check."""

    def check(self, area: str, promise: str, run: Callable[[], None]) -> Check:
        """Return the check of a promise about this device."""

        def registered() -> None:
            with self.registered():
                run()

        return Check(f"{self.device}: {area}: {promise}", registered)

    @contextmanager
    def registered(self) -> Iterator[None]:
        """Have the device's name stand for this backend in a block; fallbacks are told by the checks themselves."""
        name = self.device.backend
        known = entry_of(name)
        before = None if known is None else known.backend
        if before is not self.backend:
            registry.register(self.backend, name, override=True)
        try:
            with (
                warnings.catch_warnings(),
                tfr.use_backend(self.device),
                tfr.config.override(small_size=0),
            ):
                warnings.simplefilter("ignore", FallbackWarning)
                yield
        finally:
            if before is not self.backend:
                registry.unregister(name)
                if before is not None:
                    registry.register(before, name, override=True)

    def dtypes(self) -> list[DType]:
        """Return the dtypes that the device says it holds, in a fixed order."""
        return sorted(self.capabilities.dtypes, key=str)


def subjects(backend: Backend, ulp: float, seeds: int) -> list[Subject]:
    """Return the devices that a backend finds, ready to be checked; AssertionError says why there are none."""
    infos = backend.probe()
    expect(not isinstance(infos, str), f"the backend finds no device: {infos}")
    expect(bool(infos), "the backend finds no device, and gives no reason")
    return [
        Subject(backend, info.device, info.capabilities, ulp, seeds)
        for info in infos
        if isinstance(info, DeviceInfo)
    ]


def expect(holds: bool, otherwise: str) -> None:
    """Raise AssertionError with the message unless the promise holds."""
    if not holds:
        raise AssertionError(otherwise)


def sample(dtype: DType, shape: tuple[int, ...], seed: int = 0) -> Array:
    """Return an array of random bits: any number of an integer dtype, any finite or other one of a floating one."""
    rng = np.random.default_rng(seed)
    if dtype == bool_:
        return rng.integers(0, 2, shape).astype(bool)
    raw = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8)
    return np.ascontiguousarray(raw).view(dtype).reshape(shape)


def small_numbers(dtype: DType, shape: tuple[int, ...], seed: int = 0, low: int = -4) -> Array:
    """Return small whole numbers, whose sums are exact in any order; unsigned ones from 0."""
    signed = dtype in FLOAT or dtype in COMPLEX or (dtype in INTEGER and dtype.kind == "i")
    drawn = np.random.default_rng(seed).integers(low if signed else 0, 5, shape)
    return (drawn % 2 == 0) if dtype == bool_ else drawn.astype(dtype)


def same_bits(left: Array, right: Array) -> bool:
    """Whether two arrays have one shape and dtype, and the same bits; all NaN are one, whatever theirs are."""
    if (left.shape, left.dtype) != (right.shape, right.dtype):
        return False
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    if left.tobytes() == right.tobytes():
        return True
    if left.dtype in COMPLEX:
        return same_bits(left.real, right.real) and same_bits(left.imag, right.imag)
    if left.dtype not in FLOAT:
        return False
    with np.errstate(invalid="ignore"):  # some NaN of half precision signal
        numbers, others = ~np.isnan(left), ~np.isnan(right)
    same = np.array_equal(numbers, others)
    return bool(same and left[numbers].tobytes() == right[numbers].tobytes())
