"""Threads: jobs shared out among a few workers and the caller, each taking the next that nobody has taken.

Which thread does a job never changes its result: jobs are of fixed size and share nothing. NumPy releases the
interpreter while it works, so the threads do run side by side.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import cache, partial
from itertools import count
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

import numpy as np

from tensorframe import config
from tensorframe.backends.critical import critical_section
from tensorframe.backends.interruptible import is_interrupted_here, run_interruptibly
from tensorframe.forks import in_forked_processes, new_lock

Job = TypeVar("Job")


class _Counter:
    """Hands out jobs one by one to threads that are free, until there are none or the caller has given up."""

    def __init__(self, length: int) -> None:
        self.next = count().__next__  # atomic in CPython
        self.length = length
        self.stopped = False

    def positions(self) -> Iterator[int]:
        """Yield the positions of jobs that this thread is to do."""
        while not self.stopped and (number := self.next()) < self.length:
            yield number


def share_out(
    jobs: Sequence[Job], work: Callable[[Iterator[Job]], None], *, long: bool = False
) -> None:
    """Call `work` in several threads, each with an iterator over the jobs that it is to do.

    The caller works too, so there is progress even where all workers are busy. If it is interrupted, or one of them
    fails, the others stop after the job at hand; what a worker raises is raised here. Options that hold for the caller
    hold in all threads. Where jobs are `long`, an interrupt does not wait for those at hand.
    """
    threads = min(thread_count(), len(jobs))
    waits = long and is_interrupted_here()
    if threads < 2 and not waits:
        work(iter(jobs))
        return
    counter = _Counter(len(jobs))

    def run() -> None:
        try:
            with np.errstate(all="ignore"):  # each thread has its own
                work(jobs[position] for position in counter.positions())
        except BaseException:
            counter.stopped = True
            raise

    helpers = _helped(run, threads - 1)
    try:
        if waits:
            run_interruptibly(run)
        else:
            run()
    except KeyboardInterrupt:
        if waits:
            helpers = []
        raise
    finally:
        counter.stopped = True
        failures = [helper.outcome() for helper in helpers]
    for failure in failures:
        if failure is not None:
            raise failure


class _Part:
    """A call that a worker makes, unless it has not begun when the caller is done, and so has nothing left to do."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = partial(copy_context().run, call)
        self._begun, self._running = new_lock(), new_lock()
        self._running.acquire()
        self._failure: BaseException | None = None

    def __call__(self) -> None:
        """Make the call if nobody has cancelled it."""
        if not self._begun.acquire(blocking=False):
            return
        try:
            assert self._call is not None
            self._call()
        except BaseException as error:  # told by `outcome`
            self._failure = error
        finally:
            self._call = None  # with everything that it refers to
            self._running.release()

    def outcome(self) -> BaseException | None:
        """Wait for the call if it has begun; return what it raised."""
        if self._begun.acquire(blocking=False):
            self._call = None
        else:
            self._running.acquire()
        failure, self._failure = self._failure, None
        return failure


class _Workers:
    """Threads that wait for calls. They end with the process, which does not wait for them: their callers do."""

    calls: SimpleQueue[_Part] = SimpleQueue()
    count = 0
    hiring = new_lock()


def _helped(call: Callable[[], None], times: int) -> list[_Part]:
    """Have as many workers as there are for it make a call."""
    parts = [_Part(call) for _ in range(times)]
    if _Workers.count < min(times, core_count()):
        _hire(min(times, core_count()))
    for part in parts:
        _Workers.calls.put(part)
    return parts


def _hire(count: int) -> None:
    # no more threads are to be had where the system gives none, or the process is ending: the caller works alone then
    with _Workers.hiring, suppress(RuntimeError):
        while _Workers.count < count:
            name = f"tensorframe_{_Workers.count}"
            with critical_section():
                Thread(target=_serve, args=(_Workers.calls,), name=name, daemon=True).start()
                _Workers.count += 1


def _serve(calls: SimpleQueue[_Part]) -> None:
    while True:
        calls.get()()


def _forget() -> None:
    """A forked process has none of its parent's threads."""
    _Workers.calls, _Workers.count = SimpleQueue(), 0


in_forked_processes(_forget)


def thread_count() -> int:
    """Return how many threads work on one region or product: the option `threads`, or one per core; see `leaving`."""
    threads = config.get().threads or core_count()
    left = _left.get()
    return max(min(threads, core_count() - left), 1) if left else threads


@contextmanager
def leaving(cores: int) -> Iterator[None]:
    """Have so many cores be left to other threads of ours, which would wait for one, but never the last core."""
    before = _left.set(cores)
    try:
        yield
    finally:
        _left.reset(before)


_left: ContextVar[int] = ContextVar("tensorframe_cores_left", default=0)


@cache
def core_count() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(
            os.sched_getaffinity(0)
        )  # containers and batch systems give fewer than the machine has
    return os.cpu_count() or 1
