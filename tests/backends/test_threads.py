"""Threads on the NumPy engine: every job once, failures told, the same bits for any number of threads."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from time import monotonic, sleep

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.numpy import threads as numpy_threads
from tensorframe.backends.numpy.threads import leaving, share_out, thread_count


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_every_job_is_done_once(threads: int) -> None:
    done: list[int] = []
    with tfr.config.override(threads=threads):
        share_out(range(1000), done.extend)
    assert sorted(done) == list(range(1000))


@pytest.mark.parametrize(
    ("cores", "threads", "left", "used"),
    [(4, 0, 1, 3), (4, 4, 1, 3), (4, 2, 1, 2), (1, 0, 1, 1), (2, 3, 1, 1), (4, 0, 0, 4)],
)
def test_cores_are_left_to_others(
    cores: int, threads: int, left: int, used: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numpy_threads, "core_count", lambda: cores)
    with tfr.config.override(threads=threads), leaving(left):
        assert thread_count() == used
    with tfr.config.override(threads=threads):
        assert thread_count() == (threads or cores)


def test_a_failure_stops_the_others_and_is_raised() -> None:
    done: list[int] = []
    started = threading.Event()

    def work(mine: Iterator[int]) -> None:
        for job in mine:
            if job == 1:  # of the first two, so that there is a thread left to take it
                started.set()
                raise ValueError("job 1")
            started.wait(60)
            done.append(job)

    jobs = range(10_000_000)  # so many that no other thread is done before this one has failed
    with tfr.config.override(threads=3), pytest.raises(ValueError, match="job 1"):
        share_out(jobs, work)
    assert len(done) < len(jobs) // 2


@pytest.fixture(autouse=True)
def small_blocks() -> Iterator[None]:
    """Blocks so small that there are enough of them to share."""
    with tfr.config.override(block_bytes=1 << 12):
        yield


def expression(x: tfr.Tensor, y: tfr.Tensor) -> tfr.Tensor:
    return tfr.exp(-x * x) * tfr.sin(y) + tfr.gelu(x) / (1 + y * y)


def test_the_number_of_threads_does_not_change_the_bits() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((700, 333), dtype=np.float32), rng.random((333, 700), dtype=np.float32).T
    results = []
    for threads in (1, 2, 16):
        with tfr.config.override(threads=threads):
            results.append(expression(tfr.asarray(a), tfr.asarray(b)).numpy())
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_division_by_zero_warns_in_no_thread() -> None:
    x = tfr.asarray(np.zeros(500_000, np.float32))
    with tfr.config.override(threads=4):
        assert np.isnan((x / x + 1).numpy()).all()


def _in_a_fork(queue: multiprocessing.Queue[float]) -> None:
    x = tfr.asarray(np.ones(500_000, np.float32))
    queue.put(float(tfr.sum(tfr.sqrt(x) * 2 + 1)))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    x = tfr.asarray(np.ones(500_000, np.float32))
    with tfr.config.override(threads=2):
        assert float(tfr.sum(tfr.sqrt(x) * 2 + 1)) == 1_500_000
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_a_fork, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == 1_500_000
    child.join(60)


@pytest.mark.parametrize("threads", [1, 3])
def test_an_interrupt_does_not_wait_for_long_jobs(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    goes_on = threading.Event()
    begun: list[int] = []

    def work(mine: Iterator[int]) -> None:
        for at in mine:
            begun.append(at)
            goes_on.wait(60)

    def interrupted(call: Callable[[], None]) -> None:
        """The caller's part has begun elsewhere, and Ctrl-C is pressed."""
        threading.Thread(target=call, daemon=True).start()
        until = monotonic() + 60
        while not begun and monotonic() < until:
            sleep(0.001)
        raise KeyboardInterrupt

    monkeypatch.setattr("tensorframe.backends.numpy.threads.run_interruptibly", interrupted)
    with tfr.config.override(threads=threads), pytest.raises(KeyboardInterrupt):
        share_out(range(100), work, long=True)
    assert not goes_on.is_set()
    goes_on.set()
    assert len(begun) <= threads  # those at hand were the last


@pytest.mark.parametrize("threads", [1, 3])
def test_long_jobs_are_all_done_once(threads: int) -> None:
    done: list[int] = []
    with tfr.config.override(threads=threads):
        share_out(range(20), done.extend, long=True)
    assert sorted(done) == list(range(20))
