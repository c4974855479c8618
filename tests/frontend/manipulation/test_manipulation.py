"""Manipulation, joining, padding and editing: every view against NumPy's, in every dtype, recorded not computed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tensorframe as tfr
from tensorframe.errors import ArgumentError, AxisError, DTypeError, IndexingError, ShapeError

DTYPES = sorted(tfr.dtypes.BY_NAME)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
views = settings(max_examples=60, deadline=None)


def numbered(shape, dtype="int64"):
    """Returns an array whose elements tell where they were."""
    return np.arange(math.prod(shape)).reshape(shape).astype(tfr.dtypes.as_dtype(dtype))


def same(found, expected):
    """Asserts equal shapes, elements and dtypes."""
    assert isinstance(found, tfr.Tensor)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert found.shape == np.shape(expected)
    assert found.dtype == np.asarray(expected).dtype


def all_same(found, expected):
    """Asserts the same of two sequences."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        same(one, other)


# --- what one array becomes: (name, shape, positional arguments, keywords)
CASES = [
    ("reshape", (2, 6), ((3, -1),), {}),
    ("reshape", (2, 6), (12,), {}),
    ("reshape", (0, 3), ((3, -1),), {}),
    ("reshape", (), ((1, 1),), {}),
    ("reshape", (2, 3), ((3, 2),), {"order": "F"}),
    ("ravel", (2, 3), (), {}),
    ("ravel", (0, 3), (), {}),
    ("ravel", (2, 3), ("F",), {}),
    ("permute_dims", (2, 3, 4), ((-1, 0, 1),), {}),
    ("transpose", (2, 3, 4), (), {}),
    ("transpose", (), (), {}),
    ("transpose", (2, 3, 4), ((1, 0, 2),), {}),
    ("swapaxes", (2, 3, 4), (0, -1), {}),
    ("moveaxis", (2, 3, 4), (0, -1), {}),
    ("moveaxis", (2, 3, 4, 5), ((0, -1), (-1, 1)), {}),
    ("rollaxis", (2, 3, 4), (2,), {}),
    ("rollaxis", (2, 3, 4), (0, 3), {}),
    ("rollaxis", (2, 3, 4), (1, -1), {}),
    ("expand_dims", (2, 3), (), {"axis": 1}),
    ("expand_dims", (2, 3), (), {"axis": (0, -1, 2)}),
    ("expand_dims", (2, 3), (), {"axis": ()}),
    ("squeeze", (1, 3, 1), (), {"axis": (0, -1)}),
    ("squeeze", (1, 3, 1), (), {}),
    ("broadcast_to", (3, 1), ((2, 3, 4),), {}),
    ("broadcast_to", (3, 1), ((3, 0),), {}),
    ("broadcast_to", (), ((2,),), {}),
    ("flip", (2, 3, 4), (), {"axis": (0, -1)}),
    ("flip", (2, 3), (), {}),
    ("flip", (0, 3), (), {}),
    ("flip", (), (), {}),
    ("flipud", (2, 3), (), {}),
    ("fliplr", (2, 3), (), {}),
    ("roll", (2, 3), (2,), {}),
    ("roll", (2, 3), (-7,), {}),
    ("roll", (2, 3), ((1, 2),), {"axis": (0, 1)}),
    ("roll", (2, 3), ((1, 2),), {"axis": 1}),
    ("roll", (2, 3), (1,), {"axis": (0, 1)}),
    ("roll", (2, 3), ((1, 1),), {"axis": (1, 1)}),
    ("roll", (0, 3), (1,), {"axis": 0}),
    ("roll", (), (3,), {}),
    ("atleast_1d", (), (), {}),
    ("atleast_2d", (3,), (), {}),
    ("atleast_3d", (), (), {}),
    ("atleast_3d", (2,), (), {}),
    ("atleast_3d", (2, 3), (), {}),
    ("tile", (2, 3), (2,), {}),
    ("tile", (2,), ((2, 3),), {}),
    ("tile", (2, 3), ((0, 2),), {}),
    ("tile", (), ((2, 2),), {}),
    ("repeat", (2, 3), (2,), {}),
    ("repeat", (2, 3), (2,), {"axis": 0}),
    ("repeat", (2, 3), (0,), {"axis": -1}),
    ("repeat", (2, 3), ([1, 0, 2],), {"axis": 1}),
    ("repeat", (), (3,), {}),
    ("append", (2, 3), (5,), {}),
    ("append", (2, 3), ([[7, 8, 9]],), {"axis": 0}),
    ("delete", (2, 3), (1,), {}),
    ("delete", (2, 3), (-1,), {"axis": 1}),
    ("delete", (2, 3), ([0, 2],), {"axis": 1}),
    ("delete", (6,), (slice(1, None, 2),), {}),
    ("delete", (3,), ([True, False, True],), {}),
    ("delete", (3,), ([],), {}),
    ("insert", (3,), (1, 9), {}),
    ("insert", (3,), (1, [8, 9]), {}),
    ("insert", (3,), ([1, 3], [8, 9]), {}),
    ("insert", (3,), ([1], [8, 9]), {}),
    ("insert", (3,), ([2, 0], 9), {}),
    ("insert", (2, 3), (1, 9), {"axis": 1}),
    ("insert", (2, 3), (1, [8, 9]), {"axis": 1}),
    ("insert", (2, 3), (-1, [7, 8, 9]), {"axis": 0}),
    ("insert", (2, 3), ([0, 2], [[8], [9]]), {"axis": 1}),
    ("insert", (2, 3), (1, 9), {}),
    ("insert", (4,), (slice(0, 3, 2), 9), {}),
    ("diff", (6,), (), {}),
    ("diff", (2, 4), (), {"n": 2}),
    ("diff", (2, 4), (), {"axis": 0}),
    ("diff", (2, 2), (), {"n": 5}),
    ("diff", (2, 3), (), {"n": 0}),
    ("diff", (2, 3), (), {"prepend": 0, "append": 7}),
    ("diff", (2, 3), (), {"axis": 0, "append": np.asarray([[1, 2, 3]])}),
    ("ediff1d", (2, 3), (), {}),
    ("ediff1d", (2, 3), (), {"to_begin": [1, 2], "to_end": 9}),
    ("ediff1d", (0,), (), {}),
    *[
        ("rot90", (2, 3, 2), (), {"k": k, "axes": axes})
        for k in range(-1, 5)
        for axes in ((0, 1), (2, 0))
    ],
]


