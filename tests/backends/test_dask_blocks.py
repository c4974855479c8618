"""Blocks on Dask's device: how many tasks expressions take, that blocks join to the whole, and whose bits they have."""

import pickle
import sys
from collections import Counter
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import backend_of

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from dask.callbacks import Callback  # noqa: E402

from tests.backends.dask_conformance import SMALL, failures  # noqa: E402


@pytest.fixture(autouse=True)
def one_after_the_other():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def blocks_of():
    """Sets how many bytes a block has, for one test."""
    yield lambda size: tfr.backends.configure("dask", chunk=size)
    tfr.backends.configure("dask", chunk=None)


class Tasks(Callback):
    """The keys of tasks that run in a block."""

    def __init__(self):
        super().__init__(posttask=lambda key, *_: self.keys.append(key))
        self.keys = []

    def made_here(self):
        """Those of tasks that the tests' lines recorded, not what gives blocks that are there."""
        return [key for key in self.keys if "@test_dask" in str(key) or "result" in str(key)]


def tasks_of(function, *operands):
    results = function(*operands)
    with Tasks() as tasks:
        tfr.compute(*(results if type(results) is tuple else [results]))
    return tasks.made_here()


def array(shape, chunks, dtype="float32", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    return values, tfr.from_native(da.from_array(values, chunks=chunks).persist())


def w1(x):
    return tfr.exp(-x * x) * tfr.sin(x) + x / (1 + x * x)


def layer_norm(x):
    return (x - x.mean(axis=1, keepdims=True)) / tfr.sqrt(x.var(axis=1, keepdims=True) + 1e-5)


def stencil(x):
    return 4 * x[1:-1, 1:-1] - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:]


SQUARES, ROWS = (16, 16), (1, 256)
EXPRESSIONS = {  # of 256 blocks: the blocks they come in, how many tasks there may be for each
    "a chain of maps": (w1, SQUARES, 1.0),
    "a chain of maps, and its sum": (lambda x: w1(x).sum(), SQUARES, 1.15),
    "softmax of rows": (lambda x: tfr.softmax(x, axis=1), ROWS, 1.0),
    "layer norm of rows": (layer_norm, ROWS, 1.0),
    "a stencil of slices": (stencil, SQUARES, 1.1),
    "a product": (lambda x: x @ x, SQUARES, 1.0),
    "a product and a diagonal": (
        lambda x: x @ x + tfr.eye(256, dtype="float32", device=x.device),
        SQUARES,
        1.0,
    ),
    "a part of a product, turned": (lambda x: (x @ x).T[1:] * 2 - x[:-1], SQUARES, 2.0),
    "a transpose in a chain": (lambda x: x.T * 2 + 1, SQUARES, 1.0),
    "padding": (lambda x: tfr.pad(x, ((8, 8), (0, 0))) + 1, SQUARES, 1.0),
    "a sort of rows": (lambda x: tfr.sort(x, axis=1), ROWS, 1.0),
    "positions of extremes": (lambda x: tfr.argmax(x, axis=0), SQUARES, 1.15),
    "differences from a mean": (lambda x: x - x.mean(axis=0), SQUARES, 2.15),
    "a mean": (lambda x: x.mean(axis=0), SQUARES, 1.0625),
    "a mean of all": (lambda x: x.mean(), SQUARES, 1.07),
    "a variance": (lambda x: x.var(axis=0), SQUARES, 1.0625),
    "a deviation of all of a chain": (lambda x: w1(x).std(), SQUARES, 1.07),
    "a variance across rows": (lambda x: x.var(axis=0), ROWS, 1.07),
    "several statistics": (
        lambda x: (x.mean(axis=0), x.std(axis=0), x.var(axis=0), x.min(axis=0)),
        SQUARES,
        1.32,
    ),
    "standardised columns": (
        lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
        SQUARES,
        2.13,
    ),
    "a scan": (lambda x: tfr.cumulative_sum(x, axis=0), SQUARES, 2.1),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_tasks_of(name):
    function, chunks, most = EXPRESSIONS[name]
    values, x = array((256, 256), chunks)
    keys = tasks_of(function, x)
    assert len(keys) <= most * 256
    results, expected = function(x), function(tfr.asarray(values, device="cpu"))
    pairs = zip(results, expected, strict=True) if type(results) is tuple else [(results, expected)]
    for result, other in pairs:
        np.testing.assert_allclose(result.numpy(), other.numpy(), rtol=2e-5, atol=2e-4)


@pytest.mark.parametrize(
    "functions",
    [
        (lambda x: x * 2, lambda x: x.T * 3),
        (lambda x: x.T + 1, lambda x: x * 3, lambda x: x[::-1] - x.T, lambda x: x + 2),
        (lambda x: x[8:] * 2, lambda x: x[:-8] * 3),
        (tfr.exp, lambda x: tfr.roll(x, 5, axis=0) - x),
        (lambda x: x.sum(axis=0), lambda x: x.T.max(axis=1), lambda x: x.T.sum(axis=0) + x[0]),
    ],
)
@pytest.mark.parametrize("chunks", [(16, 16), (5, 64), (64, 7)], ids=str)
def test_results_that_need_other_blocks_of_an_operand(functions, chunks):
    values, x = array((64, 64), chunks, "float64")
    results = [function(x) for function in functions]
    tfr.compute(*results)
    for function, result in zip(functions, results, strict=True):
        expected = function(tfr.asarray(values, device="cpu")).numpy()
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)


