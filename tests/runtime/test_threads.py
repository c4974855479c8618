"""Several threads may record on and compute the same graphs: everybody gets the right values, every time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.runtime.plan_cache import PLANS

THREADS = [2, 8]


def run_together(count, work):
    """Call `work(number)` in `count` threads that start at once; the first exception is raised here."""
    gate = threading.Barrier(count)

    def start(number):
        gate.wait(timeout=30)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return [one.result(timeout=60) for one in [pool.submit(start, n) for n in range(count)]]


@pytest.fixture(params=[True, False], ids=["fused", "alone"])
def planned(request):
    """Plans whatever the size; threads take the options that are set for the process."""
    before = tfr.config.get()
    changed = {"small_size": 0, "small_nodes": 0, "block_bytes": 256, "fuse": request.param}
    tfr.config.configure(**changed)
    yield
    tfr.config.configure(**{name: getattr(before, name) for name in changed})


def shared_graph(seed):
    """A graph of diamonds, reductions and views, and what its results must be."""
    array = np.random.default_rng(seed).integers(-4, 5, (8, 16)).astype(np.float32)
    x = tfr.asarray(array)
    doubled = x * 2.0
    total = tfr.sum(doubled, axis=0)
    centred = doubled - total
    flipped = centred[::-1, ::2]
    best = tfr.max(centred, axis=1, keepdims=True)
    results = [doubled, total, centred, flipped, best, tfr.cumulative_sum(total)]
    wide = array * 2
    sums = wide.sum(axis=0)
    middle = wide - sums
    expected = [
        wide,
        sums,
        middle,
        middle[::-1, ::2],
        middle.max(axis=1, keepdims=True),
        np.cumsum(sums),
    ]
    return results, expected


@pytest.mark.parametrize("count", THREADS)
def test_threads_compute_one_shared_graph(count, planned):
    for seed in range(40):
        results, expected = shared_graph(seed)

        def work(number, results=results):
            order = results[number % 6 :] + results[: number % 6]
            return [one.numpy() for one in order]

        for number, arrays in enumerate(run_together(count, work)):
            wanted = expected[number % 6 :] + expected[: number % 6]
            for array, right in zip(arrays, wanted, strict=True):
                assert np.array_equal(array, right)


@pytest.mark.parametrize("count", THREADS)
def test_threads_compute_several_results_together(count, planned):
    for seed in range(40):
        results, expected = shared_graph(seed)
        run_together(count, lambda _, results=results: tfr.compute(*results))
        for tensor, right in zip(results, expected, strict=True):
            assert np.array_equal(tensor.numpy(), right)


@pytest.mark.parametrize("count", THREADS)
def test_threads_record_on_what_others_compute(count, planned):
    for seed in range(40):
        results, expected = shared_graph(seed)

        def work(number, results=results):
            return [(result + number).numpy() for result in results]

        for number, arrays in enumerate(run_together(count, work)):
            for array, right in zip(arrays, expected, strict=True):
                assert np.array_equal(array, right + number)


@pytest.mark.parametrize("count", THREADS)
def test_threads_share_plans_of_equal_structure(count, planned):
    """Each thread has data of its own under one plan: nobody sees the values of another."""
    for repetition in range(40):
        if repetition % 4 == 0:
            PLANS.clear()  # several threads make the same plan and compile its programs

        def work(number):
            x = tfr.asarray(np.full((20, 30), float(number), np.float32))
            y = tfr.sqrt(x * x + 3.0 * x) - tfr.mean(x)
            return tfr.sum(y, axis=1).numpy()

        for number, array in enumerate(run_together(count, work)):
            root = np.sqrt(np.float32(number * number + 3.0 * number)) - np.float32(number)
            assert np.allclose(array, 30 * root, rtol=1e-5)


def test_an_override_is_seen_by_its_own_thread_only(planned):
    inside, done = threading.Event(), threading.Event()

    def other(number):
        if number == 0:
            with tfr.config.override(block_bytes=7):
                inside.set()
                done.wait(timeout=30)
                return tfr.config.get().block_bytes
        inside.wait(timeout=30)
        seen = tfr.config.get().block_bytes
        done.set()
        return seen

    assert run_together(2, other) == [7, 256]


def test_a_thread_that_fails_leaves_the_others_alone(planned):
    def work(number):
        matrix = tfr.asarray(np.eye(3) * (number % 2))
        try:
            return tfr.linalg.inv(matrix).numpy()
        except tfr.errors.LinAlgError:
            return None

    for _ in range(20):
        for number, found in enumerate(run_together(8, work)):
            if number % 2:
                assert np.array_equal(found, np.eye(3))
            else:
                assert found is None
