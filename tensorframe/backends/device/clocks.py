"""Clocks: how long a device says that its kernels took, without launching and waiting, for profiles."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tensorframe.backends.interruptible import caller

if TYPE_CHECKING:
    from tensorframe.backends.device.queue import Queue


class Clock:
    """Counts while it is entered what one thread launches on a queue: a lap for each step."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._ends = [0]
        self._outer: Clock | None = None
        self.launches: list[Any] = []
        """What the queue finds the times of launches by."""

    def __enter__(self) -> Clock:
        queue = self._queue
        with queue.lock:
            if not queue.clocks:
                queue.count_time(True)
            self._outer = queue.clocks.get(caller())
            queue.clocks[caller()] = self
        return self

    def __exit__(self, *_: object) -> None:
        queue = self._queue
        with queue.lock:
            del queue.clocks[caller()]
            if self._outer is not None:
                queue.clocks[caller()] = self._outer
            elif not queue.clocks:
                queue.count_time(False)

    def lap(self) -> None:
        """Note that what was launched since the lap before was one step's."""
        self._ends.append(len(self.launches))

    def laps(self) -> list[int | None]:
        """Return the nanoseconds of each lap, after all work is done; None of one that launched nothing."""
        with self._queue.lock:
            times = self._queue.nanoseconds(self.launches)
        return [
            sum(times[first:end]) if end > first else None for first, end in pairwise(self._ends)
        ]