def test_results_of_two_operands_share_tasks():
    _, x = array((64, 64), (16, 16))
    _, y = array((64, 64), (16, 16), seed=1)
    assert len(tasks_of(lambda x, y: (tfr.exp(x) * y, tfr.sin(y) * x), x, y)) <= 3 * 16


def test_all_of_a_plan_runs_once():
    _, x = array((64, 64), SQUARES)
    y = w1(x)
    assert len(tasks_of(lambda y: (y.sum(), y.max(), y), y)) <= 16 * 4
    assert len(tasks_of(lambda y: y, y)) == 0


def test_small_blocks_conform():
    """All dtypes, and more random programs, are in the nox session `dask`."""
    wanted = ("float32", "views", "program")
    # a third of the rows, by their names
    passed, failed = failures(
        SMALL,
        lambda name: any(word in name for word in wanted) and crc32(name.encode()) % 3 == 0,
        5,
    )
    assert not failed
    assert passed > 50


class TestVariances:
    """Tasks leave moments in float64, which are joined: NumPy's variance in float64 is the measure."""

    @pytest.mark.sweep(6)
    @pytest.mark.parametrize("chunks", [(7, 60), (13, 11), (40, 7)], ids=str)
    @pytest.mark.parametrize("axis", [None, 0, 1], ids=str)
    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "complex64"])
    def test_of_any_axes_and_dtypes(self, chunks, axis, dtype):
        rng = np.random.default_rng(0)
        values = (rng.standard_normal((40, 60)) * 30 + 5).astype(dtype)
        if dtype == "complex64":
            values = values + 1j * rng.standard_normal(values.shape).astype("float32")
        x = tfr.from_native(da.from_array(values, chunks=chunks))
        exact = values.astype("complex128" if values.dtype.kind == "c" else "float64")
        tolerance = 2e-3 if dtype == "float16" else 1e-6
        for correction in (0, 1):
            result = tfr.var(x, axis=axis, correction=correction)
            assert result.dtype == ("float32" if dtype == "complex64" else tfr.mean(x).dtype)
            expected = exact.var(axis=axis, ddof=correction)
            np.testing.assert_allclose(result.numpy(), expected, rtol=tolerance)

    def test_a_mean_that_is_large_beside_the_deviations(self):
        values = (np.random.default_rng(0).standard_normal((64, 64)) + 1e5).astype("float32")
        x = tfr.from_native(da.from_array(values, chunks=16))
        expected = values.astype("float64").var(axis=0)
        np.testing.assert_allclose(x.var(axis=0).numpy(), expected, rtol=1e-6)

    def test_what_is_no_variance_is_none(self):
        """Distances from another mean, or a sum over another number, do not take the moments of elements."""
        values, x = array((32, 32), (8, 8), "float64")
        n = 32
        for function in (
            lambda x: ((x - x.sum(axis=0) / (n + 1)) ** 2).sum(axis=0),
            lambda x: ((x - x.sum(axis=1) / n) ** 2).sum(axis=0),
            lambda x: ((x - x.sum(axis=1, keepdims=True) / n) ** 2).sum(axis=0),
            lambda x: ((x - x.max(axis=0)) ** 2).sum(axis=0),
            lambda x: ((x - x.sum(axis=0) / n) * (x + 1)).sum(axis=0),
            lambda x: ((x.T - x.sum(axis=0) / n) ** 2).sum(axis=0),
        ):
            np.testing.assert_allclose(function(x).numpy(), function(values), rtol=1e-9)

    def test_elements_that_are_not_finite(self):
        values, _ = array((32, 32), (8, 8))
        values[3, 5], values[9, 7] = np.nan, np.inf
        x = tfr.from_native(da.from_array(values, chunks=8))
        result = x.std(axis=0).numpy()
        assert np.array_equal(np.flatnonzero(np.isnan(result)), [5, 7])

    def test_sums_have_the_bits_that_they_have_alone(self):
        _, x = array((96, 40), (16, 16))
        together = tfr.compute(x.sum(axis=0), x.var(axis=0))
        assert np.array_equal(together[0].numpy(), (x + 0).sum(axis=0).numpy())


