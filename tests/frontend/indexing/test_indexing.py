"""Indexing: every kind of key, read and written, against NumPy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tensorframe as tfr
from tensorframe.errors import DTypeError, IndexingError, ShapeError

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def tensor(array):
    return tfr.asarray(np.array(array), copy=True)


def numbered(shape):
    return np.arange(np.prod(shape, dtype=int), dtype=np.int64).reshape(shape)


@st.composite
def shapes_and_keys(draw):
    """A shape and a key that fits it: integers, slices, None, ..., integer arrays, masks, in any mixture."""
    shape = draw(SHAPES)
    common = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    key = []
    axis = 0
    stop_at = draw(st.integers(0, len(shape)))
    while axis < stop_at:
        size = shape[axis]
        kinds = ["slice", "none"]
        if size:
            kinds += ["integer", "array", "list", "mask"]
        if axis + 1 < stop_at:
            kinds.append("mask of two axes")
        kind = draw(st.sampled_from(kinds))
        item, used = draw(items(kind, shape, axis, common))
        key.append(item)
        axis += used
    if draw(st.booleans()):
        key.append(Ellipsis)
        trailing = draw(st.integers(0, len(shape) - axis))
        key += [draw(st.slices(shape[len(shape) - trailing + index])) for index in range(trailing)]
    if len(key) == 1 and draw(st.booleans()):
        return shape, key[0]
    return shape, tuple(key)


@st.composite
def items(draw, kind, shape, axis, common):
    size = shape[axis]
    positions = st.integers(-size, size - 1)
    if kind == "slice":
        return draw(st.slices(size)), 1
    if kind == "none":
        return None, 0
    if kind == "integer":
        return draw(positions), 1
    if kind == "array":
        index = st.sampled_from([np.int64, np.int8, np.int32])
        return draw(hnp.arrays(draw(index), common, elements=positions)), 1
    if kind == "list":
        return draw(st.lists(positions, min_size=1, max_size=1)), 1
    axes = 1 if kind == "mask" else 2
    # one True at most is a mask that broadcasts with every other index
    mask = np.zeros(shape[axis : axis + axes], bool)
    if mask.size:
        mask.flat[draw(st.integers(0, mask.size - 1))] = True
    return mask, axes


def lifted(key):
    """The same key with tensors in the place of arrays."""
    if isinstance(key, tuple):
        return tuple(lifted(item) for item in key)
    return tensor(key) if isinstance(key, np.ndarray) else key


@st.composite
def broadcasting_to(draw, shape):
    """A shape that broadcasts to `shape`: fewer axes, or some of size 1."""
    sizes = [size if draw(st.booleans()) else 1 for size in shape]
    return tuple(sizes[draw(st.integers(0, len(sizes))) :])


def selected(array, key):
    """What NumPy selects, or None where it finds the key at fault (indices that do not broadcast)."""
    try:
        return array[key]
    except IndexError:
        return None


@settings(deadline=None, max_examples=300)
@given(shapes_and_keys())
def test_reading_agrees_with_numpy(case):
    shape, key = case
    array = numbered(shape)
    expected = selected(array, key)
    computed, pending = tensor(array), tensor(array) + 0
    for x, asked in ((computed, key), (computed, lifted(key)), (pending, lifted(key))):
        if expected is None:
            with pytest.raises(IndexingError):
                x[asked].compute()
        else:
            found = x[asked]
            assert found.shape == expected.shape
            np.testing.assert_array_equal(found.numpy(), expected)


@settings(deadline=None, max_examples=300)
@given(shapes_and_keys(), st.data())
def test_writing_agrees_with_numpy_and_changes_nobody_else(case, data):
    shape, key = case
    array = numbered(shape)
    part = selected(array, key)
    if part is None:
        return
    # one value for all where positions repeat: which of several stays is nobody's promise
    value = np.full(data.draw(broadcasting_to(part.shape)), -7)
    expected = array.copy()
    expected[key] = value
    cases = ((key, value), (lifted(key), tensor(value)), (key, -7))
    for (asked, given_value), is_pending in product(cases, (False, True)):
        source = array.copy()
        x = tfr.asarray(source)
        other, same, view = x, tfr.asarray(x), x[...]
        y = x + 0 if is_pending else tfr.asarray(x, copy=True)
        y[asked] = given_value
        np.testing.assert_array_equal(y.numpy(), expected)
        for untouched in (other, same, view):
            np.testing.assert_array_equal(untouched.numpy(), array)
        np.testing.assert_array_equal(source, array)


@settings(deadline=None, max_examples=100)
@given(SHAPES.flatmap(lambda shape: hnp.arrays(bool, shape)), st.data())
def test_masks_of_any_leading_axes_select(mask, data):
    rest = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    array = numbered(mask.shape + rest)
    values = -numbered((int(mask.sum()), *rest)) - 1
    x = tensor(array)
    np.testing.assert_array_equal(x[tensor(mask)].numpy(), array[mask])
    for value in (values, -5, values[:1].sum(axis=0) if rest else -6):
        expected = array.copy()
        expected[mask] = value
        y = tensor(array)
        y[tensor(mask)] = value
        np.testing.assert_array_equal(y.numpy(), expected)


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.97, 1])
def test_masks_of_many_elements_select_whatever_their_share(share):
    chance = np.random.default_rng(5)
    array = chance.integers(0, 100, (60, 70)).astype(np.int16)
    mask = chance.random(array.shape) < share
    x = tensor(array)
    np.testing.assert_array_equal(x[tensor(mask)].numpy(), array[mask])
    np.testing.assert_array_equal(x.T[tensor(mask).T].numpy(), array.T[mask.T])
    np.testing.assert_array_equal(x[tensor(mask[:, 0])].numpy(), array[mask[:, 0]])


def test_zero_dimensional_masks_add_an_axis():
    x = tensor([1, 2, 3])
    assert x[True].shape == (1, 3)
    assert x[tensor(False)].shape == (0, 3)
    assert x[True, 1].tolist() == [2]


@pytest.mark.parametrize("key", [0, (0, 1), slice(1, None, -1), (None, ...), [0, 1], ([0], [1])])
def test_reading_and_writing_compute_nothing(key):
    x = tensor(numbered((2, 3))) + 1
    part = x[key]
    handle = x[...]
    x[key] = 0
    assert part.node.storage is None
    assert handle.node.storage is None
    assert x.node.storage is None


@pytest.mark.parametrize("shape", [(), (3,), (2, 1), (2, 3), (1, 2, 3)])
@pytest.mark.parametrize("index", [1, [-1, 0]])
def test_values_broadcast_to_the_rows_of_an_index_tensor(index, shape):
    rows, values = np.array(index), numbered(shape) + 100
    if not rows.ndim and len(shape) > 1 and shape[-2] != 1:
        values = values[..., :1, :]
    expected, x = numbered((4, 3)), tensor(numbered((4, 3)))
    expected[rows] = values
    x[tfr.asarray(rows)] = tfr.asarray(values)
    np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize(("index", "value"), [([0, 4], 1), ([0, -5], 1), ([0, 1], np.ones(4, int))])
def test_wrong_rows_and_values_are_refused_and_nothing_changes(index, value):
    x = tensor(numbered((4, 3)))
    with pytest.raises((IndexingError, ShapeError)):
        x[tfr.asarray(index)] = value
    np.testing.assert_array_equal(x.numpy(), numbered((4, 3)))


def test_a_scalar_set_by_a_mask_computes_nothing():
    x = tensor([1.0, -2.0, 3.0]) * 2
    x[x < 0] = 0.0
    assert x.node.storage is None
    assert x.tolist() == [2.0, 0.0, 6.0]


def test_indices_that_are_not_computed_yet_gather_lazily():
    x = tensor([10, 20, 30])
    found = x[tensor([0, 1]) + 1]
    assert found.node.storage is None
    assert found.tolist() == [20, 30]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (7, "index 7 is out of bounds for axis 0 with size 5"),
        ((0, -4), "index -4 is out of bounds for axis 1 with size 3"),
        ((slice(None), [0, 3]), "index 3 is out of bounds for axis 1 with size 3"),
        ((0, 0, 0), "too many indices"),
        ((..., ...), "one ellipsis"),
        (1.5, "not an index"),
        ("a", "not an index"),
        ([0.5], "integer or bool"),
        (slice("a"), "slices are made of integers"),
        (np.ones((4, 3), bool), "axis 0 has size 5, the mask 4"),
        (([0, 1], [0, 1, 2]), "do not broadcast"),
    ],
)
def test_errors_name_axis_and_size_when_they_are_recorded(key, message):
    x = tensor(numbered((5, 3)))
    for act in (lambda: x[key], lambda: x.__setitem__(key, 0)):
        with pytest.raises(IndexingError, match=message):
            act()


def test_lazy_indices_are_checked_when_they_run():
    x = tensor([1, 2, 3])
    found = x[tensor([0, 1]) + 5]
    with pytest.raises(IndexError, match="out of bounds"):
        found.compute()


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int32", 1.5),
        ("float32", 1j),
        ("bool", 2),
        ("int64", np.ones(2)),
        ("bool", np.ones(2, int)),
    ],
)
def test_values_that_would_lose_a_part_are_refused(dtype, value):
    x = tfr.zeros(2, dtype=dtype)
    with pytest.raises(DTypeError, match=r"not assigned"):
        x[...] = value
    assert x.tolist() == [0, 0]


def test_values_take_the_dtype_of_the_tensor():
    x = tfr.zeros(3, dtype="float32")
    x[0] = 1
    x[1:] = np.asarray([2.5, 3.5], dtype="float64")
    assert x.dtype == tfr.float32
    assert x.tolist() == [1.0, 2.5, 3.5]


def test_integers_outside_the_range_are_refused():
    x = tfr.zeros(3, dtype="int8")
    with pytest.raises(OverflowError, match="300"):
        x[0] = 300


def test_values_that_do_not_broadcast_name_both_shapes():
    x = tfr.zeros((2, 3))
    with pytest.raises(ShapeError, match=r"\(2,\).*\(3,\)"):
        x[0] = tfr.ones(2)
    with pytest.raises(ShapeError, match=r"\(4, 3\)"):
        x[0] = tfr.ones((4, 3))


def test_leading_axes_of_size_one_are_dropped_from_values():
    x = tfr.zeros((2, 3))
    x[0] = tfr.ones((1, 1, 3))
    assert x.tolist() == [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]


_BASIC = [
    np.s_[1:-1],
    np.s_[::-1],
    np.s_[::2],
    np.s_[1:1],
    np.s_[:, 1],
    np.s_[1, ::2],
    np.s_[0:2, 1:3],
]


@pytest.mark.parametrize("key", _BASIC, ids=str)
def test_slices_of_few_elements_of_computed_tensors_are_views_at_once(key):
    values = np.arange(12.0).reshape(3, 4)
    x = tfr.asarray(values).compute()
    part = x[key]
    assert part.is_computed
    assert part.dtype == x.dtype
    np.testing.assert_array_equal(part.numpy(), values[key])
    assert np.shares_memory(part.numpy(), x.numpy()) == bool(part.size)


def test_slices_of_many_elements_and_of_pending_tensors_are_recorded():
    large = tfr.asarray(np.arange(5000.0)).compute()
    pending = tfr.asarray(np.arange(5.0)) + 1
    assert not large[1:].is_computed
    assert large[1:9].is_computed  # few elements, whatever they are a part of
    assert not pending[1:].is_computed
    with tfr.config.override(small_size=0):
        assert not tfr.asarray(np.arange(5.0))[1:].is_computed


def test_an_assignment_to_a_view_or_to_what_it_is_of_leaves_the_other_as_it_is():
    x = tfr.asarray(np.arange(5.0)) + 0
    part = x.compute()[1:4]
    part[0] = 9
    assert x.tolist() == [0, 1, 2, 3, 4]
    view = x[:2]
    x[0] = 7
    assert view.tolist() == [0, 1]
    assert (x.tolist(), part.tolist()) == ([7, 1, 2, 3, 4], [9, 2, 3])


def test_gradients_pass_slices_of_small_computed_tensors():
    x = tfr.asarray(np.arange(5.0)).compute()
    assert tfr.grad(lambda x: tfr.sum(x[1:3] * x[2:4]))(x).tolist() == [0, 2, 4, 2, 0]
