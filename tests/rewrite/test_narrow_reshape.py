"""Windows on a reshaped tensor: only the block of elements that holds them is computed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe.runtime.execution.events import Moment, listen

SIZES = [24, 36, 60, 64]


@st.composite
def shapes_of(draw, size):
    first = draw(st.sampled_from([index for index in range(1, size + 1) if size % index == 0]))
    rest = size // first
    second = draw(st.sampled_from([index for index in range(1, rest + 1) if rest % index == 0]))
    return draw(st.sampled_from([(size,), (first, rest), (first, second, rest // second)]))


@st.composite
def reshapes_and_keys(draw):
    size = draw(st.sampled_from(SIZES))
    source, target = draw(shapes_of(size)), draw(shapes_of(size))
    key = tuple(draw(st.one_of(st.slices(extent), st.integers(0, extent - 1))) for extent in target)
    return source, target, key


@given(reshapes_and_keys())
def test_values_are_those_of_the_whole(case):
    source, target, key = case
    array = np.arange(math.prod(source)).reshape(source) * 2 + 1
    expected = array.reshape(target)[key]
    with tfr.config.override(small_size=0, verify=True):
        counted = (tfr.arange(array.size) * 2 + 1).reshape(source)
        for tensor in (tfr.asarray((array - 1) // 2) * 2 + 1, counted):
            np.testing.assert_array_equal(tensor.reshape(target)[key].numpy(), expected)


@pytest.mark.parametrize(
    ("source", "target", "key", "elements"),
    [
        ((1000, 1000), (1_000_000,), slice(5), 5),
        ((1_000_000,), (1000, 1000), 7, 1000),
        ((1_000_000,), (1000, 1000), (7, slice(3, 9)), 6),
        ((1000, 1000), (100, 10_000), (0, slice(0, 3)), 3),
        ((1000, 1000), (1_000_000,), slice(990, 1010), 2000),
    ],
)
def test_only_the_block_around_a_window_is_computed(source, target, key, elements):
    made = []

    def note(event):
        if event.moment is Moment.STEP_FINISHED:
            step = event.plan.steps[event.step]
            if not step.is_view:
                made.extend(math.prod(event.plan.slots[slot].shape) for slot in step.outputs)

    shown = (tfr.asarray(np.ones(source)) + 1).reshape(target)[key]
    with tfr.config.override(small_size=0), listen(note):
        shown.compute()
    assert sum(made) == elements