def label(case):
    name, shape, arguments, keywords = case
    return f"{name}{shape}-{arguments}-{keywords}"


@pytest.mark.parametrize("case", CASES, ids=label)
def test_manipulation_is_numpys(case):
    name, shape, arguments, keywords = case
    for dtype in ("int64", "complex64", "float16"):
        values = numbered(shape, dtype)
        expected = getattr(np, name)(values, *arguments, **keywords)
        x = tfr.asarray(values) + 0
        found = getattr(tfr, name)(x, *arguments, **keywords)
        assert not x.is_computed
        # NumPy widens float16 beside the integers that some of these join
        same(found, np.asarray(expected).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_moves(dtype):
    values = numbered((2, 3), dtype)
    x = tfr.asarray(values)
    same(tfr.roll(x, 1, axis=1), np.roll(values, 1, axis=1))
    same(tfr.concat([x, tfr.flip(x)]), np.concatenate([values, np.flip(values)]))
    same(tfr.repeat(x, 2, axis=0), np.repeat(values, 2, axis=0))
    same(tfr.tile(x.T, (2, 1)), np.tile(values.T, (2, 1)))
    same(tfr.stack([x, x], axis=-1), np.stack([values, values], axis=-1))
    same(tfr.pad(x, 1, constant_values=1), np.pad(values, 1, constant_values=1))
    same(tfr.pad(x, 2, "reflect"), np.pad(values, 2, "reflect"))


@views
@given(st.data(), hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4))
def test_views_of_views_are_numpys(data, shape):
    values = numbered(shape)
    x = tfr.asarray(values)
    for _ in range(data.draw(st.integers(1, 4))):
        axes = tuple(data.draw(st.permutations(range(values.ndim))))
        flipped = tuple(axis for axis in axes if data.draw(st.booleans()))
        shift = data.draw(st.integers(-5, 5))
        axis = data.draw(st.integers(-values.ndim, values.ndim - 1))
        values = np.roll(np.flip(np.transpose(values, axes), flipped), shift, axis)
        x = tfr.roll(tfr.flip(tfr.permute_dims(x, axes), axis=flipped), shift, axis=axis)
    same(x, values)


@views
@given(hnp.mutually_broadcastable_shapes(num_shapes=3, min_side=0, max_dims=4))
def test_broadcasting_is_numpys(shapes):
    arrays = [numbered(shape) for shape in shapes.input_shapes]
    assert tfr.broadcast_shapes(*shapes.input_shapes) == shapes.result_shape
    found = tfr.broadcast_arrays(*arrays)
    assert isinstance(found, tuple)
    all_same(found, np.broadcast_arrays(*arrays))


