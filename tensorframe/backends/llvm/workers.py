"""Worker threads for kernels: a range is cut into chunks, and threads take chunks until there are none.

Chunks are as large as the caller says, never as many as there are threads: the bits of a result do not depend on who
runs what. Between kernels a worker looks out for the next one for a while, without holding the interpreter, which
costs a caller a microsecond; then it sleeps on a lock, and waking it costs from ten to 150, where a virtual machine has
put its core to rest. It soon gives way to whoever wants its core between two looks.
"""

from __future__ import annotations

import atexit
import ctypes
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from threading import Thread
from time import perf_counter_ns
from typing import Any, Protocol

from tensorframe import config
from tensorframe.backends.llvm import ahead
from tensorframe.backends.llvm.functions import begin, placed
from tensorframe.backends.numpy.threads import core_count, thread_count
from tensorframe.forks import in_forked_processes, new_lock

_NAME = "workers"  # of the module of compiled functions
_MOST_THREADS = 255  # there are 8 bits for the number of threads
MOST_CHUNKS = 2**32 - 1
_ALERT = 50  # microseconds for which who waits keeps its core to itself
_AT_ONCE = 16  # chunks for each thread that are run in one go, however long they take
_UNHEARD = 30_000_000  # nanoseconds of a part of a job; the next one is longer where it was less
_LONGEST = 2000  # nanoseconds that a pause or a yield takes, while nobody else wants the core
_MEASURED = (
    50_000  # nanoseconds for which these are measured: a core given away may come back much later
)
_LAST_LOOK = 5  # microseconds that a worker still looks out after it has said that it sleeps
# Nanoseconds that callers run chunks alone before workers pay, whose functions take 10 ms to compile; and those that
# they go on alone at most while another thread compiles these.
_ALONE_AT_FIRST, _LONGEST_ALONE = 3_000_000, 30_000_000

# function, total, grain, first and last chunk, slots, whether chunks may be joined
_JOB = (*(ctypes.c_uint64,) * 5, *(ctypes.c_char_p,) * 2, ctypes.c_uint64)
_ALONE = ctypes.CFUNCTYPE(None, *_JOB)
_SHARED = ctypes.CFUNCTYPE(
    ctypes.c_uint64, *_JOB, *(ctypes.c_uint64,) * 3
)  # pool, threads, patience
# calls, first, count, pool, threads, patience
_CALLS = ctypes.CFUNCTYPE(ctypes.c_uint64, *(ctypes.c_uint64,) * 6)
_SERVE = ctypes.CFUNCTYPE(None, *(ctypes.c_uint64,) * 4)
_REPEAT = ctypes.CFUNCTYPE(None, ctypes.c_uint64)


class Function(Protocol):
    """What runs a range: a kernel, or another compiled function that is called as these are."""

    @property
    def address(self) -> int:
        """Where it is."""

    @property
    def call(self) -> Any:
        """It, as Python calls it."""


