"""The strategies draw what they say, odd cases included, and what they draw is fit to be computed with."""

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe import dtypes
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
    "no axes": lambda array: array.ndim == 0,
    "no elements": lambda array: array.size == 0,
    "strided": lambda array: array.size > 3 and not array.flags.c_contiguous,
    "reversed": lambda array: any(stride < 0 for stride in array.strides),
    "NaN in bfloat16": lambda array: array.dtype == tfr.bfloat16 and np.isnan(array).any(),
    "infinite and complex": lambda array: array.dtype in dtypes.COMPLEX and np.isinf(array).any(),
    "large and unsigned": lambda array: array.dtype == tfr.uint64 and (array > 2**63).any(),
}


def test_odd_cases_are_drawn():
    missing = set(ODD)

    @settings(max_examples=1000, phases=[Phase.generate], database=None)
    @given(strategies.arrays())
    def draw(array):
        missing.difference_update([case for case in missing if ODD[case](array)])

    draw()
    assert not missing
