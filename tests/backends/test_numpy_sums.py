"""Sums in NumPy: their order is a function of the reduced lengths alone, not of strides or what else is reduced."""

from itertools import chain, combinations

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.numpy import (
    engine,  # noqa: F401 - the spellings
    sequence,
    sums,
)
from tensorframe.backends.numpy.functions import implementation
from tensorframe.backends.numpy.scratch.regions import scratch_bytes
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import reduced
from tensorframe.ops.elementwise import ABS, CAST
from tensorframe.ops.reduction import PROD, SUM

SHAPES = [
    (1,),
    (7,),
    (300,),
    (100_001,),
    (300, 50),
    (70_001, 3),
    (3, 70_001),
    (17, 31, 23),
    (2, 3, 4, 5),
]
DTYPES = ["float16", "float32", "float64", "complex64"]


def some(shape, dtype):
    found = np.random.default_rng(0).standard_normal(shape)
    return (found * (1 + 1j) if dtype == "complex64" else found).astype(dtype)


def every_axes(ndim):
    return chain.from_iterable(combinations(range(ndim), count) for count in range(1, ndim + 1))


@pytest.mark.parametrize("op", [SUM, PROD])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_neither_layout_nor_neighbours_matter(shape, dtype, op):
    x = some(shape, dtype)
    if op is PROD and dtype == "complex64":
        pytest.skip(
            "NumPy rounds products of complex numbers differently along memory and across it"
        )
    if op is PROD:
        x = (1 + x / 1000).astype(dtype)
    total = implementation[op]
    for axes in every_axes(x.ndim):
        whole = np.asarray(total(x, axes, True))
        assert whole.dtype == x.dtype
        for order in (
            np.asfortranarray(x),
            np.repeat(x, 2, axis=0)[::2],
            np.flip(np.flip(x).copy()),
        ):
            assert np.asarray(total(order, axes, True)).tobytes() == whole.tobytes()
        alone = tuple(
            [
                slice(None) if axis in axes else slice(size // 2, size // 2 + 1)
                for axis, size in enumerate(shape)
            ]
        )
        assert np.asarray(total(x[alone], axes, True)).tobytes() == whole[alone].tobytes()
        assert np.asarray(total(x, axes, False)).tobytes() == whole.tobytes()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_are_as_good_as_pairwise_ones(shape):
    x = some(shape, "float32")
    for axes in every_axes(x.ndim):
        count = np.prod([shape[axis] for axis in axes])
        exact = x.sum(axis=axes, dtype=np.float64)
        error = np.abs(implementation[SUM](x, axes, False) - exact)
        magnitude = np.abs(x).sum(axis=axes, dtype=np.float64)
        assert np.all(error <= np.ceil(np.log2(count) + 1) * 2.0**-24 * magnitude)


def test_products_and_nothing():
    x = 1 + some((40_000, 3), "float64") / 1000
    np.testing.assert_allclose(implementation[PROD](x, (0,), False), x.prod(axis=0), rtol=1e-12)
    nothing = np.empty((0, 3), np.float32)
    assert implementation[SUM](nothing, (0,), False).tolist() == [0.0] * 3
    assert implementation[PROD](nothing, (0,), True).tolist() == [[1.0] * 3]
    assert implementation[SUM](nothing, (1,), False).shape == (0,)


@pytest.mark.parametrize("op", [SUM, PROD])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_over_no_axes_elements_stay(shape, op):
    x = some(shape, "float32")
    assert np.array_equal(implementation[op](x, (), False), x)


@pytest.mark.parametrize("copied", [sums._COPIED, 128])
def test_results_are_neither_views_of_operands_nor_of_large_memory(copied, monkeypatch):
    monkeypatch.setattr(sums, "_COPIED", copied)
    for x in (some((1, 30), "float32"), some((64, 30), "float32")):
        found = implementation[SUM](x, (0,), False)
        assert not np.shares_memory(found, x)
        assert found.base is None or found.base.nbytes <= found.nbytes


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("count", [1, 5, 8, 63, 64, 65, 127, 129, 300, 1031])
def test_rows_added_as_a_whole_add_the_pairs_that_numpy_adds(count, dtype):
    x = some((3, count, 50), dtype)
    along = np.add.reduce(np.ascontiguousarray(x.transpose(0, 2, 1)), axis=-1)
    assert sums._across(x, 1).tobytes() == along.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_long_lines_are_cut_where_numpy_cuts_them(dtype, monkeypatch):
    x = some((41, 1009), dtype).T
    whole = np.add.reduce(np.ascontiguousarray(x).reshape(-1))
    for copied in (200, 3000):
        monkeypatch.setattr(sums, "_COPIED", copied)
        assert np.asarray(sums.joined(np.add, x, (0, 1))).tobytes() == whole.tobytes()


def summed_region(dtype, axes, keepdims):
    """Return the region of a sum of integers: a conversion and the reduction."""
    shape, wide = (30, 40), np.dtype("uint64" if dtype == "uint16" else "int64")
    return Region(
        ((shape, np.dtype(dtype)),),
        (
            RegionOp(CAST, (wide,), (0,), shape, wide),
            RegionOp(SUM, (axes, keepdims), (1,), reduced(shape, axes, keepdims=keepdims), wide),
        ),
        (2,),
    )


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32"])
@pytest.mark.parametrize("axes", [(0, 1), (0,), (1,)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_integers_are_converted_by_the_sum_itself(dtype, axes, keepdims, monkeypatch):
    region = summed_region(dtype, axes, keepdims)
    monkeypatch.setattr(sequence, "elementwise_program", None)  # nothing is converted besides
    run = sequence.sequence_program(region)
    x = np.random.default_rng(0).integers(0, 100, (30, 40)).astype(dtype)
    (found,) = run([x], [None])
    wanted = np.sum(x, axis=axes, keepdims=keepdims)
    np.testing.assert_array_equal(found, wanted, strict=True)


def among_others(*, shared):
    """A conversion of bytes, their magnitudes, and the sum of what is converted; if `shared`, of its double, too."""
    shape, narrow, wide = (30, 400), np.dtype("int8"), np.dtype("int64")
    ops = [
        RegionOp(CAST, (wide,), (0,), shape, wide),
        RegionOp(ABS, (), (0,), shape, narrow),
        RegionOp(SUM, ((0, 1), False), (1,), (), wide),
    ]
    if shared:
        ops.append(RegionOp(SUM, ((0,), False), (1,), (400,), wide))
    outputs = tuple(range(2, len(ops) + 1))
    return Region(((shape, narrow),), tuple(ops), outputs)


def test_integers_are_converted_by_the_sum_itself_whatever_is_made_between(monkeypatch):
    region, made = among_others(shared=False), []
    program = sequence.elementwise_program
    monkeypatch.setattr(
        sequence, "elementwise_program", lambda part: made.extend(part.ops) or program(part)
    )
    run = sequence.sequence_program(region)
    x = np.random.default_rng(0).integers(-100, 100, (30, 400)).astype(np.int8)
    magnitudes, total = run([x], [None, None])
    np.testing.assert_array_equal(magnitudes, np.abs(x), strict=True)
    assert total == x.sum()
    assert [op.op for op in made] == [ABS]


def test_what_stays_of_a_run_of_maps_counts_once():
    """It counted as a value that stays, and again as one that lies between the ops of its run."""
    converted = 30 * 400 * 8
    assert scratch_bytes(among_others(shared=True)) == converted
    assert scratch_bytes(among_others(shared=False)) == np.getbufsize() * 8  # NumPy's own


def test_converted_integers_that_others_read_are_converted_once():
    x = tfr.asarray(
        np.random.default_rng(0).integers(0, 100, (30, 40)).astype(np.int32), device="cpu"
    )
    wide = tfr.astype(x, tfr.int64)
    total, largest = tfr.sum(wide), tfr.max(wide)
    tfr.compute(total, largest)
    assert (total.item(), largest.item()) == (x.numpy().sum(), x.numpy().max())
