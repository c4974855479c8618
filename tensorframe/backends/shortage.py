"""Shortage: a thread looks once a second whether the host's memory is nearly used up, and tells whoever subscribed.

It is there only while somebody does. Plans that do not fit tell by themselves: see `Budget.admits`.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable

from tensorframe.backends.budget import Budget, Callback, Pressure, add_callback, callbacks
from tensorframe.forks import in_forked_processes, new_lock

# Seconds between two looks.
_PAUSE = 1.0
# The part of the limit that is left when memory is short.
_SHORT = 20


class Watch:
    """Looks after one budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._was_short = False
        self._thread: threading.Thread | None = None
        self._lock = new_lock()

    def add(self, callback: Callback) -> Callable[[], None]:
        """Have a function called when memory runs short; return what takes that back."""
        remove = add_callback(callback)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="tensorframe memory pressure", daemon=True
                )
                self._thread.start()
        return remove

    def look(self) -> None:
        """Call everybody if memory is short and was not when it was looked at before."""
        limit = self._budget.limit()
        room = self._budget.room()
        is_short = limit is not None and room < limit // _SHORT
        if is_short and not self._was_short:
            for callback in callbacks():
                try:
                    callback(Pressure(self._budget.name, 0, int(room)))
                except Exception:  # nobody waits here, and the others are to be told
                    traceback.print_exc()
        self._was_short = is_short

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(_PAUSE)
            with self._lock:
                if not callbacks():
                    self._thread = None
                    return
            self.look()

    def after_fork(self) -> None:
        """Go on in a child: the thread is not there."""
        self._thread = None


def watch() -> Watch:
    """Return what looks after the host's memory."""
    from tensorframe.backends.host_pool import pool

    if _State.watch is None:
        _State.watch = Watch(pool.budget)
        in_forked_processes(_State.watch.after_fork)
    return _State.watch


class _State:
    """The one of this process, once it is needed."""

    watch: Watch | None = None
