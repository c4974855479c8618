"""Stable orders in host memory: sorts of values with positions below them give those of a stable sort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorframe.backends.numpy import sorting

Array = np.ndarray[Any, Any]
LENGTH = 3000
draw = np.random.default_rng(0)


def _special() -> Array:
    x = draw.normal(size=LENGTH)
    for step, value in enumerate([np.nan, -0.0, 0.0, np.inf, -np.inf, -np.nan, 5e-324]):
        x[step :: 9 + step] = value
    return x


def _some_alike() -> Array:
    """Words of which a few differ in their lowest bits alone."""
    words = draw.integers(0, 2**64, LENGTH, dtype=np.uint64)
    words[:100] = (words[0] >> np.uint64(10) << np.uint64(10)) + draw.integers(0, 500, 100).astype(
        "u8"
    )
    return words


# lines, and how many times a few of their elements are sorted again; None where all of them are
LINES: dict[str, tuple[Array, int | None]] = {
    "words": (draw.integers(0, 2**64, LENGTH, dtype=np.uint64), 0),
    "lines of words": (draw.integers(-(2**63), 2**63, (3, LENGTH)), 0),
    "few integers": (draw.integers(-5, 50, (4, 600)), 0),
    "numbers": (draw.normal(size=(3, 700)), 0),
    "strided": (draw.normal(size=(600, 3)).swapaxes(0, 1), 0),
    "special numbers": (_special(), None),
    "equal numbers": (np.round(draw.normal(size=LENGTH), 1), 0),
    "some alike": (_some_alike(), 1),
    "all alike": (np.append(1.0 + draw.integers(0, 50, LENGTH) * 2.0**-52, [1e300, -1e300]), None),
}


@pytest.mark.parametrize("name", LINES)
def test_orders_are_those_of_a_stable_sort(name: str) -> None:
    lines, _ = LINES[name]
    actual = sorting.argsort(lines, -1, descending=False, stable=True)
    np.testing.assert_array_equal(actual, np.argsort(lines, axis=-1, stable=True))
    assert actual.dtype == np.int64


@pytest.mark.parametrize("name", LINES)
def test_positions_are_sorted_only_where_upper_bits_do_not_tell(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, again = LINES[name]
    sizes: list[int] = []
    argsort = np.argsort

    def noted(keys: Array, *arguments: Any, **options: Any) -> Array:
        sizes.append(keys.size)
        return argsort(keys, *arguments, **options)

    monkeypatch.setattr(np, "argsort", noted)
    sorting.argsort(lines, -1, descending=False, stable=True)
    few = [size for size in sizes if 0 < size <= LENGTH // 8]
    whole = [size for size in sizes if size > LENGTH // 8]
    assert whole == ([] if again is not None else [lines.size])
    assert len(few) == (again or 0)


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64", "float32"])
def test_orders_of_no_lines_are_empty(dtype: str) -> None:
    keys = np.zeros((0, 600), dtype)
    assert sorting.argsort(keys, 1, False, True).shape == keys.shape