EXACT = {
    "a chain": w1,
    "a stencil": stencil,
    "windows that begin at the end": lambda x: x[::-1, ::3] * x[:, :20],
    "a row and a column of it": lambda x: x[:1] + x * x[:, :1],
    "padded and joined": lambda x: tfr.concat(
        [tfr.pad(x, ((1, 2), (0, 3))), tfr.pad(x[:5] * 2, ((0, 0), (3, 0)))]
    ),
    "rolled": lambda x: tfr.roll(x, (7, -3), axis=(0, 1)) - x,
    "lines of a reshape": lambda x: x.reshape(20, 2, 60).reshape(-1) * 2,
    "extremes across blocks": lambda x: tfr.stack([x.max(axis=0), x.min(axis=0)]),
    "positions of extremes": tfr.argmin,
    "positions with NaN": lambda x: tfr.argmax(tfr.where(x > 1.5, float("nan"), x), axis=0),
    "whether any": lambda x: (x > 2).any(axis=1),
    "a sum of integers": lambda x: (x * 100).astype("int32").sum(),
    "a scan of integers": lambda x: tfr.cumulative_sum((x * 100).astype("int64"), axis=0),
    "sorted along blocks": lambda x: tfr.sort(x, axis=0),
    "transformed along blocks": lambda x: tfr.fft.fft(x, axis=0).real,
    "scanned, and a part of it": lambda x: tfr.cumulative_sum((x * 100).astype("int32"), axis=1)[
        :, 3:
    ],
    "the middle of columns": lambda x: tfr.median(x, axis=0),
    "a range": lambda x: x + tfr.arange(60, dtype="float32", device=x.device),
    "rows by number": lambda x: tfr.take(x, tfr.asarray([5, 3, 39, 5], device=x.device), axis=0),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("chunks", [(7, 60), (13, 11)], ids=str)
def test_blocks_have_the_bits_of_the_cpu(name, chunks):
    values, x = array((40, 60), chunks)
    expected = EXACT[name](tfr.asarray(values, device="cpu")).numpy()
    result = EXACT[name](x).numpy()
    assert result.dtype == expected.dtype
    assert np.array_equal(result, expected, equal_nan=result.dtype.kind == "f")


@pytest.mark.parametrize("size", ["16 B", "1 KiB", "1 GiB"])
def test_random_numbers_do_not_depend_on_blocks(blocks_of, size):
    blocks_of(size)

    def drawn(device):
        tfr.random.seed(7)
        return tfr.random.normal((33, 5), device=device, dtype="float32").numpy()

    assert np.array_equal(drawn("dask"), drawn("cpu"))


def test_sums_have_one_value_whoever_adds():
    _, x = array((256, 256), SQUARES)
    expected = tfr.stack([w1(x).sum(), x.std(), x.mean(axis=0)[0]]).numpy()
    for workers in (1, 3):
        with dask.config.set(scheduler="threads", num_workers=workers):
            again = tfr.stack([w1(x).sum(), x.std(), x.mean(axis=0)[0]]).numpy()
        assert np.array_equal(again, expected)


def test_blocks_are_added_by_the_kernels_of_the_whole(monkeypatch):
    """Elements that are converted one by one take twice as long; totals leave unrounded all the same."""
    from tensorframe.backends.dask import partials

    regions = []

    def run(made, region):
        regions.append(region)
        return run_alike(made, region)

    run_alike = partials.run_alike
    monkeypatch.setattr(partials, "run_alike", run)
    partials._alike.cache_clear()
    values, x = array((256, 256), SQUARES)
    assert np.isclose(x.sum().item(), values.astype(np.float64).sum(), rtol=2**-22)
    assert len(regions) == 1  # for 256 blocks of one size
    assert {entry.op.name for region in regions for entry in region.ops} == {"sum"}
    assert {entry.dtype for region in regions for entry in region.ops} == {np.dtype(np.float64)}


PLANNED = {  # calls of functions of ours for each block; comprehensions are calls before Python 3.12
    "a chain": (w1, 2.5),
    "a chain, and its sum": (lambda x: w1(x).sum(), 3.5),
    "a variance": (lambda x: x.var(axis=0), 3.5),
    "a transpose": (lambda x: x.T * 2 + 1, 7.5),
    "a stencil": (stencil, 5.5),
}


@pytest.mark.parametrize("name", PLANNED)
def test_hundred_thousand_blocks_are_planned_in_few_calls(monkeypatch, name):
    """Some 3 us each, and 5 for the stencil, where this was written; calls do not depend on what else runs."""
    function, most = PLANNED[name]
    x = tfr.from_native(da.zeros((3160, 3160), chunks=(10, 10), dtype="float32"))

    class EnoughError(Exception):
        pass

    def settle(device, handles):
        raise EnoughError

    monkeypatch.setattr(tfr.backends.registry.backend_of(x.device), "settle", settle)
    calls = Counter()
    package = str(Path(tfr.__file__).parent)

    def count(frame, event, _):
        calls[event == "call" and frame.f_code.co_filename.startswith(package)] += 1

    y = function(x)
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        with pytest.raises(tfr.errors.KernelError):
            y.compute()
    finally:
        sys.setprofile(before)
    assert 0.9 * 99856 < calls[True] < most * 99856


def test_columns_of_blocks_of_rows_are_sorted_in_other_blocks(blocks_of):
    """Each task would take all of the array otherwise."""
    blocks_of("4 KiB")
    values, x = array((4096, 16), (64, 16))
    blocks = tfr.sort(x, axis=0).compute().native()
    assert blocks.numblocks == (1, 16)
    with Tasks() as tasks:
        result = tfr.sort(x, axis=0).numpy()
    assert np.array_equal(result, np.sort(values, axis=0))
    assert any("rechunk" in str(key) for key in tasks.keys)


def test_products_take_their_inner_axis_in_parts_where_it_does_not_fit(blocks_of):
    blocks_of("1 KiB")
    values, x = array((32, 640), (16, 16))
    with Tasks() as tasks:
        result = (x @ x.T + 1).numpy()
    np.testing.assert_allclose(result, values @ values.T + 1, rtol=1e-4, atol=1e-3)
    assert 4 * 5 <= len(tasks.made_here()) <= 4 * 40 + 160
    exact = tfr.from_native(da.ones((32, 640), chunks=(16, 16), dtype="float32").persist())
    assert ((exact @ exact.T).numpy() == 640).all()


def test_what_no_worker_has_room_for_is_refused_before_it_runs(monkeypatch):
    from tensorframe.backends.dask import cluster, room

    monkeypatch.setattr(room, "_ALWAYS", 1 << 10)
    monkeypatch.setattr(cluster, "largest_worker", lambda _: 1 << 12)
    _, x = array((64, 64), (16, 16))
    y = tfr.linalg.inv(x)
    with monkeypatch.context() as patched, Tasks() as tasks:
        patched.setattr(backend_of(y.device).settings, "client", object())
        with pytest.raises(tfr.errors.OutOfMemoryError, match="one task takes 32 KiB") as caught:
            y.compute()
    assert not tasks.keys
    assert "y = tfr.linalg.inv(x)" in caught.value.location
    assert ((x + 1).numpy() != 0).all()  # in blocks


class TestDecompositions:
    @pytest.mark.parametrize("size", [7, 16, 30])
    @pytest.mark.parametrize("upper", [False, True])
    def test_cholesky_of_sizes_that_blocks_do_not_divide(self, blocks_of, size, upper):
        blocks_of("256 B")  # 5 x 5 of float64
        values = np.random.default_rng(0).standard_normal((size, size))
        positive = values @ values.T + np.eye(size)
        x = tfr.asarray(positive, device="dask")
        factor = tfr.linalg.cholesky(x, upper=upper).compute()
        assert factor.native().npartitions > 1
        expected = np.linalg.cholesky(positive)
        np.testing.assert_allclose(factor.numpy(), expected.T if upper else expected, rtol=1e-9)

    def test_tall_matrices_by_blocks_of_rows(self):
        values, x = array((400, 6), (50, 6), "float64")
        q, r = tfr.linalg.qr(x)
        with Tasks() as tasks:
            tfr.compute(q, r)
        assert len(tasks.keys) > 8
        assert q.native().numblocks[0] == 8
        np.testing.assert_allclose((q @ r).numpy(), values, atol=1e-12)
        np.testing.assert_allclose((q.T @ q).numpy(), np.eye(6), atol=1e-12)
        assert tfr.linalg.svd(x + 1j * x)[1].dtype == "float64"  # nothing warns of that
        u, s, v = tfr.linalg.svd(x, full_matrices=False)
        np.testing.assert_allclose(s.numpy(), np.linalg.svd(values)[1], rtol=1e-10)
        np.testing.assert_allclose(((u * s) @ v).numpy(), values, atol=1e-12)

    def test_square_blocks_of_both_axes(self):
        values, x = array((60, 40), (16, 16), "float64")
        _, s, _ = tfr.linalg.svd(x, full_matrices=False)
        np.testing.assert_allclose(s.numpy(), np.linalg.svd(values)[1], rtol=1e-10)
        positive = x.T @ x + 40 * tfr.eye(40, dtype="float64", device="dask")
        factor = tfr.linalg.cholesky(positive)
        np.testing.assert_allclose((factor @ factor.T).numpy(), positive.numpy(), rtol=1e-10)
        right = tfr.linalg.solve(positive, positive[:, :2])
        np.testing.assert_allclose(right.numpy(), np.eye(40)[:, :2], atol=1e-10)


def test_blocks_of_one_size_of_maps_are_prepared_once():
    """To look for what a block of an elementwise region needs took each task longer than to run it."""
    from tensorframe.backends.dask.programs import elementwise

    values, x = array((512, 6), (16, 6))
    row = tfr.from_native(da.from_array(np.arange(6, dtype="float32"), chunks=6).persist())
    before = elementwise.cache_info()
    result = w1(x) * row - 1
    assert np.array_equal(
        result.numpy(), (w1(tfr.asarray(values)) * np.arange(6, dtype="f4") - 1).numpy()
    )
    after = elementwise.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 0)


