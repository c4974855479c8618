"""Dask: tensors in blocks by tasks of Dask's schedulers, here by the one that runs them one after the other."""

import re
from collections import Counter

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, KernelError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from dask.callbacks import Callback  # noqa: E402

from tensorframe.backends.dask.tasks import BlockCall  # noqa: E402
from tests.backends.dask_conformance import failures  # noqa: E402


@pytest.fixture(autouse=True)
def one_after_the_other():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def in_small_blocks():
    """Blocks of a few elements, so that small arrays have several."""
    tfr.backends.configure("dask", chunk="256 B")
    yield
    tfr.backends.configure("dask", chunk=None)


def device_array(shape=(40, 30), dtype="float32", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    return values, tfr.asarray(values, device="dask")


def test_it_conforms():
    """Small blocks are in test_dask_blocks.py, all that there is in the nox session `dask`."""
    wanted = ("float32 comes back", "interface", "threads", "sort of", "solve", "qr", "svd")
    passed, failed = failures("128 MiB", lambda name: any(word in name for word in wanted), 3)
    assert not failed
    assert passed > 30


def test_it_is_here_and_never_chosen_by_itself():
    assert "dask" in tfr.backends.available()
    assert tfr.backends.select("auto") != "dask"
    with tfr.use_backend("dask"):
        assert tfr.zeros(3).device == "dask"


class TestArrays:
    def test_native_is_an_array_of_dask(self, in_small_blocks):
        values, x = device_array()
        native = (x * 2).native()
        assert isinstance(native, da.Array)
        assert x.native().numblocks[0] > 1
        assert np.array_equal(native.compute(), values * 2)

    def test_an_array_of_dask_is_adopted_with_its_blocks(self):
        source = da.arange(100, chunks=7) * 2
        x = tfr.from_native(source)
        assert (x.device, x.shape, x.dtype) == ("dask", (100,), np.dtype("int64"))
        assert x.native() is source
        assert np.array_equal((x + 1).numpy(), np.arange(100) * 2 + 1)

    @pytest.mark.parametrize(
        ("make", "error", "says"),
        [
            (
                lambda: da.arange(9, chunks=3)[da.arange(9, chunks=3) > 4],
                ArgumentError,
                "unknown sizes",
            ),
            (lambda: da.from_array(np.array(["a", "b"])), DTypeError, "no dtype"),
        ],
    )
    def test_what_cannot_be_adopted_says_why(self, make, error, says):
        with pytest.raises(error, match=says):
            tfr.from_native(make())

    def test_blocks_are_as_large_as_configured(self):
        tfr.backends.configure("dask", chunk=4000)
        try:
            _, x = device_array((100, 50))
            assert max(x.native().chunks[0]) * 50 * 4 == 4000
        finally:
            tfr.backends.configure("dask", chunk=None)

    def test_results_are_computed_once(self):
        calls = []

        def noted(block):
            calls.append(block.shape)
            return block

        x = tfr.from_native(da.ones((4, 4), chunks=4).map_blocks(noted, meta=np.empty((0, 0))))
        total, largest = (x + 1).sum(), (x + 1).max()
        tfr.compute(total, largest)
        assert calls == [(4, 4)]
        assert (total.numpy(), largest.numpy()) == (32, 2)
        assert calls == [(4, 4)]


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "says"),
        [
            ({"chunk": "many"}, "no amount of memory"),
            ({"chunk": -1}, "no amount of memory"),
            ({"chunk": 3}, "hold no elements"),
            ({"client": "tcp://here"}, "takes a distributed.Client, got str"),
            ({"chunks": 1}, "no setting 'chunks'"),
        ],
    )
    def test_wrong_ones_change_nothing(self, settings, says):
        with pytest.raises(ArgumentError, match=says):
            tfr.backends.configure("dask", **settings)
        assert tfr.asarray(np.zeros(1000), device="dask").native().npartitions == 1

    def test_settings_of_dask_are_no_others(self):
        with pytest.raises(ArgumentError, match="there is no setting 'chunk'"):
            tfr.backends.configure("numpy", chunk=1)

    def test_a_backend_that_is_not_known_is_an_error(self):
        with pytest.raises(tfr.errors.TensorFrameError, match="dusk"):
            tfr.backends.configure("dusk", chunk=1)


