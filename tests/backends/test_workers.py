"""Worker threads of kernels: every index once, the same chunks for any number of threads, and no way to hang."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.kernel.ir import (
    INDEX,
    START,
    STOP,
    Loop,
    Set,
    Store,
    argument,
    index,
    literal,
    load,
    variable,
)
from tensorframe.kernel.ir.formula import fma
from tests.backends.kernels import I, kernel, named, over, result, slots

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

from tensorframe.backends.bound import NativeCall
from tensorframe.backends.llvm import prepared_calls, workers
from tensorframe.backends.llvm.functions import kernel_function
from tensorframe.backends.llvm.prepared_calls import PreparedCalls, side_by_side
from tensorframe.backends.llvm.workers import run_ranges

ROOT = Path(__file__).parents[2]

COUNTED, RANGED, SLOWED = (result(0, dtype) for dtype in ("int64", "uint64", "float64"))
COUNT = named(kernel([over(Store(COUNTED, I, load(COUNTED, I) + 1))], [], [COUNTED]))
# each element tells the range of the call that wrote it
RANGES = named(kernel([over(Store(RANGED, I, START * 1000000 + STOP))], [], [RANGED]))
# takes a while for each index
TIMES, X = argument("times"), variable("x", SLOWED.dtype)
WHILE = Loop(index("j"), literal(0, INDEX), TIMES, (Set(X, fma(X, 0.5, literal(1.0, X.dtype))),))
SLOW_BODY = over(Set(X, load(SLOWED, I)), WHILE, Store(SLOWED, I, X))
SLOW = named(kernel([SLOW_BODY], [], [SLOWED], sizes=[TIMES]))


@pytest.fixture(autouse=True)
def many_cores(monkeypatch):
    """As many threads as a test asks for, whatever the machine, and from the first kernel on."""
    monkeypatch.setattr(workers, "core_count", lambda: 16)
    monkeypatch.setattr(workers._State, "alone", workers._LONGEST_ALONE + 1)


def counted(total, grain, times=1):
    y = np.zeros(total, np.int64)
    function = kernel_function(*COUNT)
    for _ in range(times):
        run_ranges(function, total, grain, slots(y), b"")
    return y


@pytest.mark.parametrize("threads", [1, 2, 3, 16])
def test_every_index_is_run_once(threads):
    with tfr.config.override(threads=threads):
        for total in (0, 1, 2, 7, 100, 4097):
            for grain in (1, 2, 3, 64, 5000):
                assert (counted(total, grain, times=10) == 10).all(), (total, grain)


@pytest.mark.parametrize("threads", [1, 2, 16])
@pytest.mark.parametrize("joined", [False, True])
def test_calls_side_by_side_are_one_call_with_the_chunks_of_each(threads, joined, monkeypatch):
    monkeypatch.setattr(prepared_calls, "core_count", lambda: 16)
    sizes = [(1000, 37), (1, 37), (37, 37), (100, 1)]
    counts = [np.zeros(total, np.int64) for total, _ in sizes]
    ranges = [np.zeros(total, np.uint64) for total, _ in sizes]
    calls = [
        NativeCall(kernel_function(*text).address, *size, slots(y), b"", (y,), joined=joined)
        for text, arrays in ((COUNT, counts), (RANGES, ranges))
        for y, size in zip(arrays, sizes, strict=True)
    ]
    together = side_by_side(calls)
    assert [(call.total, call.grain) for call in together] == [(2 * (28 + 1 + 1 + 100), 1)]
    with tfr.config.override(threads=threads):
        for _ in range(10):
            assert PreparedCalls(together).run(0) == 1
    assert all((y == 10).all() for y in counts)
    if not joined:
        chunks = ranges[0].reshape(-1)[:74].tolist()
        assert chunks == [37] * 37 + [37 * 1000000 + 74] * 37


def test_calls_that_are_looked_after_stay_apart():
    y = np.zeros(10, np.int64)
    call = NativeCall(kernel_function(*COUNT).address, 10, 10, slots(y), b"", (y,))
    assert side_by_side([call]) == [call]
    for other in (call._replace(flag=np.zeros(1, bool)), call._replace(limits_blas=True)):
        assert side_by_side([call, other]) == [call, other]


def test_the_chunks_are_the_same_for_any_number_of_threads():
    function = kernel_function(*RANGES)
    found = []
    for threads in (1, 2, 16):
        y = np.zeros(1000, np.uint64)
        with tfr.config.override(threads=threads):
            run_ranges(function, 1000, 37, slots(y), b"")
        found.append(y)
    starts = np.arange(1000) // 37 * 37
    assert found[0].tolist() == (starts * 1000000 + np.minimum(starts + 37, 1000)).tolist()
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_chunks_that_may_be_joined_are_fewer_calls(threads):
    function, y = kernel_function(*RANGES), np.zeros(1000, np.uint64)
    with tfr.config.override(threads=threads):
        run_ranges(function, 1000, 7, slots(y), b"", joined=True)
    places = np.arange(1000)
    starts, stops = y // 1000000, y % 1000000
    # each call has whole chunks, and wrote all of what it was given
    assert (starts % 7 == 0).all()
    assert ((stops % 7 == 0) | (stops == 1000)).all()
    assert ((starts <= places) & (places < stops)).all()
    calls = dict(zip(starts.tolist(), stops.tolist(), strict=True))
    assert sum(stop - start for start, stop in calls.items()) == 1000
    assert len(calls) < 143


@pytest.mark.parametrize("spin", [0, 60])
def test_workers_take_part_and_sleep_between(monkeypatch, spin):
    """Longer pauses than a worker's patience, and kernels long enough for it to wake up in."""
    monkeypatch.setattr(tfr.config.Process, "base", tfr.config.Options(spin=spin, threads=3))
    counted(1000, 7)  # there is a pool
    function = kernel_function(*SLOW)
    y = np.zeros(64)
    job = (function.address, 64, 1, 64, slots(y), slots(20_000))
    helped = [workers._State.pool.run(*job, threads=3)]
    until = monotonic() + 60  # on a busy machine a caller may be done before a worker has begun
    while monotonic() < until and (sum(helped) == 0 or len(helped) < 20):
        sleep(0.002)
        helped.append(workers._State.pool.run(*job, threads=3))
    assert (y == 2).all()
    assert sum(helped) > 0


