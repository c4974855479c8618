"""Forks: a forked process has one thread, and a copy of everything else as the parent's other threads left it.

All locks of this package are made here, since one of those threads may have held any of them: in the child every lock
is free. So what a lock guards changes in single steps that leave it whole. What does not, because it is a compiler's or
a driver's, is either left alone while the process forks (`held_while_forking`), or of no use to the child and says so.
"""

from __future__ import annotations

import _imp
import os
import sys
import threading
from collections.abc import Callable
from importlib import _bootstrap  # who imports what is told nowhere else
from threading import get_ident
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from _thread import LockType, RLock

_locks: WeakSet[Any] = WeakSet()
_held: list[RLock] = []  # while forking
_taken: list[RLock] = []  # by the fork that goes on now
_LOOK = 0.001  # seconds between two looks whether other threads still import
_PATIENCE = 20.0  # seconds after which an import waits, most likely, for the thread that forks


def new_lock() -> LockType:
    """Return a lock that is free in a forked process."""
    made = threading.Lock()
    _locks.add(made)
    return made


def new_reentrant_lock() -> RLock:
    """Return a lock that its owner may take again, and that is free in a forked process unless the child owns it."""
    made: Any = threading.RLock()
    _locks.add(made)
    lock: RLock = made
    return lock


def new_condition() -> threading.Condition:
    """Return a condition whose lock is free in a forked process."""
    return threading.Condition(new_lock())


def held_while_forking(lock: RLock) -> None:
    """Have nobody inside while the process forks: what the lock guards cannot be left half done."""
    _held.append(lock)


def in_forked_processes(forget: Callable[[], None]) -> None:
    """Have a function called in every forked process: to forget what belongs to threads that are not there."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


def _are_others_importing() -> bool:
    """Whether another thread is about to import a module, or in the middle of it."""
    own, locks = get_ident(), getattr(_bootstrap, "_module_locks", {})
    return any(
        getattr(reference(), "owner", None) not in (None, own) for reference in list(locks.values())
    )


def _hold_imports() -> None:
    """Let other threads finish their imports, and begin no more: the child would wait for one left half done."""
    until = monotonic() + _PATIENCE
    _imp.acquire_lock()
    while _are_others_importing() and monotonic() < until:
        _imp.release_lock()
        sleep(_LOOK)
        _imp.acquire_lock()


def _logging_released() -> Any:
    """Release the lock of Python's logging, and return it; None if the thread that forks does not have it.

    Where `logging` was imported after this module, its lock is taken for the fork first. Threads that are waited for
    here may have something to log.
    """
    lock: Any = getattr(sys.modules.get("logging"), "_lock", None)
    if lock is None or not lock._is_owned():
        return None
    lock.release()
    return lock


def _before() -> None:
    logging = _logging_released()
    _hold_all()
    while logging is not None and not logging.acquire(timeout=_LOOK):
        _imp.release_lock()  # who logs may import
        sleep(_LOOK)
        _hold_imports()


def _hold_all() -> None:
    _hold_imports()
    while len(_taken) < len(_held):  # more of them where modules were loaded meanwhile
        _imp.release_lock()  # who has the lock may have to import something
        lock = _held[len(_taken)]
        lock.acquire()
        _taken.append(lock)
        _hold_imports()


def _after() -> None:
    if _imp.lock_held():
        _imp.release_lock()
    while _taken:
        _taken.pop().release()


def _in_child() -> None:
    for lock in list(_locks):
        if not (hasattr(lock, "_is_owned") and lock._is_owned()):
            lock._at_fork_reinit()
    _after()


if hasattr(os, "register_at_fork"):
    # registered before all others: called last before the fork, and first after it
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
