"""Dask's tasks in threads of this process: each runs once, in order, whatever the graph; results are one array."""

import random
import threading

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import CancelledError, KernelError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from dask.task_spec import Alias, DataNode, Task, TaskRef  # noqa: E402

from tensorframe.backends.dask import tasks  # noqa: E402
from tensorframe.backends.dask.arrays import block_keys  # noqa: E402
from tensorframe.backends.dask.local import Graph, Run  # noqa: E402
from tensorframe.backends.dask.together import in_one_array  # noqa: E402


def add(*operands):
    return sum(operands)


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_graphs_give_what_dask_gives(seed, workers):
    draw = random.Random(seed)
    graph = {"value": DataNode("value", 1), "legacy": (add, "value", 2)}
    for number in range(80):
        sources = draw.sample(sorted(graph), min(len(graph), draw.randrange(1, 4)))
        key = f"task{number:02}"
        graph[key] = (
            Alias(key, sources[0])
            if number % 9 == 0
            else Task(key, add, number, *map(TaskRef, sources))
        )
    keys = [draw.sample(sorted(graph), 5), ["value", "legacy"], []]
    expected = [list(found) for found in dask.get(dict(graph), keys)]
    assert Run(Graph(graph, keys), workers).blocks() == expected


def test_what_nobody_needs_is_not_run():
    ran = []
    graph = {name: Task(name, ran.append, name) for name in "abc"}
    Run(Graph(graph, [["b"]]), 2).blocks()
    assert ran == ["b"]


@pytest.mark.parametrize("workers", [1, 3])
def test_a_failure_ends_the_others_and_is_raised(workers):
    ran = []

    def fail():
        raise ValueError("seven")

    graph = {"a": Task("a", fail)}
    for number in range(50):
        graph[f"b{number}"] = Task(f"b{number}", lambda *_: ran.append(1), TaskRef("a"))
    with pytest.raises(ValueError, match="seven"):
        Run(Graph(graph, [list(graph)]), workers).blocks()
    assert not ran


def test_several_threads_run_tasks_at_once():
    together = threading.Barrier(3, timeout=60)
    graph = {name: Task(name, together.wait) for name in "abc"}
    (places,) = Run(Graph(graph, [list("abc")]), 3).blocks()
    assert sorted(places) == [0, 1, 2]


@pytest.fixture
def blocks():
    tfr.backends.configure("dask", chunk="64 KiB")
    yield
    tfr.backends.configure("dask", chunk=None)


CASES = {
    "a map": lambda x: x * 2 + 1,
    "a softmax": lambda x: tfr.softmax(x, axis=1),
    "a stencil": lambda x: x[1:] - x[:-1],
    "a sine, whose kernel may run twice": lambda x: tfr.sin(x * 1e6),
}


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("name", CASES)
def test_blocks_of_rows_are_parts_of_one_array(name, scheduler, blocks):
    values = np.random.default_rng(0).standard_normal((512, 128))
    x = tfr.asarray(values, device="dask").compute()
    expected = CASES[name](tfr.asarray(values, device="cpu")).numpy()
    with dask.config.set(scheduler=scheduler):
        result = CASES[name](x).compute()
        native = result.native()
        found = [native.dask[key] for key in block_keys(native)]
        assert len(found) > 1
        assert in_one_array(found, expected.shape) is not None
        assert np.array_equal(result.numpy(), expected)
        assert np.may_share_memory(result.numpy(), found[0])
        assert not result.numpy().flags.writeable


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_neighbouring_blocks_of_one_array_are_made_by_a_call_for_each_worker(
    workers, blocks, monkeypatch
):
    made = []
    call = tasks.BlockCall.__call__

    def noted(self, block, *arguments):
        made.append(block[0])
        return call(self, block, *arguments)

    monkeypatch.setattr(tasks.BlockCall, "__call__", noted)
    values = np.random.default_rng(0).standard_normal((512, 128))
    x, row = tfr.asarray(values, device="dask"), tfr.asarray(values[0], device="dask")
    tfr.compute(x, row)
    with dask.config.set(scheduler="threads", num_workers=workers):
        for program in (lambda x, row: tfr.softmax(x * row, axis=1), lambda x, row: x[1:] - row):
            expected = program(*map(tfr.asarray, (values, values[0]))).numpy()
            made.clear()
            found = program(x, row).compute()
            assert len(made) == workers
            assert min(made)[0] == 0
            assert max(made)[1] == len(expected)
            assert found.native().numblocks[0] > workers
            assert np.array_equal(found.numpy(), expected)
        made.clear()
        (x @ x.T).compute()  # whose bits depend on the sizes of blocks
        assert len(made) > workers


def test_parts_in_another_order_are_no_array():
    whole = np.arange(12.0).reshape(6, 2).copy()
    parts = [whole[:2], whole[2:4], whole[4:]]
    assert in_one_array(parts, (6, 2)) is whole
    assert in_one_array([parts[1], parts[0], parts[2]], (6, 2)) is None
    assert in_one_array([*parts[:2], whole[4:].copy()], (6, 2)) is None
    assert in_one_array(parts[:2], (6, 2)) is None
    assert in_one_array([whole[:, :1], whole[:, 1:]], (6, 2)) is None
    assert in_one_array([1.0], ()) is None


def test_a_task_that_fails_changes_no_tensor(blocks):
    x = tfr.asarray(np.ones((512, 128)), device="dask").compute()

    def broken(_):
        raise KeyboardInterrupt

    lazy = tfr.from_native(x.native().map_blocks(broken, dtype=float, meta=np.empty((0, 0))))
    with pytest.raises((CancelledError, KernelError)):
        (lazy + x).compute()
    assert (x + 1).numpy()[0, 0] == 2.0