@pytest.mark.parametrize("reduce", [tfr.sum, tfr.var, tfr.argmax, tfr.prod])
def test_blocks_of_one_size_are_reduced_by_what_was_prepared_once(reduce):
    """To add reductions to what makes a block, and to look for its program, took each task longer than to run it."""
    from tensorframe.backends.dask.partials import _alike

    values, x = array((513, 6), (16, 6))  # and one block of another size
    for made, expected in ((w1(x), w1(tfr.asarray(values))), (x, tfr.asarray(values))):
        before = _alike.cache_info()
        result = reduce(made, axis=0)
        np.testing.assert_allclose(result.numpy(), reduce(expected, axis=0).numpy(), rtol=1e-5)
        after = _alike.cache_info()
        assert (after.misses - before.misses, after.hits - before.hits) == (2, 0)


def test_what_tasks_have_found_out_does_not_travel():
    from tensorframe.backends.dask.tasks import Memo

    assert pickle.loads(pickle.dumps(Memo({(1, 2): lambda: None}))) == Memo()


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_tasks_go_to_a_scheduler_of_this_process_as_they_are(scheduler, monkeypatch):
    """Expressions around them, with their tokens, took as long as a dozen tasks; others are given `persist` makes."""
    from tensorframe.backends.dask import running

    def given(graph, keys, **options):
        calls.append(type(graph))
        return dask.get(graph, keys, **options)

    def persist(*arrays, **options):
        raise AssertionError("persist was asked")

    calls = []
    values, x = array((64, 6), (16, 6))
    expected = values * 2, values.sum(axis=0)
    with dask.config.set(scheduler=given):
        others = tfr.compute(x * 2, x.sum(axis=0))
    monkeypatch.setattr(running, "persist", persist)
    with dask.config.set(scheduler=scheduler):
        ours = tfr.compute(x * 2, x.sum(axis=0))
    assert len(calls) == 1
    for results in (others, ours):
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-5)


def test_all_of_many_blocks_see_one_place_of_the_same_operand():
    values, x = array((160,), (10,))
    for place in (80, 1, 158):
        result = x - x[place : place + 1]
        np.testing.assert_array_equal(result.numpy(), values - values[place : place + 1])


def test_blocks_of_one_row_are_where_they_belong():
    values, x = array((7, 5), (1, 5))
    column = tfr.from_native(da.from_array(values[:, :1].copy(), chunks=(1, 1)).persist())
    assert np.array_equal(((x - column) * 2).numpy(), (values - values[:, :1]) * 2)