class TestNames:
    def test_tasks_are_named_after_ops_and_line(self):
        _, x = device_array()
        name = tfr.exp(-x).compute().native().name
        assert re.match(r"negative\+exp@test_dask\.py:\d+-", name)

    def test_a_task_that_fails_names_its_line(self):
        def broken(block):
            raise RuntimeError("the disk is gone")

        x = tfr.from_native(da.ones(4, chunks=2).map_blocks(broken, meta=np.empty(0)))
        y = x + 1
        with pytest.raises(KernelError, match="the disk is gone") as caught:
            y.compute()
        assert "y = x + 1" in caught.value.location
        assert y.node.storage is None


def test_mixed_devices(in_small_blocks):
    values, x = device_array()
    y = tfr.asarray(values[:1], device="cpu")
    result = x + y
    assert result.device == "dask"
    assert np.array_equal(result.numpy(), values + values[:1])
    back = result.to_backend("cpu")
    assert back.device == "cpu"
    assert np.array_equal(back.numpy(), values + values[:1])


def test_jit_runs_on_blocks(in_small_blocks):
    step = tfr.jit(lambda x: tfr.exp(x) - 1)
    for seed in range(2):
        values, x = device_array(seed=seed)
        assert isinstance(step(x).native(), da.Array)
        np.testing.assert_allclose(step(x).numpy(), np.exp(values) - 1, rtol=1e-5, atol=1e-6)


class Counting(Callback):
    """Counts the tasks that a scheduler runs by the op that their names begin with."""

    def __init__(self):
        super().__init__(pretask=self._count)
        self.tasks = Counter()

    def _count(self, key, *_):
        self.tasks[re.split("[+@-]", key[0] if isinstance(key, tuple) else key)[0]] += 1


class TestMoves:
    """What moves to another device and stays, or moves twice, is computed once."""

    VALUES = np.random.default_rng(0).standard_normal((40, 30)).astype("float32")

    def source(self):
        return tfr.from_native(da.from_array(self.VALUES, chunks=(10, 30)).persist())

    def test_what_moves_and_is_referenced_runs_once(self):
        with Counting() as counting:
            kept = tfr.sort(self.source(), axis=1)
            moved = (kept.to_backend("cpu") * 2).compute()
        assert kept.is_computed
        assert counting.tasks == {"sort": 4}
        assert np.array_equal(moved.numpy(), np.sort(self.VALUES, axis=1) * 2)

    def test_results_beside_what_moves_share_its_tasks(self):
        with Counting() as counting:
            ordered = tfr.sort(self.source(), axis=1)
            ends = tfr.cumulative_sum(ordered, axis=1)
            tfr.compute(ordered.to_backend("cpu") * 2, ends)
        assert counting.tasks["sort"] == 4

    def test_what_two_moves_need_runs_once(self):
        with Counting() as counting:
            ordered = tfr.sort(self.source(), axis=1)
            ends = tfr.cumulative_sum(ordered, axis=1)
            total = ordered.to_backend("cpu") + ends.to_backend("cpu")
            del ordered, ends
            total.compute()
        assert counting.tasks["sort"] == 4

    def test_a_task_that_fails_for_a_move_names_its_own_line(self, monkeypatch):
        def failing(*_):
            raise RuntimeError("broken")

        monkeypatch.setattr(BlockCall, "__call__", failing)
        ordered = tfr.sort(self.source(), axis=1)  # this line
        moved = ordered.to_backend("cpu") * 2
        with pytest.raises(KernelError) as caught:
            moved.compute()
        assert "# this line" in str(caught.value)


class TestFiles:
    def test_tasks_read_files_and_read_what_is_needed(self, in_small_blocks, tmp_path, monkeypatch):
        values = np.arange(1200.0).reshape(40, 30)
        np.save(tmp_path / "x.npy", values)
        x = tfr.load(tmp_path / "x.npy", device="dask")
        assert x.device == "dask"
        result = (x * 2).compute()
        assert result.native().numblocks[0] > 1
        assert np.array_equal(result.numpy(), values * 2)
        assert x.native().name.startswith("read")  # it stays in the file
        assert np.array_equal(x[3:5].numpy(), values[3:5])

    def test_blocks_hold_whole_chunks_of_objects(self, in_small_blocks):
        class Stored:
            shape, dtype, chunks = (20, 9), np.dtype("float32"), (3, 4)

            def __getitem__(self, key):
                seen.append(key)
                return np.zeros(self.shape, self.dtype)[key]

        seen = []
        x = tfr.from_reader(Stored(), device="dask")
        assert (x + 1).sum().numpy() == 180
        assert all(key[0].start % 3 == 0 and key[1].start % 4 == 0 for key in seen)
        assert len(seen) > 1

    def test_a_file_that_is_gone_says_so(self, tmp_path):
        np.save(tmp_path / "x.npy", np.ones(10))
        x = tfr.load(tmp_path / "x.npy", device="dask")
        (tmp_path / "x.npy").unlink()
        with pytest.raises(tfr.errors.TensorFrameError, match=r"x\.npy"):
            (x + 1).compute()


