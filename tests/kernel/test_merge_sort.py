"""Kernels that sort, interpreted: NumPy's order for few threads, along any axis, in blocks and over several passes."""

import numpy as np
import pytest

from tensorframe.backends.device.scratch import scratch_bytes
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.groups.algorithms.merge_sort import Sorting, build_sort
from tensorframe.kernel.groups.algorithms.order import element_of, key_of
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir import Barrier, If, Loop, ParallelAxis, argument
from tensorframe.kernel.ir.interpret import evaluate
from tensorframe.ops.sorting import ARGSORT, SORT, TOPK
from tests.kernel.interpreted import run_built

INDEX = np.dtype(np.uint32)


def strides(array):
    return tuple(step // array.itemsize for step in array.strides)


def build(x, axis, *, descending=False, count=None, outputs=(True, False), lanes=4):
    count = x.shape[axis] if count is None else count
    sorting = Sorting(x.shape, x.dtype, strides(x), axis, descending, count, outputs)
    return sorting, build_sort(sorting, Target(lanes, np.dtype(np.float64), INDEX))


def run(x, axis, **how):
    sorting, built = build(x, axis, **how)
    found = [
        np.zeros(sorting.result, x.dtype if elements else np.int64) for elements in sorting.outputs
    ]
    run_built(built, {"x0": x} | {f"y{index}": one for index, one in enumerate(found)})
    return found


def check(x, axis, **how):
    elements, places = run(x, axis, **how)
    expected = np.argsort(x, axis, stable=True)
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_array_equal(elements, np.take_along_axis(x, expected, axis))
    (alone,) = run(x, axis, outputs=(True,), **how)
    np.testing.assert_array_equal(alone, elements)


def some(*shape):
    return np.random.default_rng(0).integers(0, 6, shape).astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((1,), 0), ((5,), 0), ((3, 4), 1), ((3, 4), 0), ((2, 3, 2), 1), ((2, 17), 1), ((40,), 0)],
)
@pytest.mark.parametrize("lanes", [1, 4])
def test_rows_of_every_length(shape, axis, lanes):
    check(some(*shape), axis, lanes=lanes)


def test_views():
    x = some(9, 8)[::-2, 1:7]
    check(x, 0)
    check(x.T, 0)


def test_the_first_of_them():
    x = some(2, 21)
    elements, places = run(x, 1, descending=True, count=3)
    expected = np.argsort(-x, 1, stable=True)[:, :3]
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_array_equal(elements, np.take_along_axis(x, expected, 1))


def test_a_row_that_fits_is_one_kernel_and_a_longer_one_is_merged_in_passes():
    for length, passes in ((16, 0), (17, 1), (33, 2), (130, 4)):
        _, built = build(some(length), 0)
        kernels = [launch.kernel for launch in built.launches]
        loops = [
            next(statement for statement in kernel.body if isinstance(statement, Loop))
            for kernel in kernels
        ]
        assert [loop.over for loop in loops] == [ParallelAxis.GROUPS, *[ParallelAxis.GRID] * passes]


def test_passes_of_one_length_share_their_text():
    _, built = build(some(400), 0)
    bodies = [launch.kernel for launch in built.launches[1:-1]]
    assert len({statement.inputs for statement in bodies}) == 2


NUMBERS = [0.0, -0.0, 1.0, -1.0, 65504.0, -65504.0, 6e-8, -6e-8, np.inf, -np.inf, np.nan, -np.nan]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("descending", [False, True])
def test_keys_of_floats(dtype, descending):
    numbers = np.array(NUMBERS).astype(dtype)
    x = argument("x", numbers.dtype)
    keys = evaluate(key_of(x, descending=descending, one_zero=True), {x: numbers})
    mirrored = -numbers if descending else numbers
    np.testing.assert_array_equal(np.argsort(keys, stable=True), np.argsort(mirrored, stable=True))
    exact = key_of(x, descending=descending, one_zero=False)
    found = evaluate(element_of(exact, x.dtype, descending=descending), {x: numbers})
    np.testing.assert_array_equal(found, numbers)
    np.testing.assert_array_equal(np.signbit(found[:10]), np.signbit(numbers[:10]))


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
@pytest.mark.parametrize("descending", [False, True])
def test_keys_of_integers(dtype, descending):
    if dtype == "bool":
        numbers = np.array([True, False])
    else:
        limits = np.iinfo(dtype)
        numbers = [limits.min, limits.min + 1, 0, 1, limits.max - 1, limits.max]
        numbers = np.unique(np.array(numbers, dtype))
    x = argument("x", numbers.dtype)
    key = key_of(x, descending=descending, one_zero=True)
    keys = evaluate(key, {x: numbers})
    order = np.argsort(numbers, stable=True)
    np.testing.assert_array_equal(
        np.argsort(keys, stable=True), order[::-1] if descending else order
    )
    found = evaluate(element_of(key, x.dtype, descending=descending), {x: numbers})
    np.testing.assert_array_equal(found, numbers)


