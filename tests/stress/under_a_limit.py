"""A long random program within a limit of memory: run as a program, with a device, steps, MiB, and a seed.

Tensors of up to some MiB are made of others and held; what is refused has some of them dropped. Prints a line of JSON:
the limit, the most that was taken, how many steps were refused, and how many ran.
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


def operations(draw, x):
    """Return what the next step may make of a float32 tensor."""
    size = draw.randrange(1 << 10, LARGEST)
    side = draw.randrange(30, 900)
    flat = tfr.reshape(x, (-1,))
    repeats = -(-side * side // flat.size)
    square = tfr.reshape(tfr.tile(flat[: side * side], (repeats,))[: side * side], (side, side))
    return [
        lambda: tfr.random.uniform(
            size, dtype="float32", key=tfr.random.key(size), device=x.device
        ),
        lambda: flat * 2 + 1,
        lambda: tfr.exp(-flat * flat) * 0.5,
        lambda: flat + tfr.sum(flat) * 1e-6,
        lambda: tfr.cumulative_sum(flat) * 1e-3,
        lambda: tfr.sort(flat),
        lambda: tfr.concat([flat[: LARGEST // 2], flat[: LARGEST // 2]]),
        lambda: square @ square * 1e-3,
        lambda: tfr.softmax(square, axis=1),
        lambda: square.T + 1,
        lambda: tfr.take(flat, tfr.argsort(flat[:5000])),
        lambda: flat[:: draw.randrange(1, 4)],
        lambda: tfr.where(flat > 0.5, flat, 0.25),
        lambda: tfr.var(square, axis=0),
    ]


def run(device, steps, seed):
    """Run so many steps; return how many were refused, and how many ran."""
    draw = random.Random(seed)
    start = tfr.asarray(np.ones(1000, np.float32), device=device)
    held, refused, ran = [start], 0, 0
    for _ in range(steps):
        choices = operations(draw, draw.choice(held))
        try:
            made = draw.choice(choices)().compute()
        except OutOfMemoryError:
            refused += 1
            held = [start, *held[len(held) // 2 + 1 :]]
            continue
        ran += 1
        held.append(made if made.dtype == np.float32 and made.size > 10 else start)
        if draw.random() < 0.002:
            held = [start]
    return refused, ran


def _status(name):
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (line,) = [line for line in lines if line.startswith(name)]
    return int(line.split()[1]) << 10


class Meter:
    """The most bytes that a device was asked for at once."""

    def __init__(self, pool):
        self.now = self.most = pool.statistics.in_use + pool.statistics.pooled
        queue = pool._queue
        self._sizes, self._allocate, self._release = {}, queue.allocate, queue.release
        queue.allocate, queue.release = self.allocate, self.release

    def allocate(self, nbytes):
        buffer = self._allocate(nbytes)
        self._sizes[id(buffer)] = nbytes
        self.now += nbytes
        self.most = max(self.most, self.now)
        return buffer

    def release(self, buffer):
        self.now -= self._sizes.pop(id(buffer), 0)
        self._release(buffer)


def main(device, steps, mebibytes, seed):
    """Print what came of it."""
    place = tfr.Device(device)
    tfr.config.configure(threads=2)
    on_host = backend_of(place).budget(place).name == "cpu"
    run(device, 60 if on_host else 2, 1)  # kernels are compiled, and libraries loaded, before
    gc.collect()
    tfr.memory.trim()
    meter = None if on_host else Meter(backend_of(place).open_device(place).pool)
    limit = int(mebibytes) << 20
    tfr.memory.limit(limit, device=device)
    if on_host:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    refused, ran = run(device, int(steps), int(seed))
    # pages of files are nobody's own: of libraries, and those that a kernel's file is mapped from
    most = _status("VmHWM") - _status("RssFile") if meter is None else meter.most
    found = {"limit": limit, "most": most, "refused": refused, "ran": ran}
    sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