@views
@given(
    st.data(), hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4), st.integers(1, 4)
)
def test_joining_and_taking_apart_are_inverse(data, shape, count):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    arrays = [numbered(shape) + 100 * index for index in range(count)]
    same(tfr.concat(arrays, axis=axis), np.concatenate(arrays, axis=axis))
    same(tfr.concat(arrays, axis=None), np.concatenate(arrays, axis=None))
    stacked = tfr.stack(arrays, axis=axis)
    same(stacked, np.stack(arrays, axis=axis))
    all_same(tfr.unstack(stacked, axis=axis), arrays)
    all_same(tfr.split(tfr.concat(arrays, axis=axis), count, axis=axis), arrays)


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
@pytest.mark.parametrize(
    "shapes", [[(3,), (3,)], [(2, 3), (2, 3)], [(2, 3, 1), (2, 3, 1)], [()] * 3]
)
def test_stacks_are_numpys(name, shapes):
    arrays = [numbered(shape) + index for index, shape in enumerate(shapes)]
    same(getattr(tfr, name)(arrays), getattr(np, name)(arrays))
    same(getattr(tfr, name)([tfr.asarray(array) for array in arrays]), getattr(np, name)(arrays))


def test_joining_promotes():
    parts = [tfr.asarray([1], dtype="int8"), tfr.asarray([2.5])]
    same(tfr.concat(parts), np.asarray([1, 2.5], "float32"))
    assert (
        tfr.stack([tfr.zeros(1, dtype="bfloat16"), tfr.zeros(1, dtype="float16")]).dtype
        == "float32"
    )
    same(tfr.concatenate(parts, dtype="int64", casting="unsafe"), np.asarray([1, 2]))
    with pytest.raises(DTypeError, match="same_kind"):
        tfr.concatenate(parts, dtype="int64")
    same(tfr.concat([[1], [2.0]]), np.asarray([1, 2], "float32"))
    same(tfr.stack(tfr.asarray([[1, 2], [3, 4]])), np.asarray([[1, 2], [3, 4]]))


def test_joining_keeps_the_larger_device():
    found = tfr.concat([tfr.zeros(2), tfr.zeros(9, device="numpy")])
    assert str(found.device) == "numpy"
    assert found.tolist() == [0.0] * 11


@pytest.mark.parametrize("shape", [(7,), (6, 2), (0, 3)])
@pytest.mark.parametrize("sections", [1, 3, [2, 5], [5, 2], [-2], [], np.asarray([1, 9])], ids=str)
def test_parts_are_numpys(shape, sections):
    values = numbered(shape)
    all_same(tfr.array_split(values, sections), np.array_split(values, sections))
    for name in ("hsplit", "vsplit", "dsplit"):
        x = numbered((6, 6, 6))
        all_same(getattr(tfr, name)(x, sections), getattr(np, name)(x, sections))


def test_blocks_are_numpys():
    one, row = np.ones((2, 2)), np.zeros((1, 4))
    for blocks in (
        [[one, 2 * one], [row]],
        [one, one],
        [[1, 2], [3, 4]],
        one,
        [[np.ones(2)], [np.zeros(2)]],
        [[[one], [one]], [[one], [one]]],
    ):
        same(tfr.block(blocks), np.block(blocks))
    with pytest.raises(ShapeError, match="depth"):
        tfr.block([[one], one])


WIDTHS = [
    0,
    2,
    (1, 2),
    [(1, 2), (0, 3)],
    [[1], [2]],
    {0: 2},
    {-1: (1, 0)},
    np.asarray([[1, 2], [0, 1]]),
]


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("width", WIDTHS, ids=str)
def test_padding_is_numpys(width, mode):
    for shape in ((2, 3), (1, 2)):
        values = numbered(shape)
        if isinstance(width, dict):
            pairs = [(0, 0), (0, 0)]
            for axis, value in width.items():
                pairs[axis] = value if isinstance(value, tuple) else (value, value)
            expected = np.pad(values, pairs, mode)
        else:
            expected = np.pad(values, width, mode)
        same(tfr.pad(tfr.asarray(values), width, mode), expected)


@pytest.mark.parametrize("constant", [7, (1, 2), [(1, 2), (3, 4)]], ids=str)
def test_padding_values_are_numpys(constant):
    values = numbered((2, 2))
    same(
        tfr.pad(values, [(1, 2), (2, 1)], constant_values=constant),
        np.pad(values, [(1, 2), (2, 1)], constant_values=constant),
    )
    same(tfr.pad(numbered((0, 2)), 1), np.pad(numbered((0, 2)), 1))
    same(tfr.pad(tfr.asarray(5), 3), np.asarray(5))