def test_several_callers_at_once():

    def call(_):
        with tfr.config.override(threads=3):
            return all((counted(1000, 7, times=4) == 4).all() for _ in range(50))

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(call, range(4)))


def in_a_fork(work):
    """Whether a forked process could do it."""
    process = os.fork()
    if process == 0:
        done = False
        try:
            done = work()
        finally:
            os._exit(0 if done else 1)
    return os.waitpid(process, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_workers_of_its_own():
    def work():
        return bool((counted(1000, 7) == 1).all()) and workers._State.pool is not parents

    with tfr.config.override(threads=3):
        counted(1000, 7)
        parents = workers._State.pool
        assert in_a_fork(work)
        assert (counted(1000, 7) == 1).all()
        assert workers._State.pool is parents


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forks_while_other_threads_run_kernels():
    with tfr.config.override(threads=3):
        stop = threading.Event()

        def call():
            with tfr.config.override(threads=3):
                while not stop.is_set():
                    counted(1000, 7)

        callers = [threading.Thread(target=call) for _ in range(2)]
        for caller in callers:
            caller.start()
        try:
            for _ in range(5):
                assert in_a_fork(lambda: bool((counted(1000, 7) == 1).all()))
        finally:
            stop.set()
            for caller in callers:
                caller.join(60)


@pytest.mark.skipif(sys.platform == "win32", reason="no timer signals on Windows")
def test_an_interrupt_is_seen_between_chunks():
    function = kernel_function(*SLOW)
    y = np.zeros(64)

    def interrupt(*_):
        raise KeyboardInterrupt

    def run_on():
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with tfr.config.override(threads=2):
            while True:
                y[:] = 0
                run_ranges(function, 64, 1, slots(y), slots(20_000))

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_on()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    # chunks are done or not begun, and nobody goes on with them
    assert set(y.tolist()) <= {0.0, 2.0}
    left = y.copy()
    with tfr.config.override(threads=2):
        assert (counted(1000, 7) == 1).all()
    np.testing.assert_array_equal(y, left)


def test_where_there_are_no_more_threads_the_caller_works_alone(monkeypatch):
    class Refused(threading.Thread):
        def start(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(workers, "Thread", Refused)
    monkeypatch.setattr(workers._State, "pool", None)
    with tfr.config.override(threads=3):
        assert (counted(1000, 7) == 1).all()
    assert not workers._State.pool._workers


ENDING = """
import atexit, sys, threading, time
import numpy as np
import tensorframe as tfr
from tensorframe.backends.bound import NativeCall
from tensorframe.backends.llvm import prepared_calls, workers
from tests.backends.test_workers import counted
workers.core_count = lambda: 4
tfr.config.configure(threads=4)
atexit.register(lambda: print("after", (counted(1000, 7) == 1).all()))
counted(1000, 7)
"""
CASES = {
    "workers look out": "",
    "workers sleep": "time.sleep(0.01)",
    "another thread goes on": """
def call():
    while True:
        counted(1000, 7)
threading.Thread(target=call, daemon=True).start()
time.sleep(0.01)
""",
    "an error ends it": "sys.exit(0)",
}


@pytest.mark.parametrize("case", CASES)
def test_the_interpreter_ends_without_a_hang_or_a_crash(case):
    done = subprocess.run(
        [sys.executable, "-c", ENDING + CASES[case]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "after True\n"