@pytest.mark.parametrize("size", [0, 5])
def test_consumers_that_cannot_be_told_of_read_only_memory_get_a_copy(size):
    x = tfr.asarray(np.arange(size), device="dask").compute()
    assert x.__dlpack__() is not None
    shared = np.from_dlpack(x)
    np.testing.assert_array_equal(shared, np.arange(size))


class TestBottlenecks:
    """What has no tasks for blocks is one task on a worker, which takes all of it; plans say so before it runs."""

    def test_answers_depend_on_shapes_and_dtypes(self, in_small_blocks):
        def answer(op, shape, dtype="float32"):
            told = tfr.backends.supports(op, "dask", dtype, shape=shape)
            assert told  # on the device in any case
            return told.reason

        assert answer("eigh", (4, 4)) == ""  # one block
        assert "eigh" in answer("eigh", (64, 64))
        assert answer("eigh", (8, 8), "float32") == ""
        assert "512 bytes" in answer("eigh", (8, 8), "float64")
        assert answer("exp", (64, 64)) == answer("mean", (64, 64)) == answer("sort", (64, 64)) == ""
        assert answer("qr", (400, 2)) == ""
        assert "several tensors" in answer("qr", (20, 20))
        assert answer(lambda x: tfr.sort(x, axis=0), (64, 64)) == ""
        assert "needs all" in answer(lambda x: tfr.sort(x.reshape(-1)), (64, 64))

    def test_plans_say_so(self, in_small_blocks):
        _, x = device_array((30, 30))
        y = tfr.linalg.inv(x)
        assert "one task on one worker takes 3.52 KiB" in str(tfr.explain(y))
        assert "one task" not in str(tfr.explain(tfr.exp(x).sum(axis=0)))

    def test_they_run_as_one_task_and_are_told(self, in_small_blocks, caplog):
        values, x = device_array((30, 30), "float64")
        with caplog.at_level("DEBUG", "tensorframe"):
            result = tfr.linalg.inv(x).compute()
        assert result.native().npartitions == 1
        assert any("inv" in message and "one worker" in message for message in caplog.messages)
        np.testing.assert_allclose(result.numpy(), np.linalg.inv(values), rtol=1e-8)

    @pytest.mark.parametrize(
        "function",
        [
            tfr.exp,
            tfr.sort,
            tfr.fft.fft,
            tfr.linalg.inv,
            tfr.linalg.cholesky,
            lambda x: tfr.sort(x, axis=0),
            tfr.fft.fft2,
            lambda x: tfr.cumulative_sum(x, axis=0),
            lambda x: tfr.linalg.solve(x, x),
            lambda x: tfr.sort(tfr.reshape(x, (-1,))),
            lambda x: x @ x.T + 1,
            lambda x: tfr.topk(x, 20)[0],
        ],
        ids=[
            "exp",
            "sort",
            "fft",
            "inv",
            "cholesky",
            "sort_axis_0",
            "fft2",
            "cumulative_sum",
            "solve",
            "sort_all",
            "matmul",
            "topk",
        ],
    )
    def test_a_reason_is_given_where_there_is_one_task_and_no_other(
        self, in_small_blocks, function
    ):
        reason = tfr.backends.supports(function, "dask", "float32", shape=(30, 30)).reason
        values, _ = device_array((30, 30))
        x = tfr.asarray(values @ values.T + np.eye(30, dtype="float32"), device="dask")
        assert (function(x).compute().native().npartitions == 1) == bool(reason)

    @pytest.mark.parametrize("shape", [(), (0, 4), (3,), (40, 3), (2, 30, 30)])
    @pytest.mark.parametrize("op", ["exp", "sum", "sort", "fftn", "svd", "eigh", "solve", "topk"])
    def test_there_is_an_answer_for_any_shape(self, in_small_blocks, op, shape):
        told = tfr.backends.supports(op, "dask", "float64", shape=shape)
        assert bool(told) or told.reason
