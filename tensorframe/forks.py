"""Forks: a forked process has one thread, and a copy of everything else as the parent's other threads left it.

All locks of this package are made here, since one of those threads may have held any of them: in the child every lock
is free. So what a lock guards changes in single steps that leave it whole. What does not, because it is a compiler's or
a driver's, is either left alone while the process forks (`held_while_forking`), or of no use to the child and says so.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from _thread import LockType, RLock

_locks: WeakSet[Any] = WeakSet()
_held: list[RLock] = []  # while forking
_taken: list[RLock] = []  # by the fork that goes on now
# Where what a computation loads on the way comes from. Other imports may wait for whatever the forking thread holds.
_LOADED = frozenset({"tensorframe", "numba", "llvmlite", "numpy", "threadpoolctl", "concurrent"})


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


def held_while_forking(lock: RLock) -> None:
    """Have nobody inside while the process forks: what the lock guards cannot be left half done."""
    _held.append(lock)


def in_forked_processes(forget: Callable[[], None]) -> None:
    """Have a function called in every forked process: to forget what belongs to threads that are not there."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


def _wait_for_imports() -> None:
    """Let other threads finish their imports: a module that they leave half imported would block the child."""
    waited = True
    while waited:
        names = [name for name in list(sys.modules) if name.partition(".")[0] in _LOADED]
        waited = True in list(map(_finish, names))


def _finish(name: str) -> bool:
    """Wait until a module is imported; return whether another thread was at it."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if not getattr(spec, "_initializing", False):
        return False
    with suppress(Exception):  # the other thread tells its caller
        import_module(name)  # waits, unless this thread itself imports the module
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return not getattr(spec, "_initializing", False)


def _before() -> None:
    # one list, since a module may be loaded, and hold a lock, while this waits
    for lock in tuple(_held):
        lock.acquire()
        _taken.append(lock)
    _wait_for_imports()


def _after() -> None:
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
