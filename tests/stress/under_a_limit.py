"""A long random program within a limit of memory: run as a program, with a device, steps, MiB, and a seed.

Tensors of up to some MiB are made of others and held; what is refused has some of them dropped. Prints a line of JSON:
the limit, the most that was taken and the step that took it, how many steps were refused, and how many ran.
"""

import gc
import json
import random
import sys
from pathlib import Path

import numpy as np

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tensorframe.errors import OutOfMemoryError

LARGEST = 3 << 20  # elements
# A few sizes, so that kernels and plans are used again: a step is memory, and not compilation.
SIZES = [1 << 10, 5000, 70_001, 1 << 18, 777_777, 1 << 20, 2_000_003, LARGEST]
SIDES = [30, 128, 301, 600, 900]
# One of so many sorts, scans and matmuls is of long rows, or whole; the others are of rows of 64 elements, or of 16
# columns: devices that are software take seconds for long ones, and memory is the same.
LONG = 100


def operations(draw, x):
    """Return what the next step may make of a float32 tensor."""
    size, side, stride = draw.choice(SIZES), draw.choice(SIDES), draw.randrange(1, 4)
    is_long = draw.randrange(LONG) == 0
    inner, length = (side, min(x.size, 1 << 14)) if is_long else (16, min(x.size, 64))
    flat = tfr.reshape(x, (-1,))
    rows = tfr.reshape(flat[: x.size // length * length], (-1, length))
    repeats = -(-side * side // flat.size)
    square = tfr.reshape(tfr.tile(flat[: side * side], (repeats,))[: side * side], (side, side))
    return {
        "random": lambda: tfr.random.uniform(
            size, dtype="float32", key=tfr.random.key(size), device=x.device
        ),
        "map": lambda: flat * 2 + 1,
        "exp": lambda: tfr.exp(-flat * flat) * 0.5,
        "sum": lambda: flat + tfr.sum(flat) * 1e-6,
        "scan": lambda: tfr.cumulative_sum(rows, axis=1) * 1e-3,
        "sort": lambda: tfr.sort(rows, axis=1),
        "concat": lambda: tfr.concat([flat[: LARGEST // 2], flat[: LARGEST // 2]]),
        "matmul": lambda: square[:, :inner] @ square[:inner] * 1e-3,
        "softmax": lambda: tfr.softmax(square, axis=1),
        "transpose": lambda: square.T + 1,
        "take": lambda: tfr.take(flat, tfr.argsort(flat[:64])),
        "stride": lambda: flat[::stride],
        "where": lambda: tfr.where(flat > 0.5, flat, 0.25),
        "variance": lambda: tfr.var(square, axis=0),
    }


class HostMeter:
    """The most bytes that this process had to itself since it was read, as the system counts them."""

    def read(self):
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        sizes = {line.split()[0]: line.split()[1] for line in lines if line.endswith("kB")}
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # it begins again
        # pages of files are nobody's own: of libraries, and those that a kernel's file is mapped from
        return (int(sizes["VmHWM:"]) - int(sizes["RssFile:"])) << 10


class PoolMeter:
    """The most bytes that a device was asked for at once."""

    def __init__(self, pool):
        self._now = self._most = pool.statistics.in_use + pool.statistics.pooled
        queue = pool._queue
        self._sizes, self._allocate, self._release = {}, queue.allocate, queue.release
        queue.allocate, queue.release = self.allocate, self.release

    def allocate(self, nbytes):
        buffer = self._allocate(nbytes)
        self._sizes[id(buffer)] = nbytes
        self._now += nbytes
        self._most = max(self._most, self._now)
        return buffer

    def release(self, buffer):
        self._now -= self._sizes.pop(id(buffer), 0)
        self._release(buffer)

    def read(self):
        return self._most


class Run:
    """A random program on a device: `most` bytes were taken, `at` a step."""

    def __init__(self, device, meter):
        self.start = tfr.asarray(np.ones(1000, np.float32), device=device)
        self.meter = meter
        self.refused = self.ran = self.most = 0
        self.at = ""

    def run(self, steps, seed):
        draw, held = random.Random(seed), [self.start]
        for number in range(steps):
            name, make = draw.choice(list(operations(draw, draw.choice(held)).items()))
            try:
                made = make().compute()
                self.ran += 1
                held.append(made if made.dtype == np.float32 and made.size > 10 else self.start)
                if draw.random() < 0.002:
                    held = [self.start]
            except OutOfMemoryError:
                self.refused += 1
                held = [self.start, *held[len(held) // 2 + 1 :]]
            self._look(f"step {number}: {name}")

    def _look(self, step):
        most = self.meter.read()
        if most > self.most:
            self.most, self.at = most, step


def main(device, steps, mebibytes, seed):
    """Print what came of it."""
    place = tfr.Device(device)
    tfr.config.configure(threads=2)
    budget = backend_of(place).budget(place)
    on_host = budget.name == "cpu"
    meter = HostMeter() if on_host else PoolMeter(backend_of(place).open_device(place).pool)
    Run(place, meter).run(60, 1)  # kernels are compiled, and libraries loaded, before
    gc.collect()
    tfr.memory.trim()
    meter = HostMeter() if on_host else PoolMeter(backend_of(place).open_device(place).pool)
    limit = int(mebibytes) << 20
    tfr.memory.limit(limit, device=place)
    meter.read()
    run = Run(place, meter)
    run.run(int(steps), int(seed))
    found = {"limit": limit, "most": run.most, "at": run.at, "refused": run.refused, "ran": run.ran}
    sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
