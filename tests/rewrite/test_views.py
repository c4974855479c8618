"""The algebra of windows: seeing through two is seeing through their composition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tensorframe.backends.numpy.movement import slices
from tensorframe.rewrite.views import Window, unit_axes_match


@st.composite
def windows(draw: st.DrawFn, shape: tuple[int, ...]) -> Window:
    """Draw a window on a tensor of `shape`, with steps of either sign."""
    axes = []
    for extent in shape:
        size = draw(st.integers(0, extent))
        if size == 0:
            axes.append((0, 0, 1))
            continue
        reach = (extent - 1) // max(size - 1, 1)
        step = draw(st.integers(1, max(reach, 1))) if size > 1 else 1
        span = (size - 1) * step
        start = draw(st.integers(0, extent - 1 - span))
        if draw(st.booleans()):
            start, step = start + span, -step
        axes.append((start, size, step))
    return Window.of_axes(axes)


def look(array: np.ndarray, window: Window) -> np.ndarray:
    return array[slices(window.starts, window.sizes, window.steps)]


@given(data=st.data(), shape=st.lists(st.integers(1, 6), max_size=3).map(tuple))
def test_two_windows_are_one(data: st.DataObject, shape: tuple[int, ...]) -> None:
    array = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
    first = data.draw(windows(shape))
    second = data.draw(windows(first.sizes))
    np.testing.assert_array_equal(
        look(look(array, first), second), look(array, first.through(second))
    )


@given(data=st.data(), shape=st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple))
def test_windows_within_the_parts_of_an_axis_show_it_part_by_part(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    array = np.arange(int(np.prod(shape))).reshape(shape)
    window = data.draw(windows(shape).filter(lambda one: one.size > 0))
    axis = data.draw(st.integers(0, len(shape) - 1))
    cut = data.draw(st.integers(0, shape[axis]))
    parts = [
        look(np.split(array, [cut], axis)[index], window.within(axis, low, high))
        for index, (low, high) in enumerate([(0, cut), (cut, shape[axis])])
    ]
    backwards = window.steps[axis] < 0
    np.testing.assert_array_equal(
        np.concatenate(parts[::-1] if backwards else parts, axis), look(array, window)
    )


@given(data=st.data(), shape=st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple))
def test_a_window_on_a_broadcast_is_a_window_on_the_operand(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    operand = tuple(
        [size if data.draw(st.booleans()) else 1 for size in shape[data.draw(st.integers(0, 1)) :]]
    )
    array = np.arange(int(np.prod(operand, dtype=int))).reshape(operand)
    window = data.draw(windows(shape))
    seen = look(array, window.on_operand(operand))
    np.testing.assert_array_equal(
        np.broadcast_to(seen, window.sizes), look(np.broadcast_to(array, shape), window)
    )


def test_a_whole_window_shows_all() -> None:
    assert Window.whole((2, 3)).shows_all((2, 3))
    assert not Window((0, 2), (2, 3), (1, -1)).shows_all((2, 3))


def test_reshapes_that_only_add_or_drop_unit_axes_are_known() -> None:
    assert unit_axes_match((3, 1, 4), (3, 4)) == [0, 2]
    assert unit_axes_match((3, 4), (1, 3, 1, 4)) == [None, 0, None, 1]
    assert unit_axes_match((3, 4), (4, 3)) is None
    assert unit_axes_match((6,), (2, 3)) is None


@given(data=st.data(), shape=st.lists(st.integers(1, 9), max_size=3).map(tuple))
def test_two_windows_are_in_the_one_around_them(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    array = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
    both = [data.draw(windows(shape).filter(lambda one: one.size > 0)) for _ in range(2)]
    around = both[0].joined(both[1])
    assert around == both[1].joined(both[0])
    assert around.joined(both[0]) == around
    for one in both:
        np.testing.assert_array_equal(
            look(look(array, around), one.inside(around)), look(array, one)
        )
