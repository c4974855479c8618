"""Threads: jobs shared out among a few workers and the caller, each taking the next that nobody has taken.

Which thread does a job never changes its result: jobs are of fixed size and share nothing. NumPy lets go of the
interpreter while it works, so the threads do run side by side.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tensorframe import config
from tensorframe.backends.apart import apart, is_interrupted_here

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Job = TypeVar("Job")


class _Counter:
    """Hands out jobs one by one to whichever thread asks, until there are none or the caller has given up."""

    def __init__(self, length: int) -> None:
        self.next = count().__next__  # atomic in CPython
        self.length = length
        self.stopped = False

    def positions(self) -> Iterator[int]:
        """Yield the positions of jobs that this thread is to do."""
        while not self.stopped and (at := self.next()) < self.length:
            yield at


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
                work(jobs[at] for at in counter.positions())
        except BaseException:
            counter.stopped = True
            raise

    helpers: list[Future[None]] = []
    if threads > 1:
        workers = _workers(os.getpid())
        helpers = [workers.submit(copy_context().run, run) for _ in range(threads - 1)]
    try:
        if waits:
            apart(run)
        else:
            run()
    except KeyboardInterrupt:
        if waits:
            helpers = []
        raise
    finally:
        counter.stopped = True
        failures = [_outcome(helper) for helper in helpers]
    for failure in failures:
        if failure is not None:
            raise failure


def _outcome(helper: Future[None]) -> BaseException | None:
    """Wait for a helper, unless it has not begun and so has nothing left to do; return what it raised."""
    return None if helper.cancel() else helper.exception()


def thread_count() -> int:
    """Return how many threads work on one region or product: the option `threads`, or one per core."""
    return config.get().threads or core_count()


@cache
def core_count() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(
            os.sched_getaffinity(0)
        )  # containers and batch systems give fewer than the machine has
    return os.cpu_count() or 1


@cache
def _workers(_process: int) -> ThreadPoolExecutor:
    """Return the workers of a process: a fork has none of its parent's."""
    from concurrent.futures import ThreadPoolExecutor  # takes 4 ms: only programs that need threads

    return ThreadPoolExecutor(core_count(), thread_name_prefix="tensorframe")
