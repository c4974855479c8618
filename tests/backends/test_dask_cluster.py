"""Dask's device on a cluster of two processes: blocks stay there, workers die, and tasks are given up."""

import os
import signal
import threading

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.dask import DaskBackend
from tensorframe.errors import CancelledError, DeviceError, KernelError, OutOfMemoryError
from tensorframe.testing.conformance import checks

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

# A cluster takes seconds to begin and to end, and its threads write to a log when the interpreter ends before them.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def cluster():
    settings = {
        "distributed.scheduler.allowed-failures": 1,
        "distributed.worker.memory.terminate": False,
    }
    import dask

    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture
def client(cluster):
    tfr.backends.configure("dask", client=cluster, chunk="64 KiB")
    yield cluster
    tfr.backends.configure("dask", client=None, chunk=None)


def device_array(shape=(256, 256), seed=0):
    values = np.random.default_rng(seed).standard_normal(shape).astype("float32")
    return values, tfr.asarray(values, device="dask")


def w1(x):
    return tfr.exp(-x * x) * tfr.sin(x) + x / (1 + x * x)


def test_results_stay_on_the_workers(client):
    values, x = device_array()
    y = w1(x).compute()
    futures = distributed.client.futures_of(y.native())
    assert len(futures) == y.native().npartitions == 4
    held = client.who_has(futures)
    assert all(held.values())
    assert np.array_equal(y.numpy(), w1(tfr.asarray(values, device="cpu")).numpy())


def test_the_device_is_the_cluster(client):
    info = next(one for one in tfr.backends.devices() if one.device == "dask")
    assert info.name == "cluster of 2 workers, 2 threads"


def test_expressions_on_the_cluster(client):
    values, x = device_array()
    host = tfr.asarray(values, device="cpu")
    for function in (
        lambda x: tfr.softmax(x, axis=1),
        lambda x: x[1:-1, 1:-1] * 4 - x[:-2, 1:-1] - x[2:, 1:-1],
        lambda x: tfr.argmax(x, axis=0),
        lambda x: tfr.sort(x, axis=0),
    ):
        assert np.array_equal(function(x).numpy(), function(host).numpy())
    np.testing.assert_allclose(
        (x @ x).sum(axis=0).numpy(), (host @ host).sum(axis=0).numpy(), rtol=1e-3, atol=1e-2
    )


# few: each is several rounds of messages between processes
CHECKED = (
    *("bool comes back: every other element", "views: rows that overlap"),
    *("ops: sum of int32", "ops: sort of float32", "ops: matmul of float32"),
    "operands of other devices move to it, and results back",
)


def test_some_of_conformance(client):
    """All of it runs with one scheduler after the other in the nox session `dask`: here blocks travel."""
    backend = DaskBackend()
    backend.configure(client=client, chunk="64 B")
    chosen = [check for check in checks(backend, seeds=0) if check.name.endswith(CHECKED)]
    assert len(chosen) == len(CHECKED)
    for check in chosen:
        check()


def test_masks_select_on_the_workers(client):
    values, x = device_array()
    chosen = x[x > 0.5]
    futures = distributed.client.futures_of(chosen.native())
    assert len(futures) == chosen.native().npartitions == 4
    assert np.array_equal(chosen.numpy(), values[values > 0.5])


def test_mixed_devices_and_large_uploads(client):
    values, x = device_array((1500, 1000))  # more than goes along with tasks
    row = tfr.asarray(values[:1], device="cpu")
    result = (x + row).to_backend("cpu")
    assert result.device == "cpu"
    assert np.array_equal(result.numpy(), values + values[:1])


def test_xarray_in_and_out(client):
    xarray = pytest.importorskip("xarray")
    values, x = device_array()
    table = xarray.DataArray((x + 1).native(), dims=("time", "place"))
    means = table.mean("time")
    assert isinstance(means.data, da.Array)
    back = tfr.from_native(means.data)
    assert back.device == "dask"
    np.testing.assert_allclose((back - 1).numpy(), values.mean(axis=0), atol=1e-5)


