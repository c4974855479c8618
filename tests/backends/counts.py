"""What a device is asked for while something runs: kernels, transfers, and memory."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import tensorframe as tfr
from tensorframe.backends.registry import backend_of

COUNTED = ("launch", "write", "read", "copy", "allocate")


@contextmanager
def counted(device: str) -> Iterator[Counter[str]]:
    """Count the calls of a device's queue; `fresh` are the most bytes that were in use beside those before.

    Launches that are bound while this counts are counted whenever they run.
    """
    place = tfr.Device(device)
    backend: Any = backend_of(place)
    opened = backend.open_device(place)
    queue, statistics = opened.queue, opened.pool.statistics
    counts: Counter[str] = Counter()

    def counting(name: str):
        given = getattr(queue, name)

        def call(*args):
            counts[name] += 1
            return given(*args)

        return patch.object(queue, name, call)

    given_bound = queue.bound

    def bound(launches):
        run = given_bound(launches)

        def again():
            before = counts["launch"]
            run()
            counts["launch"] = before + len(launches)  # however it runs them

        return again

    patches = [*map(counting, COUNTED), patch.object(queue, "bound", bound)]
    for one in patches:
        one.start()
    before = statistics.peak = statistics.in_use
    try:
        yield counts
    finally:
        counts["fresh"] = statistics.peak - before
        for one in patches:
            one.stop()
