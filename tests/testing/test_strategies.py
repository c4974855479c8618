"""The strategies draw what they say, odd cases included, and what they draw is fit to be computed with."""

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe.testing import strategies
from tensorframe.testing.compare import assert_close, host

few = settings(max_examples=60, deadline=None, database=None)


@few
@given(st.data())
def test_arrays_have_the_dtype_and_shape_asked_for(data):
    dtype = data.draw(strategies.dtypes_of())
    shape = data.draw(strategies.shapes())
    array = data.draw(strategies.arrays(dtype, shape))
    assert (array.dtype, array.shape) == (dtype, shape)


@few
@given(strategies.arrays(tfr.float32, special=False))
def test_special_values_can_be_left_out(array):
    assert np.isfinite(array).all()


@few
@given(strategies.broadcastable_shapes(3))
def test_broadcastable_shapes_broadcast(shapes):
    assert tfr.broadcast_shapes(*shapes) == np.broadcast_shapes(*shapes)


@few
@given(st.data())
def test_tensors_hold_what_was_drawn(data):
    first, second = data.draw(strategies.broadcastable_shapes())
    x, y = (data.draw(strategies.tensors(tfr.int32, shape)) for shape in (first, second))
    assert_close(x + y, host(x) + host(y))


ODD = {
    "no axes": (None, lambda array: array.ndim == 0),
    "no elements": (None, lambda array: array.size == 0),
    "strided": (None, lambda array: array.size > 3 and not array.flags.c_contiguous),
    "reversed": (None, lambda array: any(stride < 0 for stride in array.strides)),
    "NaN in bfloat16": (tfr.bfloat16, lambda array: np.isnan(array).any()),
    "infinite and complex": (tfr.complex64, lambda array: np.isinf(array).any()),
    "large and unsigned": (tfr.uint64, lambda array: (array > 2**63).any()),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_cases_are_drawn(case):
    dtype, is_odd = ODD[case]
    options = settings(max_examples=20_000, phases=[Phase.generate], database=None, deadline=None)
    assert is_odd(find(strategies.arrays(dtype), is_odd, settings=options))
