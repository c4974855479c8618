"""Dask's tasks in this process stay within its memory: beside each other where there is room, in order where not.

Another budget stands for the host's (`dask_room.py`), so that what fits is the same in every process.
"""

import random
import threading
import time

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DeviceError, OutOfMemoryError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from dask.task_spec import DataNode, Task, TaskRef  # noqa: E402

from tensorframe.backends.dask import running, within  # noqa: E402
from tensorframe.backends.dask.sizes import Sizes  # noqa: E402
from tests.backends.dask_room import pool_with  # noqa: E402

MIB = 1 << 20


@pytest.fixture
def left(monkeypatch):
    """Sets how many bytes are left beside Python's."""

    def set_room(room):
        monkeypatch.setattr(within, "pool", pool_with(room))

    return set_room


@pytest.fixture
def ordered(monkeypatch):
    """The graphs that ran in order."""
    graphs = []
    blocks = within.OrderedRun.blocks

    def noted(self):
        graphs.append(self.graph)
        return blocks(self)

    monkeypatch.setattr(within.OrderedRun, "blocks", noted)
    return graphs


@pytest.fixture
def blocks():
    """Blocks of 64 KiB."""
    tfr.backends.configure("dask", chunk="64 KiB")
    yield
    tfr.backends.configure("dask", chunk=None)


