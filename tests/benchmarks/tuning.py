"""Matrix products on OpenCL and WebGPU before and after `tfr.autotune`: `python -m tests.benchmarks.tuning [devices]`.

Ten shapes are tuned in a cache of their own, then run both ways by turns, and checked to be the same to the last bit.
Times are the fastest of some rounds, each of which waits for the device. Where none was kept, both are of one kernel:
what they differ by is chance. `--cpu-time` takes the process's CPU time, for drivers that run on the processor (PoCL,
llvmpipe) of a machine that does other things beside; `--shapes 3` takes the first three shapes alone, `3:6` the next
three.
"""

from __future__ import annotations

import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tensorframe as tfr
from tensorframe.backends.device import program
from tensorframe.backends.registry import backend_of, forget_plans
from tests.benchmarks.machine import load_average

# rows, inner axis and columns: squares, flat and upright ones, one row, a few columns, odd sizes
SHAPES = (
    (64, 64, 64),
    (128, 128, 128),
    (256, 256, 256),
    (33, 70, 41),
    (1, 512, 256),
    (256, 512, 1),
    (300, 16, 300),
    (16, 500, 16),
    (100, 100, 10),
    (200, 30, 90),
)
ROUNDS = 8

Clock = Callable[[], float]


def seconds(a: Any, b: Any, clock: Clock) -> tuple[float, Any]:
    """Return how long a product took, and what came out."""
    began = clock()
    result = (a @ b).numpy()
    return clock() - began, result


def by_turns(found: Any, a: Any, b: Any, clock: Clock) -> list[float]:
    """Return the fastest time of a product without and with what was found for a device."""
    ways: list[tuple[Any, Any]] = [({}, {}), (dict(found.best), dict(found.kernels))]
    fastest: list[float] = [float("inf")] * 2
    results: list[Any] = [None] * 2
    for _ in range(ROUNDS):
        for place, (found.best, found.kernels) in enumerate(ways):
            program.forget()
            forget_plans()
            seconds(a, b, clock)  # which makes the kernel
            took, results[place] = min(
                (seconds(a, b, clock) for _ in range(3)), key=lambda pair: pair[0]
            )
            fastest[place] = min(fastest[place], took)
    np.testing.assert_array_equal(*results)
    return fastest


def measure(device: str, shape: Sequence[int], clock: Clock) -> str:
    """Return the line of one shape."""
    rows, length, columns = shape
    generator = np.random.default_rng(0)
    a, b = [
        tfr.asarray(generator.standard_normal(size, np.float32), device=device).compute()
        for size in ((rows, length), (length, columns))
    ]
    tried = sum(kernel.tried for kernel in tfr.autotune(a @ b).kernels)
    place = tfr.Device(device)
    found = backend_of(place).open_device(place).queue.tunings  # type: ignore[attr-defined]
    kept = "kept" if found.best or found.kernels else "as it was"
    before, after = by_turns(found, a, b, clock)
    found.best, found.kernels = {}, {}
    times = f"{1e6 * before:9.0f} {1e6 * after:9.0f} us  {after / before:5.2f}"
    return f"{device:8} {rows:4} x {length:4} x {columns:4} {times}  {tried:3} tried, {kept:9}"


def main() -> None:
    """Print a line for each device and shape."""
    parser = ArgumentParser()
    parser.add_argument("devices", nargs="*")
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--shapes", default=str(len(SHAPES)), help="how many, or FIRST:LAST")
    given = parser.parse_args()
    shapes = SHAPES[slice(*map(int, given.shapes.split(":")))]
    clock = time.process_time if given.cpu_time else time.perf_counter
    devices = given.devices or [
        name for name in ("opencl", "wgpu") if name in tfr.backends.available()
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        tfr.config.override(cache_dir=folder, small_size=0, small_nodes=0),
    ):
        for device in devices:
            for shape in shapes:
                sys.stdout.write(f"{measure(device, shape, clock)}  load {load_average():.0f}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
