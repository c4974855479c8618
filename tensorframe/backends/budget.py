"""Budgets: how many bytes of a memory may be taken now, within the limit that the user set or the machine gives.

A budget belongs to a pool: that of the host, which the devices cpu, numpy and llvm share, or that of a device. To know
what is free takes a tenth of a millisecond on the host, so it is queried rarely: each answer leaves a credit, a part
of what is free, and plans that take less than what is left of it pay one comparison.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any, Protocol

from tensorframe.backends.spans import log
from tensorframe.forks import new_lock
from tensorframe.quick_tuples import NamedTuple

# Bytes that a plan may take without being compared: what it makes is nothing beside Python's own objects.
LIGHT = 1 << 16
# Bytes beside a plan's own on the host: Python's objects, stacks, kernels that are compiled meanwhile.
PYTHONS = 2 << 20
# The part of what is free that may be taken before the next query, and bytes at most: others take memory, too.
_CREDIT, _MOST_CREDIT = 4, 1 << 28
# The part of the user's limit that is reserved for untracked memory, where all of a process counts.
_UNCOUNTED = 128
# Seconds for which the user's own `trim` waits for another thread that is at the pool.
_PATIENCE = 5.0


class Accounts(Protocol):
    """The interface of a pool to its budget."""

    statistics: Any
    """Bytes `in_use`, `pooled` and at the `peak`, `allocations` and `hits`."""

    def held(self) -> int:
        """Return the bytes in use, without those that are pooled."""

    def pooled(self) -> int:
        """Return the bytes that are pooled."""

    def total(self) -> int | None:
        """Return the capacity in bytes; None where it is unknown."""

    def free(self) -> int | None:
        """Return what is free now; None where it is unknown."""

    def largest(self) -> int | None:
        """Return the most bytes that one block may have; None where that is all of the memory."""

    def trim(self, wait: float = 0.0) -> None:
        """Release what is pooled; wait at most so many seconds for threads that use the pool."""

    def compact(self) -> None:
        """Release free memory outside of the pool, as far as it counts as held."""

    def limited(self) -> None:
        """Prepare for a limit that the user has set, such as by releasing freed memory early."""


class Pressure(NamedTuple):
    """The argument of callbacks when memory runs short.

    It has the name of the memory, the bytes that are needed and the bytes that are free, so that a
    callback can decide what to drop.
    """

    memory: str
    """The name of the device whose memory runs short; `"cpu"` stands for the host."""
    needed: int
    """How many bytes are needed."""
    room: int
    """How many bytes are free."""


Callback = Callable[[Pressure], object]


class NoRoomError(MemoryError):
    """What a backend finds out does not fit before it begins: `need` bytes of a budget; `key` names what needs most."""

    def __init__(self, budget: Budget, need: int, key: str) -> None:
        super().__init__(budget.why_not(need))
        self.budget, self.need, self.key = budget, need, key


# What is called after each change of a limit.
when_limited: list[Callable[[], None]] = []


class _State:
    """What the user wants to be called; a tuple that is replaced as a whole."""

    callbacks: tuple[Callback, ...] = ()
    lock = new_lock()


def add_callback(callback: Callback) -> Callable[[], None]:
    """Have a function called when memory runs short, after those that are known; return what takes that back."""
    entry = partial(callback)  # another object each time, so that each is taken back alone

    def remove() -> None:
        with _State.lock:
            _State.callbacks = tuple([known for known in _State.callbacks if known is not entry])

    with _State.lock:
        _State.callbacks = (*_State.callbacks, entry)
    return remove


def callbacks() -> tuple[Callback, ...]:
    """Return what is called when memory runs short, the first one first."""
    return _State.callbacks


class Budget:
    """What may be taken of one memory.

    `credit` are bytes that may be taken before the next query. A pool may grow by `spare` bytes: by these, and by what
    was admitted last. `reused` are the bytes that it has given again since something was admitted. `refusals` counts
    what was refused.
    """

    __slots__ = (
        "_accounts",
        "_base",
        "_blocks",
        "_lock",
        "_uncounted",
        "credit",
        "name",
        "refusals",
        "reused",
        "spare",
    )

    def __init__(self, name: str, accounts: Accounts, uncounted: int = 0) -> None:
        """`uncounted` is the most that is reserved for untracked allocations: those of Python itself, on the host."""
        self.name = name
        self._uncounted = uncounted
        self.credit = 0
        self.spare: float = 0
        self.reused = 0
        self.refusals = 0
        self._accounts = accounts
        self._lock = new_lock()
        self._base: int | None = None
        self._blocks: tuple[tuple[object, int | None], ...] = ()

    @property
    def chosen(self) -> int | None:
        """The limit that the user set, the smallest where several blocks are open; None without one."""
        if self._blocks:
            return min([size for _, size in self._blocks if size is not None], default=None)
        return self._base

    def limit(self) -> int | None:
        """Return the limit in bytes now: the user's, or what is in use and what is available."""
        if self.chosen is not None:
            return self.chosen
        free = self._accounts.free()
        return None if free is None else self._accounts.held() + self._accounts.pooled() + free

    def room(self) -> float:
        """Return the bytes that may be taken now, with those in the pool; infinite where that is unknown."""
        free, chosen = self._accounts.free(), self.chosen
        given = inf if free is None else free + self._accounts.pooled()
        if chosen is None:
            return given
        return max(min(given, chosen - self._accounts.held() - self._reserve(chosen)), 0)

    def largest(self) -> int | None:
        """Return the most bytes that one block may have; None where that is all of the memory."""
        return self._accounts.largest()

    def _reserve(self, chosen: int) -> int:
        """Return the bytes of a limit that are reserved for untracked memory."""
        return min(chosen // _UNCOUNTED, self._uncounted)

    def admits(self, need: int) -> bool:
        """Whether so many bytes can be taken, after all that helps if need be; what is left of them is credit.

        What is pooled, tensors in cycles and the free pages of heaps go first, then what callbacks give up.
        """
        room = self.room()
        self.reused = 0
        if need > room:
            room = self.relieve(need)
        if need > room:
            self.credit, self.spare = 0, 0
            self.refusals += 1
            return False
        self._admit(need, room)
        return True

    def admits_as_it_is(self, need: int) -> bool:
        """Whether so many bytes can be taken without anything that is given up for them; what is left is credit."""
        if need <= self.credit:
            self.credit -= need
            return True
        room = self.room()
        if need > room:
            return False
        self._admit(need, room)
        return True

    def _admit(self, need: int, room: float) -> None:
        if need > room - self._accounts.pooled():
            self._accounts.trim()  # libraries allocate what the plan needs, which cannot use pooled blocks
        # pooled blocks do not serve allocations outside of the pool
        left = room - self._accounts.pooled() - need
        self.credit = int(min((room - need) / _CREDIT, left, _MOST_CREDIT))
        self.spare = need + self.credit

    def admits_light(self, need: int) -> bool:
        """Whether so few bytes can be taken: they may use half of the reserve for untracked memory."""
        chosen = self.chosen
        if chosen is None or self.room() >= need or self.relieve(need) >= need:
            return True
        if chosen - self._accounts.held() - self._reserve(chosen) // 2 >= need:
            return True
        self.refusals += 1
        return False

    def grow(self, need: int) -> None:
        """Ensure that the pool may grow by so many bytes; MemoryError if it may not, even after releasing memory."""
        if not self.admits(need):
            raise MemoryError(self.why_not(need))

    def take(self, need: int) -> None:
        """Count bytes that no plan has counted, before they are allocated; MemoryError if there is no room for them."""
        if need > self.credit:
            self.grow(need)
        else:
            self.credit -= need

    def has_room(self, need: int) -> bool:
        """Whether there is room for so many bytes beside the pool, after trimming it; callbacks are not called."""
        left = self.room() - self._accounts.pooled()
        if left < need:
            self._tidy()
            left = self.room() - self._accounts.pooled()
        self.credit -= need
        return left >= need

    def why_not(self, need: int) -> str:
        """Return why so many bytes cannot be taken, for messages."""
        from tensorframe.backends.selection import show_bytes  # for messages only

        room, chosen = int(min(self.room(), 1 << 62)), self.chosen
        limit = "" if chosen is None else f" within the limit of {show_bytes(chosen)}"
        return (
            f"{show_bytes(need)} are needed on {self.name}, and {show_bytes(room)} are left{limit}"
        )

    def relieve(self, need: int) -> float:
        """Return the room there is after everything that makes some has been tried."""
        log("evicted what %s had pooled: %d bytes are needed", self.name, need)
        self._tidy()
        waiting = callbacks()
        for callback in waiting:
            room = self.room()
            if need <= room:
                return room
            callback(Pressure(self.name, need, int(room)))
        if waiting:
            self._tidy()
        return self.room()

    def _tidy(self) -> None:
        """Collect garbage and release free memory, so that what counts as held is in use."""
        gc.collect()
        self._accounts.trim()
        self._accounts.compact()

    @property
    def statistics(self) -> Any:
        """What the pool counts, now."""
        self._accounts.pooled()
        return self._accounts.statistics

    def held(self) -> int:
        """Return the bytes that count towards the limit."""
        return self._accounts.held()

    def trim(self) -> None:
        """Release what is pooled, and free memory outside of the pool."""
        self._accounts.trim(wait=_PATIENCE)
        self._accounts.compact()

    def set(self, size: int | None) -> int | None:
        """Set the limit outside of blocks, and return what it was."""
        with self._lock:
            before, self._base = self._base, size
            self._invalidate_credit()
        if size is not None:
            self._accounts.limited()
        return before

    def begin(self, block: object, size: int | None) -> None:
        """Set the limit for a block that begins."""
        with self._lock:
            self._blocks = (*self._blocks, (block, size))
            self._invalidate_credit()
        if size is not None:
            self._accounts.limited()

    def end(self, block: object) -> None:
        """Take back the limit of a block that ends."""
        with self._lock:
            self._blocks = tuple([entry for entry in self._blocks if entry[0] is not block])
            self._invalidate_credit()

    def _invalidate_credit(self) -> None:
        self.credit, self.spare = 0, 0
        for call in when_limited:
            call()


class OneBlock:
    """The bound on a block of a memory, as a budget: what is larger does not fit, however much is free."""

    credit = 0  # what is compared with it is always looked at
    reused = 0
    chosen: int | None = None

    def __init__(self, budget: Budget, largest: int) -> None:
        self.name = budget.name
        self._largest = largest

    def room(self) -> float:
        """Return the bytes that a block may have."""
        return self._largest

    def admits(self, need: int) -> bool:
        """Whether a block may have so many bytes."""
        return need <= self._largest

    def why_not(self, need: int) -> str:
        """Return why a block cannot have so many bytes, for messages."""
        from tensorframe.backends.selection import show_bytes  # for messages only

        return (
            f"a tensor of {show_bytes(need)} is needed on {self.name}, whose buffers have "
            f"{show_bytes(self._largest)} at most"
        )
