"""Work done apart: in a thread of its own, while the caller waits, so that Ctrl-C gets through to the caller.

Python hears of an interrupt between two of its instructions only, and one call of a library or a driver may take
minutes. An interrupt ends the wait; what was called goes on until it is done, for nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from threading import Lock, Thread, current_thread, get_ident, main_thread
from typing import TypeVar

Result = TypeVar("Result")

# Seconds after which a wait is begun anew: Windows tells of an interrupt only then.
_LOOK = 0.1


# the threads that wait, by the threads that work for them
_callers: dict[int, int] = {}


def caller() -> int:
    """Return the thread that this one works for: itself, unless something is done apart."""
    own = get_ident()
    return _callers.get(own, own)


def is_interrupted_here() -> bool:
    """Whether this is the thread that is told of Ctrl-C; all others never are."""
    return current_thread() is main_thread()


def apart(
    call: Callable[[], Result], when_left: Callable[[], Callable[[], None]] | None = None
) -> Result:
    """Return what `call` returns, or raise what it raises; it keeps no reference to anything when it is done.

    `when_left` is called once the wait has been interrupted, and what it returns when the call has ended at last.
    """
    waiting = [call]
    endings: list[Callable[[], None]] = []
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
            _end(endings)

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
        if when_left is not None:
            endings.append(when_left())
            if running.acquire(
                blocking=False
            ):  # it has ended meanwhile, and may not have seen this ending
                _end(endings)
        raise
    if failures:
        raise failures.pop()
    return results.pop()


def _end(endings: list[Callable[[], None]]) -> None:
    # each once, whichever thread comes first
    with suppress(IndexError):
        while True:
            endings.pop()()