def run_ranges(
    function: Function,
    total: int,
    grain: int,
    varying: bytes,
    fixed: bytes,
    *,
    joined: bool = False,
) -> None:
    """Run a kernel for [0, total), in chunks of `grain`, with the option `threads`; return when all is done.

    `joined` lets a thread run neighbouring chunks as one, which a function's results must not depend on.
    """
    if total <= grain:
        function.call(0, total, varying, fixed)
        return
    chunks = -(-total // grain)
    # threads that have to wait for a core would be waited for
    threads = min(thread_count(), core_count(), chunks)
    pool, first = _State.pool, 0
    if pool is None:
        first = _run_alone_at_first(function, total, grain, varying, fixed)
        if first == chunks:
            return
        pool = _new_pool()
    place = function.address
    if chunks - first <= _AT_ONCE * threads or (place, total, fixed) in _brief:
        pool.run(place, total, grain, chunks, varying, fixed, threads, first, joined=joined)
        return
    # Python hears of Ctrl-C between calls only
    started = began = perf_counter_ns()
    count = _AT_ONCE * threads
    while first < chunks:
        last = min(first + count, chunks)
        job = (place, total, grain, last, varying, fixed, threads)
        pool.run(*job, first, joined=joined)
        now = perf_counter_ns()
        if now - began < _UNHEARD:
            count *= 2
        first, began = last, now
    if began - started < _UNHEARD:
        if len(_brief) >= _MOST_BRIEF:
            _brief.clear()
        _brief.add((place, total, fixed))


def _run_alone_at_first(
    function: Function, total: int, grain: int, varying: bytes, fixed: bytes
) -> int:
    """Run chunks in this thread until workers pay, and can be had; return how many it were.

    A process that computes little has no workers, and need not compile their functions.
    """
    start = chunks = 0
    while start < total and not _workers_pay():
        began = perf_counter_ns()
        function.call(start, min(start + grain, total), varying, fixed)
        _State.alone += perf_counter_ns() - began
        start, chunks = start + grain, chunks + 1
    return chunks


def _workers_pay() -> bool:
    """Whether callers have been alone for long enough, and need not wait for what another thread compiles."""
    if _State.alone < _ALONE_AT_FIRST:
        return False
    begin_workers()
    return _State.alone > _LONGEST_ALONE or not ahead.is_under_way(_NAME)


# Functions with ranges and sizes that took less than `_UNHEARD`: in one go next time, since threads that wait for each
# other in the middle lose half a chunk.
_brief: set[tuple[int, int, bytes]] = set()
_MOST_BRIEF = 1024


class _Worker:
    """A thread that takes part in jobs, and the lock that it sleeps on."""

    def __init__(self, pool: _Pool, number: int) -> None:
        self.pool = pool
        self.number = number
        self.asleep = False
        self._bell = new_lock()
        self._bell.acquire()
        self.thread = Thread(target=self._work, name=f"tensorframe {number}", daemon=True)
        self.thread.start()

    def _work(self) -> None:
        pool = self.pool
        while not pool.closed:
            pool.serve(pool.address, self.number, pool.patience(), pool.yields())
            self.asleep = True
            # a caller that has looked before that line opens its job about now
            pool.serve(pool.address, self.number, pool.pauses(_LAST_LOOK), 0)
            self._bell.acquire()
            # not in `wake`: an interrupt between its steps would have nobody ring again
            self.asleep = False

    def wake(self) -> None:
        with suppress(RuntimeError):  # another caller has rung
            self._bell.release()


class _Pool:
    """The workers of this process, and the memory through which they hear of jobs."""

    def __init__(self) -> None:
        from tensorframe.backends.llvm import native  # a process begins in one thread

        code = placed(_NAME, native.text(), native.SYMBOLS)
        addresses = code.addresses
        self.code = code
        self.several: int = addresses["run_several"]
        self._run_alone, self._run_shared = (
            _ALONE(addresses["run_alone"]),
            _SHARED(addresses["run_shared"]),
        )
        self._run_calls = _CALLS(addresses["run_calls"])
        self.serve = _SERVE(addresses["serve"])
        self._memory = ctypes.create_string_buffer(native.POOL_BYTES + native.LINE)
        self.address = -(-ctypes.addressof(self._memory) // native.LINE) * native.LINE
        self._stop = ctypes.c_uint64.from_address(self.address + 8 * native.STOP)
        self._workers: list[_Worker] = []
        self._hiring = new_lock()
        self.closed = False
        self._pauses_per_microsecond = _each_microsecond(_REPEAT(addresses["pause"]))
        self._yields_per_microsecond = _each_microsecond(_REPEAT(addresses["give_way"]))
        atexit.register(self.close)

    def run(
        self,
        function: int,
        total: int,
        grain: int,
        chunks: int,
        varying: bytes,
        fixed: bytes,
        threads: int,
        first: int = 0,
        *,
        joined: bool = False,
    ) -> int:
        """Run the chunks of a job from `first` to before `chunks`; return how many of them workers ran."""
        job = (function, total, grain, first, chunks, varying, fixed, joined)
        if threads < 2 or self.closed or chunks > MOST_CHUNKS:
            self._run_alone(*job)
            return 0
        threads = self._alert(threads)
        helped: int = self._run_shared(*job, self.address, threads, self.patience())
        return helped

    def run_calls(self, calls: int, first: int, count: int, threads: int) -> int:
        """Run calls that are prepared at an address; return the number of the one that Python has to look after."""
        threads = 1 if threads < 2 or self.closed else self._alert(threads)
        reached: int = self._run_calls(
            calls, first, count, self.address, threads, self.patience() if threads > 1 else 0
        )
        return reached

    def _alert(self, threads: int) -> int:
        """Have workers look out for a job; return how many threads it may have, the caller's among them."""
        threads = min(threads, _MOST_THREADS)
        if len(self._workers) < threads - 1:
            self._hire(threads - 1)
        for worker in self._workers[: threads - 1]:
            if worker.asleep:
                worker.wake()
        return threads

    def _hire(self, count: int) -> None:
        with self._hiring, suppress(RuntimeError):  # the system gives no more threads
            while len(self._workers) < count:
                self._workers.append(_Worker(self, len(self._workers) + 1))

    def patience(self) -> int:
        """Return for how many pauses a thread looks out and keeps its core."""
        return self.pauses(min(config.get().spin, _ALERT))

    def yields(self) -> int:
        """Return how often it gives way afterwards."""
        return int(max(config.get().spin - _ALERT, 0) * self._yields_per_microsecond)

    def pauses(self, microseconds: int) -> int:
        return int(microseconds * self._pauses_per_microsecond)

    def close(self) -> None:
        """Let all workers return, as the interpreter is about to go away under them."""
        self.closed = True
        self._stop.value = 1
        for worker in self._workers:
            worker.wake()
        for worker in self._workers:
            worker.thread.join(timeout=1)


def _each_microsecond(repeat: Callable[[int], None]) -> float:
    """Return how many pauses or yields a microsecond has: one takes from 1 ns to 1 us."""
    times, best, end = 16, _LONGEST * 16, perf_counter_ns() + _MEASURED
    while True:
        begin = perf_counter_ns()
        repeat(times)
        now = perf_counter_ns()
        best = min(best, now - begin)
        if now > end:
            return 1000 * times / max(best, 1)


@cache
def begin_workers() -> None:
    """Have the functions of workers compiled ahead."""
    from tensorframe.backends.llvm import native  # as above

    begin(_NAME, native.text())


class _State:
    pool: _Pool | None = None
    alone = 0  # nanoseconds for which callers have run chunks without workers
    creating = new_lock()


def pool_of_process() -> _Pool:
    """Return the workers of this process; threads start when they are needed."""
    return _State.pool or _new_pool()


def _new_pool() -> _Pool:
    with _State.creating:
        if _State.pool is None:
            _State.pool = _Pool()
        return _State.pool


def _forget_pool() -> None:
    """A forked process has none of its parent's threads."""
    _State.pool = None


in_forked_processes(_forget_pool)