PROGRAMS = {
    "a map": lambda x: x * 2 + 1,
    "a sum": lambda x: tfr.sum(x * x, axis=0),
    "differences from a mean": lambda x: x - tfr.mean(x, axis=0),
    "a softmax": lambda x: tfr.softmax(x, axis=1),
    "a stencil": lambda x: x[1:] - x[:-1],
    "a scan": lambda x: tfr.cumulative_sum(x, axis=0),
    "a sort in other blocks": lambda x: tfr.sort(x, axis=0),
    "a product": lambda x: x @ x.T,
    "several": lambda x: tfr.concat([x * 2, tfr.exp(x)]),
    "values": lambda x: tfr.linalg.svdvals(x[:, :8]),
}


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_the_same_bits_or_are_refused_before_a_task_runs(name, left, ordered, blocks):
    x = tfr.asarray(np.random.default_rng(0).standard_normal((512, 256)), device="dask").compute()
    program = PROGRAMS[name]
    expected = program(x).numpy()
    assert not ordered  # there is room for everything
    refused = 0
    for room in (4 * MIB, 3 * MIB, 2 * MIB, 3 * MIB // 2, MIB, MIB // 2, 1 << 17, 1 << 12):
        left(room)
        try:
            result = program(x).compute().native()
        except OutOfMemoryError:
            refused += 1
        else:
            assert not refused  # what fits once fits wherever there is more
            assert np.array_equal(np.asarray(result.compute(scheduler="sync")), expected)
    assert refused
    for graph in ordered:
        assert graph.peak()[0] <= 4 * MIB


def test_a_reduction_needs_a_few_blocks_of_its_operand_at_once(left, ordered, blocks):
    values = np.random.default_rng(0).standard_normal((1024, 256))
    x = tfr.from_native(da.from_array(values, chunks=(32, 256)) * 2)  # tasks that have not run
    left(1 << 18)
    assert tfr.sum(x).item() == pytest.approx(values.sum() * 2)
    (graph,) = ordered
    assert graph.peak()[0] <= 3 * (1 << 16)  # of two megabytes


def test_an_error_names_the_step_the_line_and_what_helps(left, blocks):
    x = tfr.asarray(np.ones((512, 256)), device="dask").compute()
    left(1 << 17)
    y = tfr.sort(x, axis=0) + 1
    with pytest.raises(OutOfMemoryError, match="nothing has run") as caught:
        y.compute()
    text = str(caught.value)
    assert "y = tfr.sort(x, axis=0) + 1" in text
    helps = ["tfr.save", "another axis", "float32 instead of float64", "del ", "a cluster"]
    assert [text.index(word) for word in helps] == sorted(text.index(word) for word in helps)
    assert not y.is_computed


class Live:
    """The bytes that live, and the most that did."""

    def __init__(self):
        self.now = self.most = self.at_once = self.running = 0
        self.lock = threading.Lock()

    def add(self, size):
        with self.lock:
            self.now += size
            self.most = max(self.most, self.now)


class Piece:
    """What a task gives."""

    def __init__(self, live, size):
        self.live, self.size = live, size
        live.add(size)

    def __del__(self):
        self.live.add(-self.size)


class Work:
    """A task of so many bytes, and as many beside as its operands have."""

    def __init__(self, live, size):
        self.live, self.size = live, size

    def __call__(self, *operands):
        live = self.live
        with live.lock:
            live.running += 1
            live.at_once = max(live.at_once, live.running)
        beside = sum(piece.size for piece in operands)
        made = Piece(live, self.size)
        live.add(beside)
        time.sleep(0.0005)
        live.add(-beside)
        with live.lock:
            live.running -= 1
        return made


class Given:
    """A graph, and what each task gives."""

    def __init__(self, live, draw, count):
        self.graph, self.size = {}, {}
        for number in range(count):
            key = ("task", number)
            sources = draw.sample(range(number), min(number, draw.randrange(3)))
            self.size[key] = draw.randrange(1, 100)
            self.graph[key] = Task(
                key,
                Work(live, self.size[key]),
                *[TaskRef(("task", source)) for source in sources if number - source < 12],
            )
        self.layers = {"task": self.graph}

    def tasks(self):
        return ((key, "task") for key in self.graph)

    def gives(self, key, _name, _task, _operands):
        return self.size[key]


@pytest.mark.parametrize("seed", range(6))
def test_no_more_lives_than_in_order_and_what_is_spare(seed, monkeypatch):
    monkeypatch.setattr(within, "owned", lambda made: made)
    draw, live = random.Random(seed), Live()
    given = Given(live, draw, 60)
    used = {source for task in given.graph.values() for source in task.dependencies}
    wanted = [[key for key in given.graph if key not in used]]
    tasks = within.SizedGraph(given, wanted)
    peak, _ = tasks.peak()
    for workers, spare in ((1, 0), (3, 0), (3, 40), (3, 200), (4, 10_000)):
        live.most = live.at_once = 0
        (made,) = within.OrderedRun(tasks, workers, spare).blocks()
        assert [piece.size for piece in made] == [given.size[key] for key in wanted[0]]
        assert live.most <= peak + spare
        assert live.at_once == 1 or spare
        if workers == 1:
            assert live.most == peak
        del made
        for _ in range(1000):  # until threads have ended
            if live.now:
                time.sleep(0.01)
        assert live.now == 0
    assert live.at_once > 1  # where there is room


def test_values_that_are_there_take_nothing():
    x = da.from_array(np.ones((64, 64)), chunks=16).persist(scheduler="sync")
    assert Sizes([x]).at_once(4) == 0
    assert all(isinstance(value, DataNode | np.ndarray) for value in dict(x.dask).values())


def test_what_tasks_give_is_known_to_the_byte(monkeypatch):
    sizes = []

    def noted(arrays, workers):
        sizes.append(Sizes(arrays).at_once(workers))

    monkeypatch.setattr(running, "run_within_memory", noted)
    x = da.from_array(np.ones((64, 48), np.float32), chunks=(16, 48)).persist(scheduler="sync")
    (tfr.from_native(x) + 1).compute()
    assert sizes == [64 * 48 * 4]


def test_tasks_in_other_processes_have_memory_of_their_own():
    with (
        dask.config.set(scheduler="processes"),
        pytest.raises(DeviceError, match=r"(?s)other processes.*memory_limit"),
    ):
        tfr.memory.limit("1 TiB", device="dask")
