"""Kernels that select, interpreted: the elements that sorting has at places of rows, by a group each or in pieces."""

import ml_dtypes
import numpy as np
import pytest

from tensorframe.backends.device.scratch import scratch_bytes
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.groups.algorithms import partition, selection
from tensorframe.kernel.groups.algorithms.order import element_at, ordinal_bits, ordinal_of
from tensorframe.kernel.groups.algorithms.partition import build_partition, partition_partials
from tensorframe.kernel.groups.algorithms.selection import Selecting, build_selection
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir import argument
from tensorframe.kernel.ir.interpret import evaluate
from tensorframe.ops.sorting import PARTITION, SELECT
from tests.kernel.interpreted import run_built


def target(lanes=2):
    return Target(lanes, np.dtype(np.float64), np.dtype(np.uint32))


def strides(array):
    return tuple(step // array.itemsize for step in array.strides)


def described(x, places):
    count = places.shape[-1]
    return Selecting(x.shape, x.dtype, strides(x), count, strides(places))


def run(x, places, lanes=2):
    built = build_selection(described(x, places), target(lanes))
    found = np.zeros(places.shape, x.dtype)
    missed = run_built(built, {"x0": x, "x1": places, "y0": found})
    return found, missed


def check(x, places, lanes=2):
    found, missed = run(x, places, lanes)
    assert not missed
    expected = np.take_along_axis(np.sort(x), places, -1)
    np.testing.assert_array_equal(found, expected)


@pytest.fixture
def in_pieces(monkeypatch):
    monkeypatch.setattr(selection, "_PIECE", 15)


def drawn(*shape):
    return np.random.default_rng(0).integers(-9, 120, shape).astype(np.int8)


def test_a_group_finds_all_digits_of_an_element():
    x, places = drawn(2, 41), np.array([[0, 40, 7], [20, 19, 20]])
    assert len(build_selection(described(x, places), target()).launches) == 1
    check(x, places)


@pytest.mark.parametrize("lanes", [1, 32])
def test_groups_of_any_size(lanes):
    check(drawn(1, 10), np.array([[6]]), lanes)


def test_rows_are_views_as_any():
    x = drawn(5, 20)
    check(x[::-2, 3:19:2], np.array([[3, 6]] * 3))
    check(x[:, :3].T, np.broadcast_to(np.array([2, 3]), (3, 2)))
    check(x[0], np.array([19]))


def test_long_rows_are_counted_in_pieces(in_pieces):
    x, places = drawn(2, 40), np.array([[20, 21, 21], [0, 39, 20]])
    built = build_selection(described(x, places), target())
    # two digits: each is counted by three groups for each element, and chosen by one
    assert [launch.total for launch in built.launches] == [6, *[18, 6] * 2, 6]
    assert [size for _, size, _ in built.partials] == [12, 12, 6 * 3 * 16]
    # those of all digits have one text, which knows none
    assert len({launch.kernel for launch in built.launches}) == 4
    check(x, places)


def test_elements_that_agree_so_far_are_counted_once(in_pieces):
    """Of two neighbours the first is counted, for as long as no digit tells them apart."""
    x = 2 * np.arange(40, dtype=np.uint8)[None]
    for places, counted in (([10, 11], [True, False]), ([7, 8], [True, True])):
        operands = {"x0": x, "x1": np.array([places]), "y0": np.zeros((1, 2), np.uint8)}
        built = build_selection(described(x, operands["x1"]), target())
        run_built(built, operands)
        np.testing.assert_array_equal(operands["y0"], x[:, places])
        # in the last turn: 20 and 22 differ in the lowest digit, 14 and 16 in the one before
        counts = operands["p2"].reshape(2, 3, 16).sum(axis=(1, 2))
        assert list(counts > 0) == counted


@pytest.mark.parametrize("dtype", ["bool", "uint16", "float16"])
def test_every_kind_of_element(dtype, in_pieces):
    generator = np.random.default_rng(1)
    bits = generator.integers(0, 256, 31 * np.dtype(dtype).itemsize, dtype=np.uint8)
    x = bits.view(dtype) if dtype != "bool" else bits > 128
    x = np.where(generator.random(31) < 0.3, x[0], x)[None]
    check(x, np.array([[14, 30]]))


def test_places_beyond_the_row_are_marked():
    for place in (5, -1, 2**32 + 1):
        _, missed = run(drawn(1, 5), np.array([[place]]))
        assert missed


def partitioned(x, kth, axis, *, places=None):
    selecting = Selecting(x.shape, x.dtype, strides(x), len(kth), axis=axis, kth=kth)
    built = build_partition(selecting, places, target())
    found = np.zeros(x.shape, places or x.dtype)
    assert not run_built(built, {"x0": x, "y0": found})
    return found


@pytest.mark.parametrize("kth", [(0,), (3, 20)])
def test_rows_in_parts_before_and_behind_elements(in_pieces, monkeypatch, kth):
    monkeypatch.setattr(partition, "_PIECE", 15)
    x = drawn(2, 40)
    found, order = partitioned(x, kth, 1), np.sort(x)
    np.testing.assert_array_equal(np.sort(found), order)
    for place in kth:
        np.testing.assert_array_equal(found[:, place], order[:, place])
        for row in range(2):
            assert (found[row, :place] <= order[row, place]).all()
            assert (found[row, place:] >= order[row, place]).all()
    # those of one class stay in their order
    places = partitioned(x, kth, 1, places=np.dtype(np.int64))
    np.testing.assert_array_equal(np.take_along_axis(x, places, 1), found)
    assert (np.diff(places)[np.diff(found) == 0] > 0).all()


def test_partitions_along_any_axis():
    x = drawn(20, 5)[:, ::-2]
    found = partitioned(x, (7, 10), 0)
    np.testing.assert_array_equal(found[[7, 10]], np.sort(x, 0)[[7, 10]])
    np.testing.assert_array_equal(np.sort(found, 0), np.sort(x, 0))


NUMBERS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    448.0,
    -448.0,
    6e-8,
    -6e-8,
    2**-9,
    np.inf,
    -np.inf,
    np.nan,
    -np.nan,
]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_ordinals_of_floats_have_as_few_bits_as_their_sign_exponent_and_fraction(dtype):
    numbers = np.array(NUMBERS).astype(getattr(ml_dtypes, dtype, dtype))
    x = argument("x", numbers.dtype)
    ordinals = evaluate(ordinal_of(x), {x: numbers})
    bits = ordinal_bits(numbers.dtype)
    assert ordinals.max() < 2**bits
    wide = numbers.astype(np.float64)
    order = np.argsort(ordinals, stable=True)
    np.testing.assert_array_equal(wide[order], np.sort(wide))
    assert ordinals[1] < ordinals[0]  # -0.0 is before 0.0, as sorting has them
    y = argument("y", ordinals.dtype)
    found = evaluate(element_at(y, numbers.dtype), {y: ordinals})
    np.testing.assert_array_equal(found.astype(np.float64), wide)
    known = ~np.isnan(wide)
    np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(wide[known]))


