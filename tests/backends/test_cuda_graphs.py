"""CUDA graphs of jitted functions, against a driver that counts: captures, launches, and whose memory they use.

Kernels run as C++ on the processor. No GPU has run this.
"""

import gc

import numpy as np
import pytest

import tensorframe as tfr

pytest.importorskip("cupy", reason="the backend speaks to GPUs through CuPy")

from tensorframe.backends.cuda import libraries, queue
from tensorframe.backends.registry import backend_of
from tests.backends import host_gpu

pytestmark = pytest.mark.skipif(
    host_gpu.COMPILER is None, reason="kernels are compiled by the system's C++ compiler here"
)


class Driver:
    """Captures what a stream is given; a graph checks that its memory is there, and nobody else's."""

    def __init__(self, fake, monkeypatch):
        self.captures = self.launches = 0
        self.recording = None
        self.nodes = "KERNEL MEMCPY"
        self._loaded = {}
        self._run, self._copy = fake.driver.launchKernel, fake.runtime.memcpyAsync
        monkeypatch.setattr(fake.driver, "launchKernel", self._launch)
        monkeypatch.setattr(fake.runtime, "memcpyAsync", self._memcpy)
        monkeypatch.setattr(
            host_gpu.HostStream, "begin_capture", lambda _: self._begin(), raising=False
        )
        monkeypatch.setattr(
            host_gpu.HostStream, "end_capture", lambda _: self._end(), raising=False
        )
        made = queue.Loaded.__init__

        def load(loaded, *given):
            made(loaded, *given)
            self._loaded[loaded.arguments] = loaded

        monkeypatch.setattr(queue.Loaded, "__init__", load)

    def _begin(self):
        assert self.recording is None
        self.recording = []

    def _end(self):
        self.captures += 1
        calls, self.recording = self.recording, None
        return Graph(self, calls)

    def _launch(self, *given):
        if self.recording is None:
            self._run(*given)
            return
        loaded = self._loaded[given[-2]]
        pointers, words = loaded.pointers.copy(), loaded.words.copy()

        def again():
            for pointer in pointers:
                assert int(pointer) in host_gpu.HostMemory.live
            loaded.pointers[:], loaded.words[:] = pointers, words
            self._run(*given)

        self.recording.append(again)

    def _memcpy(self, *given):
        if self.recording is None:
            self._copy(*given)
        else:
            self.recording.append(lambda: self._copy(*given))


class Graph:
    """What was captured."""

    def __init__(self, driver, calls):
        self._driver, self._calls = driver, calls

    def debug_dot_str(self):
        return self._driver.nodes

    def launch(self, stream):
        self._driver.launches += 1
        for call in self._calls:
            call()


@pytest.fixture
def driver(monkeypatch):
    monkeypatch.setattr(libraries, "CALLS", {})
    options = {"small_size": 0, "small_nodes": 0, "cuda_graphs": True}
    with host_gpu.host_gpu() as fake, tfr.config.override(**options):
        yield Driver(fake, monkeypatch)


def three_kernels(x):
    return tfr.cumulative_sum(tfr.cumulative_sum(tfr.cumulative_sum(x, axis=0), axis=1), axis=0)


def expected(x):
    return x.cumsum(0).cumsum(1).cumsum(0)


def rows(seed):
    return np.random.default_rng(seed).integers(0, 9, (4, 5)).astype(np.float32)


def on_gpu(array):
    return tfr.asarray(array, device="cuda").compute()


def test_the_third_call_captures_and_later_ones_launch(driver):
    step = tfr.jit(three_kernels)
    results = []
    for seed in range(6):
        x = rows(seed)
        results.append((step(on_gpu(x)), expected(x)))
    assert (driver.captures, driver.launches) == (1, 4)
    gc.collect()
    for result, right in results:  # of which no later launch has written one
        np.testing.assert_array_equal(result.numpy(), right)


def test_memory_of_a_graph_is_nobody_elses_while_it_lives(driver):
    step = tfr.jit(three_kernels)
    for seed in range(4):
        step(on_gpu(rows(seed)))
    device = tfr.Device("cuda")
    pool = backend_of(device).open_device(device).pool
    taken = [on_gpu(rows(seed)) for seed in range(50)]
    x = rows(9)
    np.testing.assert_array_equal(step(on_gpu(x)).numpy(), expected(x))
    for seed, array in enumerate(taken):
        np.testing.assert_array_equal(array.numpy(), rows(seed))
    used = pool.statistics.in_use
    del step
    gc.collect()
    assert pool.statistics.in_use < used  # what it owned goes back with it


def test_copies_take_all_memory_to_be_used_by_a_graph_that_was_launched(driver):
    """What it owns goes back to the pool with it, while its last launch may still run."""
    step = tfr.jit(three_kernels)
    used = []
    for seed in range(4):
        step(on_gpu(rows(seed)))
        queue = backend_of(tfr.Device("cuda")).open_device(tfr.Device("cuda")).queue
        used.append(queue._uses.using(object()))
    assert driver.launches == 2
    assert used[:2] == [None, None]
    assert used[2] < used[3] <= queue._timeline.given


def test_other_numbers_are_captured_again_and_too_many_of_them_no_more(driver):
    step = tfr.jit(lambda x, scale: three_kernels(x) * scale)
    x = rows(0)
    for call, scale in enumerate([1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0, 7.0]):
        found = step(on_gpu(x), scale).numpy()
        np.testing.assert_array_equal(found, expected(x) * np.float32(scale), err_msg=str(call))
    assert driver.captures == 4


def test_a_graph_that_allocates_is_refused_and_the_plan_runs_as_usual(driver):
    driver.nodes = "KERNEL MEM_ALLOC"
    step = tfr.jit(three_kernels)
    for seed in range(5):
        np.testing.assert_array_equal(step(on_gpu(rows(seed))).numpy(), expected(rows(seed)))
    assert (driver.captures, driver.launches) == (1, 0)


def test_what_has_to_wait_for_the_device_is_refused(driver):
    """A gather reads back whether an index was out of bounds."""
    step = tfr.jit(lambda x, index: three_kernels(tfr.take(x, index, axis=0)))
    index = on_gpu(np.array([2, 0], np.int64))
    for seed in range(5):
        found = step(on_gpu(rows(seed)), index).numpy()
        np.testing.assert_array_equal(found, expected(rows(seed)[[2, 0]]))
    assert driver.launches == 0


@pytest.mark.parametrize(
    "function",
    [lambda x: tfr.exp(x) + 1, lambda x: three_kernels(x).to_device("cpu")],
    ids=["few kernels", "a transfer"],
)
def test_plans_that_gain_nothing_are_not_captured(driver, function):
    step = tfr.jit(function)
    for seed in range(5):
        step(on_gpu(rows(seed)))
    assert driver.captures == 0


def test_the_option_is_off_by_default(driver):
    assert not type(tfr.config.get())().cuda_graphs
    with tfr.config.override(cuda_graphs=False):
        step = tfr.jit(three_kernels)
        for seed in range(5):
            step(on_gpu(rows(seed)))
    assert driver.captures == 0


@pytest.mark.parametrize(("option", "setting"), [(False, True), (True, False)])
def test_the_setting_of_a_device_goes_before_the_option(driver, option, setting):
    tfr.backends.configure("cuda", graphs=setting)
    try:
        with tfr.config.override(cuda_graphs=option):
            step = tfr.jit(three_kernels)
            for seed in range(5):
                x = rows(seed)
                np.testing.assert_array_equal(step(on_gpu(x)).numpy(), expected(x))
    finally:
        tfr.backends.configure("cuda", graphs=None)
    assert driver.captures == int(setting)
