"""Windows of blocks: what a task takes of its neighbours is what it needs, and has the whole's elements."""

import random

import numpy as np
import pytest

pytest.importorskip("dask")

from tensorframe.backends.dask.grids import Span
from tensorframe.backends.dask.windows import shown, windows

SHAPE = (23, 17, 9)
CHUNKS = ((5, 7, 1, 10), (6, 6, 5), (9,))
WHOLE = np.arange(np.prod(SHAPE)).reshape(SHAPE)


def starts(axis):
    return np.cumsum([0, *CHUNKS[axis]])


def given(window):
    """The spans and the blocks that a window lies in."""
    spans, slices = [], []
    for axis, (low, high) in enumerate(window):
        bounds = starts(axis)
        first = int(np.searchsorted(bounds, low, "right")) - 1
        last = int(np.searchsorted(bounds, high - 1, "right")) - 1
        spans.append(Span(first, last - first + 1, int(bounds[first])))
        slices.append([slice(bounds[place], bounds[place + 1]) for place in range(first, last + 1)])
    blocks = [WHOLE[i, j, k] for i in slices[0] for j in slices[1] for k in slices[2]]
    return tuple(spans), blocks


@pytest.mark.parametrize("seed", range(20))
def test_a_window_has_the_elements_of_the_whole_and_no_more_is_joined(seed):
    draw = random.Random(seed)
    window = []
    for size in SHAPE:
        low = draw.randrange(size)
        window.append((low, draw.randrange(low + 1, size + 1)))
    spans, blocks = given(window)
    array, origin = windows({0: spans}, [(0, tuple(window))], iter(blocks))[0]
    index = tuple(slice(low, high) for low, high in window)
    assert np.array_equal(shown(array, origin, tuple(window)), WHOLE[index])
    assert array.size == WHOLE[index].size or len(blocks) == 1


def test_windows_of_one_operand_share_what_they_lie_in():
    whole = ((4, 13), (5, 8), (0, 9))
    inner = [((4, 12), (5, 7), (0, 9)), ((5, 13), (6, 8), (0, 9))]
    spans, blocks = given(whole)
    array, origin = windows({2: spans}, [(2, part) for part in inner], iter(blocks))[2]
    assert array.shape == (9, 3, 9)
    assert origin == (4, 5, 0)
    assert not np.shares_memory(array, WHOLE)


def test_one_block_is_not_copied():
    window = ((6, 10), (0, 5), (2, 3))
    spans, blocks = given(window)
    array, _ = windows({0: spans}, [(0, window)], iter(blocks))[0]
    assert array is blocks[0]