def test_ordinals_of_integers():
    for dtype in ("int8", "uint8", "int16", "int32", "uint64", "int64"):
        limits = np.iinfo(dtype)
        numbers = np.array([limits.min, limits.min + 1, 0, 1, limits.max], dtype)
        x = argument("x", numbers.dtype)
        ordinals = evaluate(ordinal_of(x), {x: numbers})
        assert ordinal_bits(numbers.dtype) == limits.bits
        assert int(ordinals.max()) == 2**limits.bits - 1
        np.testing.assert_array_equal(np.argsort(ordinals), np.argsort(numbers))
        y = argument("y", ordinals.dtype)
        np.testing.assert_array_equal(
            evaluate(element_at(y, numbers.dtype), {y: ordinals}), numbers
        )


@pytest.mark.parametrize(
    ("rows", "length", "count"), [(3, 1 << 20, 2), (300, 1 << 20, 2), (1, 5000, 1)]
)
def test_plans_know_the_memory_between_kernels(rows, length, count):
    x = np.broadcast_to(np.zeros((), np.float32), (rows, length))
    places = np.broadcast_to(np.zeros((), np.int64), (rows, count))
    selecting = described(x, places)
    between = sum(size * held.itemsize for held, size, _ in selecting.partials)
    inputs = ((x.shape, x.dtype), (places.shape, places.dtype))
    region = Region(inputs, (RegionOp(SELECT, (), (0, 1), places.shape, x.dtype),), (2,))
    assert scratch_bytes(region) == between < x.nbytes / 20
    assert (between > 0) == (rows == 3)


def test_plans_know_the_memory_between_kernels_that_partition():
    x = np.broadcast_to(np.zeros((), np.float32), (1 << 16, 3))
    op = RegionOp(PARTITION, ((-1, 40), 0), (0,), x.shape, x.dtype)
    region = Region(((x.shape, x.dtype),), (op,), (1,))
    selecting = Selecting(x.shape, x.dtype, (), 2, axis=0, kth=(40, (1 << 16) - 1))
    between = sum(size * held.itemsize for held, size, _ in partition_partials(selecting))
    assert scratch_bytes(region) == between < x.nbytes / 100