def test_workers_read_files(client, tmp_path):
    """Readers travel; what workers raise of files does, too."""
    values = np.random.default_rng(0).standard_normal((256, 256)).astype("float32")
    np.save(tmp_path / "x.npy", values)
    x = tfr.load(tmp_path / "x.npy", device="dask")
    assert np.array_equal((x * 2)[100:].numpy(), values[100:] * 2)
    pytest.importorskip("zarr")
    tfr.save(tmp_path / "x.zarr", tfr.asarray(values, device="cpu"))
    stored = tfr.load(tmp_path / "x.zarr", device="dask")
    assert np.array_equal(
        tfr.exp(stored).numpy(), tfr.exp(tfr.asarray(values, device="cpu")).numpy()
    )
    (tmp_path / "x.npy").unlink()
    with pytest.raises(tfr.errors.TensorFrameError, match=r"x\.npy"):
        (x + 1).compute()


def test_one_worker_is_killed_and_the_bits_are_the_same(client, tmp_path):
    """The first task that runs ends its worker; the other one, and the nanny's new one, do the rest."""
    marker = tmp_path / "killed"
    values, _ = device_array()

    def once(block):
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return block
        return os.kill(os.getpid(), signal.SIGKILL)

    source = da.from_array(values, chunks=(64, 256)).map_blocks(
        once, meta=np.empty((0, 0), "float32")
    )
    x = tfr.from_native(source)
    result = w1(x).numpy()
    assert marker.exists()
    assert np.array_equal(result, w1(tfr.asarray(values, device="cpu")).numpy())


def test_a_task_that_ends_its_workers_is_an_error(client):
    def deadly(block):
        os.kill(os.getpid(), signal.SIGKILL)

    x = tfr.from_native(da.ones(4, chunks=4).map_blocks(deadly, meta=np.empty(0)))
    y = x * 2
    with pytest.raises(DeviceError, match="ended 2 workers, one after the other") as caught:
        y.compute()
    assert "y = x * 2" in caught.value.location
    assert y.node.storage is None
    client.wait_for_workers(2, timeout=30)


def test_a_task_that_fails_says_where(client):
    def broken(block):
        raise ValueError("no such band")

    x = tfr.from_native(da.ones(4, chunks=2).map_blocks(broken, meta=np.empty(0)))
    y = tfr.sin(x)
    with pytest.raises(KernelError, match="no such band") as caught:
        y.compute()
    assert "y = tfr.sin(x)" in caught.value.location


def test_a_worker_without_memory(client):
    def greedy(block):
        raise MemoryError

    x = tfr.from_native(da.ones(4, chunks=2).map_blocks(greedy, meta=np.empty(0)))
    y = x + 1
    with pytest.raises(OutOfMemoryError, match="a worker has no memory left") as caught:
        y.compute()
    assert "y = x + 1" in caught.value.location


def test_an_interrupt_cancels_the_tasks(client):
    begun, go_on = distributed.Event("begun"), distributed.Event("go on")

    def waits(block):
        distributed.Event("begun").set()
        distributed.Event("go on").wait(timeout=60)
        return block

    x = tfr.from_native(da.ones(8, chunks=1).map_blocks(waits, meta=np.empty(0)))
    y = x + 1

    def interrupt():
        assert begun.wait(timeout=60)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    helper = threading.Thread(target=interrupt)
    helper.start()
    with pytest.raises(CancelledError, match="interrupted"):
        y.compute()
    helper.join()
    go_on.set()
    assert y.node.storage is None
    begun.clear()
    assert np.array_equal((tfr.from_native(da.ones(8, chunks=1)) + 1).numpy(), np.full(8, 2.0))


def test_a_cluster_that_is_gone():
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
        local = distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            dashboard_address=":0",
            silence_logs=50,
        )
        client = distributed.Client(local)
        tfr.backends.configure("dask", client=client)
        try:
            x = tfr.asarray(np.ones(4), device="dask") + 1
            client.close()
            with pytest.raises(DeviceError, match=r"out of reach|given up"):
                x.compute()
            with pytest.raises(tfr.errors.ArgumentError, match="closed"):
                tfr.backends.configure("dask", client=client)
        finally:
            tfr.backends.configure("dask", client=None)
            local.close()
