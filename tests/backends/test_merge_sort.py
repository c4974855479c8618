"""Sorting values in several threads: the values of one sort, the same bits with any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorframe import config
from tensorframe.backends.numpy import merge_sort, sorting
from tensorframe.backends.numpy.merge_sort import scratch_bytes, sort_lines

Array = np.ndarray[Any, Any]
LENGTH = 3 * merge_sort._WORTH + 17
draw = np.random.default_rng(0)


def _zeros_and_nans() -> Array:
    numbers = np.round(draw.normal(size=LENGTH) * 2)
    numbers[::7] = -numbers[::7]
    numbers[::11] = np.nan
    return numbers


LINES: dict[str, Array] = {
    "integers": draw.integers(-(2**62), 2**62, LENGTH),
    "words": draw.integers(0, 2**32, 9 * merge_sort._WORTH, dtype=np.uint32),
    "zeros and NaN": _zeros_and_nans(),
    "complex": draw.integers(-9, 9, 2 * LENGTH).astype(np.float64).view(np.complex128),
    "lines": draw.normal(size=(1000, 300)).astype(np.float32),
    "two long lines": draw.normal(size=(2, 2 * merge_sort._WORTH + 1)),
    "bytes": draw.integers(0, 256, LENGTH, dtype=np.uint8),
    "a transpose": draw.normal(size=(300, 1000)).T,
    "none": np.zeros((0, 5)),
}


@pytest.mark.parametrize("name", LINES)
def test_values_are_those_of_one_sort_whatever_the_threads(name: str) -> None:
    bits = set()
    for threads in (1, 2, 5):
        lines = LINES[name].copy(order="K")
        with config.override(threads=threads):
            sort_lines(lines)
        np.testing.assert_array_equal(lines, np.sort(LINES[name], axis=-1))
        bits.add(lines.tobytes())
    assert len(bits) == 1


def test_long_lines_are_sorted_in_parts_and_short_ones_side_by_side(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared: list[list[tuple[int, ...]]] = []

    def shares(jobs: list[Array], work: Any) -> None:
        shared.append([job.shape for job in jobs])
        work(iter(jobs))

    monkeypatch.setattr(merge_sort, "share_out", shares)
    unit = merge_sort._WORTH
    sort_lines(np.zeros(4 * unit))
    assert shared == [[(1, unit)] * 4, [(2 * unit,)] * 2, [(4 * unit,)]]
    shared.clear()
    sort_lines(np.zeros((1000, unit // 100)))
    assert shared == [[(100, unit // 100)] * 10]
    shared.clear()
    sort_lines(np.zeros(unit))
    sort_lines(np.zeros(64 * unit, np.int16))
    assert not shared


def test_what_it_takes_is_known() -> None:
    unit, wide, half, small = merge_sort._WORTH, *map(np.dtype, ("f8", "f2", "i2"))
    assert scratch_bytes(4 * unit, 4 * unit, wide) == 16 * unit
    assert scratch_bytes(100, 100 * unit, wide) == 0 == scratch_bytes(4 * unit, 4 * unit, small)
    assert scratch_bytes(100, 100, half) == 200


def test_infinities_of_half_precision_are_in_order() -> None:
    """NumPy's sort leaves some of such numbers out of order."""
    with np.errstate(over="ignore"):
        numbers = (draw.normal(size=(40, 2500)) * 1e6).astype(np.float16)
    numbers[:, 7] = -np.array(np.nan, np.float16)
    expected = np.sort(numbers.astype(np.float32), axis=-1)
    for axis in (0, 1):
        given = numbers if axis else np.ascontiguousarray(numbers.T)
        actual = sorting.sort(given, axis, descending=False)
        np.testing.assert_array_equal(actual if axis else actual.T, expected)
    kth = tuple(range(0, 2500, 5))
    np.testing.assert_array_equal(sorting.partition(numbers, kth, 1)[:, ::5], expected[:, ::5])
