"""A device's clock: the least seconds of a call, from an idle device to an idle device, and what a copy takes."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import tensorframe as tfr
from tensorframe.backends.device.engine import KernelBackend
from tensorframe.backends.registry import backend_of


def best(call: Callable[[], Any], wait: Callable[[], Any], seconds: float) -> float:
    """Return the least seconds of a call, which is made for so many seconds, and five times at least."""
    for _ in range(3):
        call()
    times: list[float] = []
    end = perf_counter() + seconds
    while len(times) < 5 or perf_counter() < end:
        wait()
        start = perf_counter()
        call()
        wait()
        times.append(perf_counter() - start)
    return min(times)


class Clock:
    """Measures calls on a device, each for so many `seconds`."""

    def __init__(self, device: tfr.Device, seconds: float) -> None:
        self._backend = backend_of(device)
        self.device = device
        self.seconds = seconds
        self.bandwidth = 0.0

    def best(self, call: Callable[[], Any]) -> float:
        """Return the least seconds of a call."""
        return best(call, lambda: self._backend.synchronize(self.device), self.seconds)

    def measure_copy(self, nbytes: int) -> float:
        """Return the bytes that the device reads and writes in a second while it copies."""
        self.bandwidth = 2 * nbytes / self.best(self._copy(nbytes))
        return self.bandwidth

    def _copy(self, nbytes: int) -> Callable[[], None]:
        if not isinstance(self._backend, KernelBackend):  # the host: to try the command
            read, written = np.zeros((2, nbytes), np.uint8)
            return lambda: np.copyto(written, read)
        place = self._backend.open_device(self.device)
        source, target = place.pool.block(nbytes), place.pool.block(nbytes)

        def copy() -> None:
            with place.queue.lock:
                place.queue.copy(source.buffer, 0, target.buffer, 0, nbytes)

        return copy


def time_of(seconds: float) -> str:
    """Return seconds as people read them."""
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def share_of(nbytes: int, seconds: float, bandwidth: float) -> str:
    """Return how fast bytes moved, and beside a copy."""
    return f"{nbytes / seconds / 1e9:.0f} GB/s, {nbytes / seconds / bandwidth:.0%} of a copy"
