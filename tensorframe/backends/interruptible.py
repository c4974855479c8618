"""Interruptible calls: made in a thread of their own, while the caller waits, so that Ctrl-C gets through to it.

Python hears of an interrupt between two of its instructions only, and one call of a library or a driver may take
minutes. An interrupt ends the wait; what was called goes on until it is done, for nobody. Only the end of the process
waits for it, until the next Ctrl-C: libraries crash, or wait for ever, when they are taken down at work.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import time
from collections.abc import Callable
from contextvars import copy_context
from threading import Thread, current_thread, get_ident, main_thread
from typing import TYPE_CHECKING, TypeVar

from tensorframe.backends.critical import critical_section
from tensorframe.forks import in_forked_processes, new_lock

if TYPE_CHECKING:
    from _thread import LockType

Result = TypeVar("Result")

# Seconds between two looks while waiting: Windows tells of an interrupt only then.
_LOOK = 0.1
# What a shell takes the end by Ctrl-C for: 128 and the number of the signal.
_INTERRUPTED = 130


# the threads that wait, by the threads that work for them
_callers: dict[int, int] = {}


def caller() -> int:
    """Return the thread that this one works for: itself, unless a call was made interruptibly."""
    own = get_ident()
    return _callers.get(own, own)


def is_interrupted_here() -> bool:
    """Whether this is the thread that receives Ctrl-C; all others never are, and need not run at the end."""
    return current_thread() is main_thread() and not _End.is_near


def run_interruptibly(call: Callable[[], Result]) -> Result:
    """Return what `call` returns, or raise what it raises; it keeps no reference to anything when it is done."""
    waiting = [call]
    results: list[Result] = []
    failures: list[BaseException] = []
    running = new_lock()
    running.acquire()
    own = caller()

    def work() -> None:
        here = get_ident()
        _callers[here] = own
        try:
            # off the list: memory that this thread still referred to could not be taken over by the next step
            results.append(waiting.pop()())
        except BaseException as error:
            failures.append(error)
        finally:
            del _callers[here]
            running.release()

    del call
    # options and NumPy's own settings are those of the caller
    thread = Thread(target=copy_context().run, args=(work,), name="tensorframe call", daemon=True)
    is_begun = False
    try:
        try:
            with critical_section():
                thread.start()
                is_begun = True
        except RuntimeError:  # the system gives no more threads
            work()
        while not running.acquire(timeout=_LOOK):
            pass
    except BaseException:
        # else nobody works, and the end of the process would wait for nobody: an interrupt may come as the lock is had
        if is_begun and not (results or failures):
            work_left(running)
        raise
    if failures:
        raise failures.pop()
    return results.pop()


# held while something works that nobody waits for any more; not the threads: Python up to 3.12 takes a thread for ended
# whose `join` was interrupted
_left: set[LockType] = set()


def work_left(running: LockType) -> None:
    """Have the end of the process wait for as long as this lock is held; call it with the lock held."""
    for other in list(_left):  # threads come and go
        if not other.locked():
            _left.discard(other)
    _left.add(running)


def _forget() -> None:
    """A forked process has none of the threads that work, or wait, but the one that it consists of."""
    own = caller()
    _callers.clear()
    if own != get_ident():
        _callers[get_ident()] = own
    _left.clear()


in_forked_processes(_forget)


# What is registered last is called first: this one finds whether the wait below was cut short. No `try` around that
# wait would do, for an interrupt that came before is raised as a function is entered, before its first line.
@atexit.register
def _end_at_once_if_interrupted() -> None:
    if any(running.locked() for running in list(_left)):
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(_INTERRUPTED)  # nothing is taken down then


class _End:
    is_near = False


# to be called when the process has nothing more to do but to end
at_the_end: list[Callable[[], object]] = []


@atexit.register
def _stop() -> None:
    _End.is_near = True
    for call in at_the_end:
        with contextlib.suppress(Exception, KeyboardInterrupt):
            call()


@atexit.register
def _wait_for_what_was_left() -> None:
    with contextlib.suppress(KeyboardInterrupt):
        while any(running.locked() for running in list(_left)):
            time.sleep(_LOOK)
