"""Work done apart: in a thread of its own, while the caller waits, so that Ctrl-C gets through to the caller.

Python hears of an interrupt between two of its instructions only, and one call of a library or a driver may take
minutes. An interrupt ends the wait; what was called goes on until it is done, for nobody. Only the end of the process
waits for it, until the next Ctrl-C: libraries crash, or wait for ever, when they are taken down at work.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from contextvars import copy_context
from threading import Lock, Thread, current_thread, get_ident, main_thread
from typing import TypeVar

Result = TypeVar("Result")

# Seconds after which a wait is begun anew: Windows tells of an interrupt only then.
_LOOK = 0.1
# What a shell takes the end by Ctrl-C for: 128 and the number of the signal.
_INTERRUPTED = 130


# the threads that wait, by the threads that work for them
_callers: dict[int, int] = {}


def caller() -> int:
    """Return the thread that this one works for: itself, unless something is done apart."""
    own = get_ident()
    return _callers.get(own, own)


def is_interrupted_here() -> bool:
    """Whether this is the thread that is told of Ctrl-C; all others never are."""
    return current_thread() is main_thread()


def apart(call: Callable[[], Result]) -> Result:
    """Return what `call` returns, or raise what it raises; it keeps no reference to anything when it is done."""
    waiting = [call]
    results: list[Result] = []
    failures: list[BaseException] = []
    running = Lock()
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
    try:
        thread.start()
    except RuntimeError:  # the system gives no more threads
        work()
    try:
        while not running.acquire(timeout=_LOOK):
            pass
    except BaseException:
        _leave(thread)
        raise
    if failures:
        raise failures.pop()
    return results.pop()


# threads at work that nobody waits for any more
_left: set[Thread] = set()


def _leave(thread: Thread) -> None:
    _left.difference_update([one for one in _left if not one.is_alive()])
    _left.add(thread)


@atexit.register
def _wait_for_what_was_left() -> None:
    try:
        for thread in _left:
            while thread.is_alive():
                thread.join(_LOOK)
    except KeyboardInterrupt:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(_INTERRUPTED)  # nothing is taken down then