def barriers(body):
    return sum(
        barriers(statement.body)
        if isinstance(statement, Loop | If)
        else isinstance(statement, Barrier)
        for statement in body
    )


def test_a_level_of_runs_waits_twice():
    _, built = build(some(40), 0)
    assert [barriers(launch.kernel.body) for launch in built.launches] == [3, 0, 0]


@pytest.mark.parametrize(("shape", "axis"), [((17,), 0), ((1, 35), 1), ((19, 2), 0)])
@pytest.mark.parametrize("count", [1, 4, 8])
@pytest.mark.parametrize("descending", [False, True])
def test_the_first_of_long_rows(shape, axis, count, descending):
    x = some(*shape)
    x[x == 5] = np.nan  # after all others whichever way, in their order
    elements, places = run(x, axis, descending=descending, count=count)
    expected = np.argsort(-x if descending else x, axis, stable=True)
    expected = np.take(expected, range(count), axis)
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_array_equal(elements, np.take_along_axis(x, expected, axis))


def test_nan_is_told_from_the_room_behind_a_row():
    x = np.full((2, 21), np.nan, np.float32)
    x[0, 20] = x[1, 3] = 1
    _, places = run(x, 1, count=4)
    np.testing.assert_array_equal(places, [[20, 0, 1, 2], [3, 0, 1, 2]])


def test_the_first_few_are_selected_block_by_block():
    # 4 threads sort 16 elements: 63 blocks leave 4 each, and so on; the last block is half full
    _, built = build(some(3, 1000), 1, count=4)
    assert [size for _, size, _ in built.partials] == [3 * 252, 3 * 252, 3 * 64, 3 * 64]
    assert [launch.total for launch in built.launches] == [3 * 63, 3 * 16, 3 * 4, 3]
    assert [barriers(launch.kernel.body) for launch in built.launches] == [3] * 4
    reads = [{buffer.name for buffer in launch.kernel.inputs} for launch in built.launches]
    # rows are read by the first kernel; the last one reads the elements that it found
    assert reads == [{"x0"}, {"p0", "p1"}, {"p2", "p3"}, {"x0", "p0", "p1"}]
    # more than half of a block: all are sorted
    _, built = build(some(3, 1000), 1, count=9)
    assert [size for _, size, _ in built.partials] == [3000] * 4


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
@pytest.mark.parametrize(
    ("op", "attrs", "length", "count"),
    [
        (SORT, (0, False), 1 << 10, None),
        (SORT, (0, False), 1 << 11, None),
        (ARGSORT, (1, False, True), 5000, None),
        (TOPK, (8, 1, True), 1 << 16, 8),
        (TOPK, (512, 1, True), 5000, 512),
        (TOPK, (2048, 1, True), 1 << 12, 2048),  # so many that rows are sorted
    ],
)
def test_plans_know_the_memory_between_kernels(op, attrs, length, count, dtype):
    shape = (length, 3) if attrs[0] == 0 else (3, length)
    axis = shape.index(length)
    x = np.broadcast_to(np.zeros((), dtype), shape)
    places = op is not SORT
    _, built = build(x, axis, count=count, outputs=(True, False) if places else (True,), lanes=256)
    between = sum(size * held.itemsize for held, size, _ in built.partials)
    region = Region(((shape, x.dtype),), (RegionOp(op, attrs, (0,), shape, x.dtype),), (1,))
    assert scratch_bytes(region) == between
    assert (between == 0) == (length == 1 << 10)
