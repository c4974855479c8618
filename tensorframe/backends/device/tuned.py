"""Tuned products: the tilings that `tfr.autotune` found, kept on disk for each device and driver.

As with what was measured of devices, nothing here fails: a file that cannot be read, or holds something else, is a
device that was not tuned.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from tensorframe.backends.device.queue import Queue
from tensorframe.backends.limits import identity_of, store, stored
from tensorframe.graph.device import Device
from tensorframe.kernel.groups.algorithms.blocking import Blocking
from tensorframe.kernel.groups.algorithms.tunings import Tiling

_SUFFIX = ".tuned.json"
_VERSION = 1


def keep(device: Device, queue: Queue) -> None:
    """Write what is the best on a device."""
    identity = identity_of(device)
    if identity is not None:
        best = {name: _numbers(tiling) for name, tiling in queue.tunings.best.items()}
        store(identity, _SUFFIX, {"version": _VERSION, "best": best})


def recall(device: Device, queue: Queue) -> None:
    """Have a queue that has just opened make products as was found before."""
    identity = identity_of(device)
    content = None if identity is None else stored(identity, _SUFFIX)
    if content is None or content.get("version") != _VERSION:
        return
    with suppress(AttributeError, TypeError, ValueError):
        for name, numbers in content["best"].items():
            tiling = _tiling(numbers)
            # eight bytes are the largest element that has a tile
            if tiling is not None and tiling.fits(queue.traits.lanes, 4):
                queue.tunings.best[str(name)] = tiling


def _numbers(tiling: Tiling) -> list[int]:
    tile = tiling.blocking
    return [tile.height, tile.width, tile.rows, tile.columns, tiling.depth]


def _tiling(numbers: Any) -> Tiling | None:
    height, width, rows, columns, depth = numbers
    whole = all(type(number) is int and 0 < number <= 256 for number in numbers)
    return Tiling(Blocking(height, width, rows, columns), depth) if whole else None
