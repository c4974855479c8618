"""Tuned kernels: what `tfr.autotune` found, cached on disk for each device and driver.

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
from tensorframe.kernel.groups.choices import FORMS, Choice

_SUFFIX = ".tuned.json"
_VERSION = 1
_MOST = 300  # products, and other kernels: the file has to stay as small as such files may be


def keep(device: Device, queue: Queue) -> None:
    """Write what is the best on a device: of what was found last, as much as the file may have."""
    identity = identity_of(device)
    if identity is None:
        return
    best = [(name, _numbers(tiling)) for name, tiling in queue.tunings.best.items()]
    kernels = [(name, list(choice)) for name, choice in queue.tunings.kernels.items()]
    content = {"best": dict(best[-_MOST:]), "kernels": dict(kernels[-_MOST:])}
    store(identity, _SUFFIX, {"version": _VERSION, **content})


def recall(device: Device, queue: Queue) -> None:
    """Have a queue that has just opened make kernels as was found before."""
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
    with suppress(AttributeError, KeyError, TypeError, ValueError):
        for name, facts in content["kernels"].items():
            choice = _choice(facts)
            if choice is not None:
                queue.tunings.kernels[str(name)] = choice


def _numbers(tiling: Tiling) -> list[int]:
    tile = tiling.blocking
    return [tile.height, tile.width, tile.rows, tile.columns, tiling.depth]


def _tiling(numbers: Any) -> Tiling | None:
    height, width, rows, columns, depth = numbers
    whole = all(type(number) is int and 0 < number <= 256 for number in numbers)
    return Tiling(Blocking(height, width, rows, columns), depth) if whole else None


def _choice(facts: Any) -> Choice | None:
    """Return a choice; whether a kernel leaves it open is seen when it is made."""
    form, *numbers = facts
    lanes, width, turns = numbers
    whole = all(type(number) is int and 0 < number <= 1024 for number in numbers)
    return Choice(form, lanes, width, turns) if whole and form in FORMS else None
