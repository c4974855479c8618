"""Sums of float32 on devices without float64: in pairs, which lose nothing that is not lost within a run of eight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tensorframe.dtypes import float32
from tests.backends.devices import FOUND
from tests.backends.webgpu import DEVICES
from tests.builds import forget_builds

Array = np.ndarray[Any, Any]
# without CUDA, which always has float64; of WebGPU each adapter, some of which have none
_PLACES: list[Any] = [name for name in FOUND if name == "opencl"] + [
    name for name in DEVICES if "wgpu" in FOUND
]
UNIT = 2.0**-24  # what rounding takes of a number of float32 at most


@pytest.fixture(params=_PLACES or [pytest.param("", marks=pytest.mark.skip("no such device"))])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """A device whose kernels are built as if it had no float64, if it has it."""
    home = tfr.Device(request.param)
    traits = backend_of(home).open_device(home).queue.traits  # type: ignore[attr-defined]
    widest = traits.widest
    object.__setattr__(traits, "widest", float32)
    forget_builds()
    with tfr.config.override(small_size=0, small_nodes=0):
        yield request.param
    object.__setattr__(traits, "widest", widest)
    forget_builds()


def integers(*shape: int) -> Array:
    """Numbers of which float32 adds eight exactly, and hardly more."""
    return np.random.default_rng(0).integers(-(2**20), 2**20 + 7, shape).astype(np.float32)


def rounded(exact: Array) -> Array:
    return exact.astype(np.float32)


# in chunks by one group, of a matrix's rows, in parts, by a thread for each column, across strips
SHAPES: list[tuple[tuple[int, ...], int | tuple[int, ...] | None]] = [
    ((8193,), None),
    ((300_000,), None),
    ((40, 9000), 1),
    ((20_000, 3), 0),
    ((9000, 600), 0),
    ((300, 4, 300), (0, 2)),
]


@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_long_sums_are_rounded_once_where_runs_are_exact(
    device: str, shape: tuple[int, ...], axis: Any
) -> None:
    x = integers(*shape)
    exact = rounded(np.sum(x.astype(np.float64), axis=axis))
    found = tfr.sum(tfr.asarray(x, device=device), axis=axis)
    np.testing.assert_array_equal(found.numpy(), exact)


def test_forms_add_the_same_pairs(device: str) -> None:
    """Along memory, and across it."""
    x = np.random.default_rng(1).standard_normal((9001, 5)).astype(np.float32)
    columns = tfr.sum(tfr.asarray(x, device=device), axis=0).numpy()
    rows = tfr.sum(tfr.asarray(x.T.copy(), device=device), axis=1).numpy()
    one = [tfr.sum(tfr.asarray(x[:, k].copy(), device=device)).numpy() for k in range(5)]
    assert columns.tobytes() == rows.tobytes() == np.array(one).tobytes()


def test_every_element_of_a_scan_is_rounded_once(device: str) -> None:
    for shape in ((100,), (3000,), (20_000,), (300, 700)):
        x = integers(*shape)
        found = tfr.cumulative_sum(tfr.asarray(x, device=device), axis=len(shape) - 1).numpy()
        np.testing.assert_array_equal(found, rounded(np.cumsum(x.astype(np.float64), axis=-1)))


def test_values_for_one_place_are_added_in_pairs(device: str) -> None:
    x, places = integers(3000), np.arange(3000, dtype=np.int32) % 2
    found = tfr.bincount(tfr.asarray(places, device=device), weights=tfr.asarray(x, device=device))
    exact = [np.sum(x[places == place].astype(np.float64)) for place in (0, 1)]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.numpy(), rounded(np.array(exact)))


@pytest.mark.parametrize("length", [16, 100, 1000, 8191, 8193, 100_000, 1 << 20])
def test_errors_are_bounded_as_the_page_says(device: str, length: int) -> None:
    """27 roundings of sums that are not in pairs, 7 of those that are, and that of the result."""
    rng = np.random.default_rng(length)
    bound = (27 if length <= 8192 else 7) + 1.5
    draws: list[Callable[[], Array]] = [
        lambda: rng.random(length),
        lambda: np.full(length, 0.1),
        lambda: rng.standard_normal(length) * 10.0 ** rng.integers(-6, 6, length),
    ]
    for draw in draws:
        x = draw().astype(np.float32)
        exact, magnitudes = np.sum(x.astype(np.float64)), np.sum(np.abs(x.astype(np.float64)))
        found = float(tfr.sum(tfr.asarray(x, device=device)).numpy())
        assert abs(found - exact) <= bound * UNIT * magnitudes


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([np.inf], np.inf),
        ([-np.inf], -np.inf),
        ([np.inf, -np.inf], np.nan),
        ([np.nan], np.nan),
        ([3e38, 3e38], np.inf),
    ],
)
def test_what_is_no_number_comes_through(device: str, values: list[float], expected: float) -> None:
    x = np.ones(20_000, np.float32)
    x[1 : 6000 * len(values) : 6000] = values
    found = tfr.asarray(x, device=device)
    np.testing.assert_array_equal(tfr.sum(found).numpy(), np.float32(expected))
    np.testing.assert_array_equal(tfr.cumulative_sum(found)[-1].numpy(), np.float32(expected))


def test_means_variances_and_norms_of_long_rows(device: str) -> None:
    x = np.random.default_rng(2).standard_normal((3, 20_000)).astype(np.float32) + 1000
    y, exact = tfr.asarray(x, device=device), x.astype(np.float64)
    np.testing.assert_allclose(tfr.mean(y, axis=1).numpy(), exact.mean(1), rtol=2e-7)
    np.testing.assert_allclose(tfr.var(y, axis=1).numpy(), exact.var(1), rtol=1e-5)
    away = np.exp(exact - exact.max(1, keepdims=True))
    np.testing.assert_allclose(
        tfr.softmax(y, axis=1).numpy(), away / away.sum(1, keepdims=True), rtol=2e-5
    )
