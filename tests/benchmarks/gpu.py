"""The table of a GPU, by one command: `python -m tests.benchmarks.gpu [--device cuda] [--scale 1] [--conformance]`.

Each line is the best of several calls under `jit`, the device idle before and after, as a share of what the device
copies: bytes that have to move over the bandwidth of its own copy. CuPy, where it has the device, computes the same
beside it with a kernel for each op. `--scale` divides sizes, to try the command on a device of software;
`--conformance` checks first that the device computes as NumPy does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import tensorframe as tfr
from tensorframe.backends.registry import backend_of, info_of
from tensorframe.testing.conformance import conformance

Array = Any
SECONDS = 1.0


@dataclass(frozen=True)
class Work:
    """A program of a namespace and operands, and what it has to move or to compute."""

    name: str
    program: Callable[..., Array]
    shapes: tuple[tuple[int, ...], ...]
    bytes_moved: int = 0
    flops: int = 0
    dtype: str = "float32"
    steps: int = 1


def expression(xp: Any, a: Array, b: Array) -> Array:
    """W1."""
    return xp.exp(-a * a) * xp.sin(b) + a / (1 + b * b)


def softmax(xp: Any, x: Array) -> Array:
    """W2, in what every namespace has."""
    e = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)


def layer_norm(xp: Any, x: Array) -> Array:
    """W5, without scale and shift."""
    centred = x - xp.mean(x, axis=1, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred * centred, axis=1, keepdims=True) + 1e-5)


def small_steps(xp: Any, x: Array) -> Array:
    """Kernels that cannot be one: each needs all of the last one's rows."""
    for _ in range(20):
        x = softmax(xp, x.T)
    return x


def works(scale: float) -> list[Work]:
    """Return the lines of the table, with sizes divided by `scale`."""
    count = int((256 << 20) / scale)
    rows, side = int(32768 / scale) or 1, int(8192 / scale ** (1 / 3))
    table = (rows, 4096)
    size = rows * 4096
    return [
        Work("expression, 256 M", expression, ((count,), (count,)), 12 * count),
        Work("softmax, 32768x4096", softmax, (table,), 8 * size),
        Work("layer norm, 32768x4096", layer_norm, (table,), 8 * size),
        Work("sum, 256 M", lambda xp, x: xp.sum(x), ((count,),), 4 * count),
        Work("mean, 256 M", lambda xp, x: xp.mean(x), ((count,),), 4 * count),
        Work("variance, 256 M", lambda xp, x: xp.var(x), ((count,),), 4 * count),
        Work("sum of rows, 32768x4096", lambda xp, x: xp.sum(x, axis=1), (table,), 4 * size),
        Work("sum of columns, 32768x4096", lambda xp, x: xp.sum(x, axis=0), (table,), 4 * size),
        Work("product, 8192, float32", _product, ((side, side),) * 2, flops=2 * side**3),
        Work("product, 8192, float16", _product, ((side, side),) * 2, 0, 2 * side**3, "float16"),
        Work("20 small kernels, each", small_steps, ((64, 64),), steps=20),
    ]


def _product(_xp: Any, x: Array, y: Array) -> Array:
    return x @ y


class Clock:
    """Measures calls on a device."""

    def __init__(self, device: tfr.Device) -> None:
        self._backend = backend_of(device)
        self._device = device
        self.bandwidth = 0.0

    def best(self, call: Callable[[], Any]) -> float:
        """Return the least seconds of a call, from an idle device to an idle device."""
        for _ in range(3):
            call()
        times: list[float] = []
        end = perf_counter() + SECONDS
        while len(times) < 5 or perf_counter() < end:
            self._backend.synchronize(self._device)
            start = perf_counter()
            call()
            self._backend.synchronize(self._device)
            times.append(perf_counter() - start)
        return min(times)

    def measure_copy(self, nbytes: int) -> float:
        """Return the bytes that the device reads and writes in a second while it copies."""
        place = self._backend.place(self._device)  # type: ignore[attr-defined] # of devices with kernels
        source, target = place.pool.block(nbytes), place.pool.block(nbytes)

        def copy() -> None:
            with place.queue.lock:
                place.queue.copy(source.buffer, 0, target.buffer, 0, nbytes)

        self.bandwidth = 2 * nbytes / self.best(copy)
        return self.bandwidth


def operands(work: Work, device: tfr.Device) -> list[tfr.Tensor]:
    """Return computed operands, made on the device."""
    drawn = []
    for index, shape in enumerate(work.shapes):
        key = tfr.random.key(index)
        drawn.append(tfr.random.uniform(shape, key=key, device=device).astype(work.dtype))
    tfr.compute(*drawn)
    return drawn


def line(work: Work, device: tfr.Device, clock: Clock) -> str:
    """Return a line of the table."""
    given = operands(work, device)
    seconds = clock.best(partial(tfr.jit(partial(work.program, tfr)), *given))
    cells = [work.name, _time(seconds / work.steps), _share(work, seconds, clock.bandwidth)]
    cells.append(_beside(work, given, seconds))
    return f"| {' | '.join(cells)} |"


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def _share(work: Work, seconds: float, bandwidth: float) -> str:
    if work.bytes_moved:
        moved = work.bytes_moved / seconds
        return f"{moved / 1e9:.0f} GB/s, {moved / bandwidth:.0%} of a copy"
    return f"{work.flops / seconds / 1e12:.2f} TFLOP/s" if work.flops else ""


def _beside(work: Work, given: list[tfr.Tensor], seconds: float) -> str:
    """Return what CuPy takes, where it computes on the same device."""
    device = given[0].device
    if device.backend not in ("cuda", "rocm"):
        return ""
    import cupy

    with cupy.cuda.Device(device.index):
        arrays = [backend_of(device).native(one.node.storage) for one in given]
        stream = cupy.cuda.get_current_stream()

        def call() -> None:
            work.program(cupy, *arrays)
            stream.synchronize()

        for _ in range(3):
            call()
        times: list[float] = []
        end = perf_counter() + SECONDS
        while len(times) < 5 or perf_counter() < end:
            start = perf_counter()
            call()
            times.append(perf_counter() - start)
    return f"{_time(min(times) / work.steps)}, {min(times) / seconds:.2f}x ours"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="tests.benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--conformance", action="store_true")
    said = parser.parse_args()
    device = tfr.Device(said.device)
    info = info_of(device)
    if said.conformance:
        print(f"{conformance(backend_of(device))}\n", flush=True)  # noqa: T201
    clock = Clock(device)
    copied = clock.measure_copy(int((1 << 30) / said.scale))
    scaled = f", sizes divided by {said.scale:g}" if said.scale != 1 else ""
    heading = f"{info.name}, {info.driver}; it copies {copied / 1e9:.0f} GB/s{scaled}"
    print(f"{heading}\n\n| workload | time | share | CuPy |\n| --- | ---: | --- | --- |")  # noqa: T201
    failed = 0
    for work in works(said.scale):
        try:
            print(line(work, device, clock), flush=True)  # noqa: T201
        except (MemoryError, tfr.errors.TensorFrameError) as error:
            failed += 1
            print(f"| {work.name} | {error!r} |", file=sys.stderr)  # noqa: T201
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
