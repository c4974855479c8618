"""Watching memory: what becomes of the pools of devices between two moments."""

from __future__ import annotations

from dataclasses import replace

from tensorframe.backends.device.memory import Pool, Statistics, pools


class Watch:
    """Sees all pools of this process from now on until it ends, those that are opened meanwhile included."""

    def __init__(self) -> None:
        self._before: dict[Pool, Statistics] = {}
        self._seen: dict[Pool, Statistics] = {}
        for pool in list(pools):
            now = pool.statistics
            self._before[pool] = replace(now)
            self._seen[pool] = replace(now, peak=now.in_use)
            pool.watches.append(self._seen[pool])

    def statistics(self) -> dict[str, Statistics]:
        """Return, by device: bytes in use and kept now, the most that were in use, and blocks asked of the device."""
        counts_by_pool = {}
        for pool in list(pools):
            now = pool.statistics
            seen, before = self._seen.get(pool, now), self._before.get(pool, Statistics())
            asked = now.allocations - before.allocations
            counts_by_pool[pool.name] = replace(now, peak=seen.peak, allocations=asked)
        return counts_by_pool

    def end(self) -> None:
        """Look no longer."""
        for pool, seen in self._seen.items():
            pool.watches[:] = [watch for watch in pool.watches if watch is not seen]