@views
@given(
    st.integers(1, 4),
    st.integers(0, 9),
    st.integers(0, 9),
    st.sampled_from(["reflect", "symmetric", "wrap"]),
)
def test_padding_may_be_wider_than_the_axis(size, before, after, mode):
    values = np.arange(size)
    same(tfr.pad(values, (before, after), mode), np.pad(values, (before, after), mode))


def test_padding_says_what_it_cannot_do():
    with pytest.raises(ArgumentError, match="'blur'") as caught:
        tfr.pad(tfr.zeros(2), 1, "blur")
    assert "reflect" in caught.value.suggestions[0]
    with pytest.raises(ArgumentError, match="negative"):
        tfr.pad(tfr.zeros(2), -1)
    with pytest.raises(ShapeError, match="2 axes"):
        tfr.pad(tfr.zeros((2, 2)), [(1, 1)] * 3)
    with pytest.raises(ShapeError, match="no elements"):
        tfr.pad(tfr.zeros((0, 2)), 1, "edge")


def test_repeats_by_tensor_compute_their_counts_only():
    x, counts = tfr.asarray([1, 2]) + 0, tfr.asarray([2, 0]) + 0
    found = tfr.repeat(x, counts)
    assert counts.is_computed
    assert not x.is_computed
    assert found.tolist() == [1, 1]


def test_differences_keep_their_dtype():
    same(tfr.diff(tfr.asarray([3, 5, 1], dtype="uint8")), np.asarray([2, 252], "uint8"))
    same(tfr.diff(tfr.asarray([True, False, False])), np.asarray([True, False]))
    half = tfr.asarray([1, 2], dtype="bfloat16")
    assert tfr.diff(half, prepend=0.5).dtype == "bfloat16"
    assert tfr.diff(half, append=tfr.asarray([1.0])).dtype == "float32"


def test_copies_are_handles_of_their_own():
    x = tfr.asarray([1, 2])
    y = tfr.reshape(x, (2,), copy=True)
    x[0] = 9
    assert y.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        ("tfr.reshape(x, (4, -1))", ShapeError, r"\(2, 3\)"),
        ("tfr.reshape(x, (-1, -1))", ShapeError, "-1"),
        ("tfr.reshape(x, (-1, -2, -3))", ShapeError, "-2"),
        ("tfr.reshape(x, (-2, -3))", ShapeError, "-2"),
        ("tfr.reshape(x, 6, 'Z')", ArgumentError, "order 'Z'"),
        ("tfr.permute_dims(x, (0, 0))", AxisError, "once"),
        ("tfr.permute_dims(x, (0, 2))", AxisError, "axis 2"),
        ("tfr.permute_dims(x, (0,))", AxisError, "once"),
        ("tfr.moveaxis(x, (0, 1), 0)", ShapeError, "2 axes"),
        ("tfr.moveaxis(x, (0, 0), (0, 1))", AxisError, "twice"),
        ("tfr.swapaxes(x, 0, 5)", AxisError, "axis 5"),
        ("tfr.expand_dims(x, axis=4)", AxisError, "axis 4"),
        ("tfr.expand_dims(x, axis=(0, 0))", AxisError, "twice"),
        ("tfr.squeeze(x, axis=0)", ShapeError, "size 2"),
        ("tfr.broadcast_to(x, (3,))", ShapeError, "broadcast_to"),
        ("tfr.broadcast_to(x, (4, 3))", ShapeError, "axis -2 has 2 and 4"),
        ("tfr.broadcast_arrays(x, x.T)", ShapeError, "do not broadcast"),
        ("tfr.flip(x, axis=2)", AxisError, "axis 2"),
        ("tfr.fliplr(x[0])", AxisError, "axis 1"),
        ("tfr.rot90(x, axes=(0,))", AxisError, "two axes"),
        ("tfr.roll(x, (1, 2, 3), axis=(0, 1))", ShapeError, "3 shifts"),
        ("tfr.concat([])", ArgumentError, "one tensor"),
        ("tfr.concat([x, x.T])", ShapeError, "differ outside axis 0"),
        ("tfr.concat([x, x[0]])", ShapeError, "differ outside axis 0"),
        ("tfr.concat([tfr.asarray(1)])", ShapeError, "0-d"),
        ("tfr.concat([x], axis=2)", AxisError, "axis 2"),
        ("tfr.stack([x, x.T])", ShapeError, "differ"),
        ("tfr.stack([x], axis=3)", AxisError, "axis 3"),
        ("tfr.unstack(tfr.asarray(1))", AxisError, "axis 0"),
        ("tfr.split(x, 2, axis=1)", ShapeError, "equal parts"),
        ("tfr.array_split(x, 0)", ArgumentError, "positive"),
        ("tfr.repeat(x, -1)", ArgumentError, "negative"),
        ("tfr.repeat(x, [1, 2, 3], axis=0)", ShapeError, "counts"),
        ("tfr.repeat(x, 1.5)", DTypeError, "integers"),
        ("tfr.tile(x, (-1,))", ShapeError, "negative"),
        ("tfr.diff(x, n=-1)", ArgumentError, "negative"),
        ("tfr.diff(tfr.asarray(1))", ShapeError, "0-d"),
        ("tfr.insert(x, 9, 1, axis=0)", IndexingError, "9"),
        ("tfr.delete(x, 9, axis=0)", IndexingError, "9"),
        ("tfr.insert(x, 0, [1, 2, 3, 4], axis=0)", ShapeError, "insert"),
    ],
)
def test_errors_name_the_line_and_the_shapes(call, error, says):
    x = tfr.zeros((2, 3))
    with pytest.raises(error, match=says) as caught:
        eval(call, {"tfr": tfr, "x": x})
    # a worker started by `python -c` has source lines under that name in Python 3.13
    assert caught.value.location.startswith("<string>, line 1")


