"""Timestamps: when the device began and ended launches, by its own clock, for profiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import wgpu

from tensorframe.backends.wgpu.recording import Memory

# of a set of queries: the most that WebGPU allows
_QUERIES = 4096
_BYTES = 8  # of a timestamp


class Timestamps:
    """Two queries for each launch, in as many sets as it takes; launches are numbers."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._sets: list[Any] = []
        self._used = 0

    def begin(self) -> None:
        """Use queries again: nobody asks for what they were before."""
        self._used = 0

    def another(self) -> int:
        """Return the number of another launch."""
        number, self._used = self._used, self._used + 1
        if 2 * self._used > len(self._sets) * _QUERIES:
            kind = wgpu.QueryType.timestamp
            self._sets.append(self._device.create_query_set(type=kind, count=_QUERIES))
        return number

    def writes(self, launch: int) -> dict[str, Any]:
        """Return how the compute pass of a launch begins and ends."""
        which, first = divmod(2 * launch, _QUERIES)
        return {
            "query_set": self._sets[which],
            "beginning_of_pass_write_index": first,
            "end_of_pass_write_index": first + 1,
        }

    def nanoseconds(
        self, launches: Sequence[int], read: Callable[[Memory, int, int], Any]
    ) -> list[int]:
        """Return how long launches took that are over; `read` gives bytes of a buffer."""
        if not launches:
            return []
        nbytes = len(self._sets) * _QUERIES * _BYTES
        usage = wgpu.BufferUsage.QUERY_RESOLVE | wgpu.BufferUsage.COPY_SRC
        buffer = self._device.create_buffer(size=nbytes, usage=usage)
        encoder = self._device.create_command_encoder()
        for number, queries in enumerate(self._sets):
            used = min(2 * self._used - number * _QUERIES, _QUERIES)
            if used > 0:
                encoder.resolve_query_set(queries, 0, used, buffer, number * _QUERIES * _BYTES)
        self._device.queue.submit([encoder.finish()])
        ticks = read(Memory(buffer, nbytes), 0, 2 * self._used * _BYTES).view(np.uint64)
        spent = np.diff(ticks.reshape(-1, 2).astype(np.int64), axis=1)[:, 0] * self._period()
        return [int(spent[launch]) for launch in launches]

    def _period(self) -> float:
        """Return the nanoseconds of a tick, which WebGPU's interface leaves to the implementation's own."""
        from wgpu.backends.wgpu_native import lib  # the only way there is in wgpu

        return float(lib.wgpuQueueGetTimestampPeriod(self._device.queue._internal))
