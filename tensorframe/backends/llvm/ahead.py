"""Kernels compiled ahead: all that a plan needs, before its first step.

Other threads compile while the caller prints more. Then it compiles as well, until nothing waits, and LLVM's pages go
back before the steps need memory themselves.

A job is a kernel's text. Whoever takes it first compiles it: one of the threads here, or the caller that comes to need
it, which takes up other jobs while it waits for one that is under way. Only object code is made here. To load it, to
keep it on disk and to raise what is wrong with it is left to the step that needs it, so nothing depends on what was
foreseen: an interrupt, a fork or the end of the process loses some jobs, and their kernels are compiled when they are
needed.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from tensorframe.backends import foreseeing
from tensorframe.backends.host_pool import pool
from tensorframe.backends.interruptible import (
    is_interrupted_here,
    run_interruptibly,
    work_left,
)
from tensorframe.backends.llvm import resident
from tensorframe.backends.llvm.compile import Compiler, object_code
from tensorframe.backends.llvm.engine import COMPILER
from tensorframe.backends.llvm.library import library, llvm_lock
from tensorframe.backends.numpy.threads import core_count, thread_count
from tensorframe.backends.spans import Work, spanned
from tensorframe.forks import (
    held_while_forking,
    in_forked_processes,
    new_lock,
    new_reentrant_lock,
)
from tensorframe.quick_dataclasses import dataclass

if TYPE_CHECKING:
    from _thread import LockType, RLock

# Kernels of one plan that may wait to be needed; beyond, those foreseen first are forgotten.
_MOST = 256
# Kernels after which LLVM's pages go back: to print them takes 100 ms at least, that and what follows of it 6.
_MANY = 8


class _Job:
    """The text of a kernel, and its object code when it is there. Whoever holds `claim` compiles it."""

    __slots__ = ("claim", "code", "is_taken", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.code: bytes | None = None
        self.is_taken = False  # by who needs it, and compiles it if it is not compiled
        self.claim: LockType = new_lock()


@dataclass
class Statistics:
    """What this process has compiled ahead."""

    begun: int = 0  # kernels that were foreseen
    used: int = 0  # of these, those that threads here have compiled for who needed them


statistics = Statistics()
_jobs: dict[str, _Job] = {}
_expected: set[str] = set()  # names of kernels since LLVM's pages went back
# Held by each thread here as long as it is inside LLVM: no process is forked meanwhile.
_guards: list[RLock] = []


class _State:
    """The threads of this process."""

    queue: SimpleQueue[_Job] = SimpleQueue()
    threads = 0
    hiring = new_lock()
    is_closed = False


def helpers() -> int:
    """Return how many threads compile beside the caller: none with the option `threads` at 1."""
    return min(thread_count(), core_count()) - 1 if library() is not None else 0


def begin(name: str, text: str) -> None:
    """Have a kernel compiled by whichever thread comes to it first."""
    if _State.is_closed:
        return
    expect(name)
    job = _Job(name, text)
    if _jobs.setdefault(name, job) is not job:
        return
    statistics.begun += 1
    while len(_jobs) > _MOST:
        with suppress(KeyError, StopIteration, RuntimeError):  # other threads come and go
            del _jobs[next(iter(_jobs))]
    wanted = helpers()
    if wanted:
        _State.queue.put(job)
    if _State.threads < wanted:
        _hire(wanted)


def expect(name: str) -> None:
    """Count a kernel that the next plan needs, on disk or not."""
    _expected.add(name)


def is_begun(name: str) -> bool:
    """Whether a kernel of this name is being compiled, or waits for it."""
    return name in _jobs


def is_under_way(name: str) -> bool:
    """Whether a kernel of this name is not compiled yet, and who needs it would wait."""
    job = _jobs.get(name)
    return job is not None and job.code is None


def work_off() -> None:
    """Compile what waits, beside the threads that do: LLVM's pages go back before the steps need theirs."""
    if any(job.code is None for job in list(_jobs.values())):
        run_interruptibly(_work_off) if is_interrupted_here() else _work_off()
    _rest()


foreseeing.afterwards.append(work_off)


def _work_off() -> None:
    with llvm_lock:
        for job in list(_jobs.values()):
            if not pool.budget.has_room(COMPILER):
                break  # the step that needs a kernel says so
            _take(job)


def _rest() -> None:
    """Give LLVM's pages back where many kernels were made, or are on disk, and nothing is left to compile."""
    if len(_expected) >= _MANY and all(job.code is not None for job in list(_jobs.values())):
        _expected.clear()
        resident.release()


def finished(name: str) -> bytes | None:
    """Return the object code of a kernel that was begun, when it is there; None where the caller has to compile it."""
    job = _jobs.pop(name, None)
    if job is None:
        return None
    while not job.claim.acquire(blocking=False):
        if not _help():
            job.claim.acquire()
            break
    job.is_taken = True
    job.claim.release()
    statistics.used += job.code is not None
    return job.code


def _help() -> bool:
    """Compile a job that waits; return whether there was one."""
    with suppress(Empty):
        while True:
            if _take(_State.queue.get_nowait()):
                return True
    return False


def _take(job: _Job) -> bool:
    """Compile a job in the caller's thread; False if another one is at it."""
    if not job.claim.acquire(blocking=False):
        return False
    try:
        _compile(job, object_code)
    finally:
        job.claim.release()
    return True


def _compile(job: _Job, way: Callable[[str], bytes]) -> None:
    """Give a job its object code; what is wrong with it is raised where it is needed."""
    if job.code is None and not job.is_taken:
        with suppress(Exception), spanned(Work.AHEAD, job.name, "llvm"):
            job.code = way(job.text)


def _hire(wanted: int) -> None:
    with _State.hiring, suppress(RuntimeError):  # the system gives no more threads
        while _State.threads < wanted:
            number = _State.threads
            if number == len(_guards):
                guard = new_reentrant_lock()
                held_while_forking(guard)
                _guards.append(guard)
            arguments = (_State.queue, _guards[number])
            name = f"tensorframe compiler {number + 1}"
            Thread(target=_work, args=arguments, name=name, daemon=True).start()
            _State.threads += 1


def _work(queue: SimpleQueue[_Job], guard: RLock) -> None:
    compiler: Compiler | None = None
    while True:
        job = queue.get()
        with guard:
            if not job.claim.acquire(blocking=False):
                continue
            try:
                work_left(
                    job.claim
                )  # before looking: who ends the process looks the other way round
                if not _State.is_closed:
                    compiler = compiler or Compiler()
                    _compile(job, compiler.object_code)
            finally:
                job.claim.release()
            _rest()
        del job


def clear() -> None:
    """Forget what waits, and what is there and was not needed; threads finish what they are at."""
    with suppress(Empty):
        while True:
            _State.queue.get_nowait()
    _jobs.clear()


@atexit.register
def _close() -> None:
    """Begin nothing more: LLVM is taken down soon."""
    _State.is_closed = True
    clear()


def _forget() -> None:
    """A forked process has none of its parent's threads."""
    _State.queue, _State.threads = SimpleQueue(), 0
    _jobs.clear()


in_forked_processes(_forget)