def test_one_axis_and_several_mean_the_same():
    x = tfr.asarray(numbered((2, 3, 4)))
    for axis in itertools.chain(range(-3, 3)):
        same(tfr.flip(x, axis=axis), np.flip(x.numpy(), axis))
        same(tfr.flip(x, axis=(axis,)), np.flip(x.numpy(), axis))
        same(tfr.expand_dims(x, axis=axis), np.expand_dims(x.numpy(), axis))


@pytest.mark.parametrize("shape", [(7,), (4, 5), (3, 1, 4), (2, 0, 3)])
def test_few_places_are_inserted_and_deleted_as_many_are(shape):
    draw = np.random.default_rng(len(shape))
    values = draw.integers(0, 100, shape)
    tensor = tfr.asarray(values)
    for axis in (*range(-len(shape), len(shape)), None):
        size = values.size if axis is None else shape[axis]
        for count in (1, 2, 3, 8, 9, 12):
            places = draw.integers(-size, size + 1, count)
            expected = np.insert(values, places, 7, axis=axis)
            np.testing.assert_array_equal(
                tfr.insert(tensor, places, 7, axis=axis).numpy(), expected
            )
            if size:
                places = draw.integers(-size, size, count)
                expected = np.delete(values, places, axis=axis)
                np.testing.assert_array_equal(
                    tfr.delete(tensor, places, axis=axis).numpy(), expected
                )
        if axis is None or len(shape) == 1:  # a block, where it needs no axes of its own
            block = np.arange(3)
            for place in (0, size, -size, size // 2, [size // 2]):
                expected = np.insert(values, place, block, axis=axis)
                np.testing.assert_array_equal(
                    tfr.insert(tensor, place, block, axis=axis).numpy(), expected
                )
        for ends in (
            (None, None),
            (1, 3),
            (3, 1),
            (-2, None),
            (5, 100),
            (None, None, -1),
            (2, None, -1),
            (None, None, 2),
        ):
            expected = np.delete(values, slice(*ends), axis=axis)
            np.testing.assert_array_equal(
                tfr.delete(tensor, slice(*ends), axis=axis).numpy(), expected
            )


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_sides_are_continued_as_in_numpy(mode):
    for shape in ((1,), (2,), (5,), (3, 4), (1, 2)):
        values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        for width in (0, 1, 2, 5, 11, (0, 3), (7, 0)):
            np.testing.assert_array_equal(
                tfr.pad(values, width, mode).numpy(), np.pad(values, width, mode)
            )


def test_one_place_costs_no_gather():
    x = tfr.asarray(np.ones(200_000, np.float32))
    for result in (tfr.insert(x, 5, 1), tfr.delete(x, 5), tfr.insert(x, [5, -1], 1)):
        plan = tfr.explain(result)
        assert plan.kernels == 1
        assert not any(op.op.name == "gather" for step in plan.steps for op in step.region.ops)
