"""The table of a GPU, by one command: `python -m tests.benchmarks.gpu [--device cuda] [--markdown PATH] ...`.

Each line is the best of several calls under `jit`, the device idle before and after, as a share of what the device
copies: bytes that have to move over the bandwidth of its own copy. CuPy, and PyTorch's compiler, compute the same
beside it where they have the device. `--markdown` writes the page line by line, so that a run that is cut short leaves
what it measured; `--only` takes the lines that begin so; `--scale` divides sizes, to try the command on a device of
software; `--conformance` checks first that the device computes as NumPy does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import tensorframe as tfr
from tensorframe.backends.device.engine import KernelBackend
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


def best(call: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """Return the least seconds of a call, from an idle device to an idle device."""
    for _ in range(3):
        call()
    times: list[float] = []
    end = perf_counter() + SECONDS
    while len(times) < 5 or perf_counter() < end:
        wait()
        start = perf_counter()
        call()
        wait()
        times.append(perf_counter() - start)
    return min(times)


class Clock:
    """Measures calls on a device."""

    def __init__(self, device: tfr.Device) -> None:
        self._backend = backend_of(device)
        self._device = device
        self.bandwidth = 0.0

    def best(self, call: Callable[[], Any]) -> float:
        """Return the least seconds of a call."""
        return best(call, lambda: self._backend.synchronize(self._device))

    def measure_copy(self, nbytes: int) -> float:
        """Return the bytes that the device reads and writes in a second while it copies."""
        assert isinstance(self._backend, KernelBackend)
        place = self._backend.open_device(self._device)
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
    call = tfr.jit(partial(work.program, tfr))
    seconds = clock.best(lambda: tfr.compute(call(*given)))
    cells = [work.name, _time(seconds / work.steps), _share(work, seconds, clock.bandwidth)]
    beside = PEERS if device.backend in ("cuda", "rocm") else {}
    cells += [_beside(peer, work, given, seconds) if beside else "" for peer in PEERS.values()]
    return f"| {' | '.join(cells)} |"


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def _share(work: Work, seconds: float, bandwidth: float) -> str:
    if work.bytes_moved:
        moved = work.bytes_moved / seconds
        return f"{moved / 1e9:.0f} GB/s, {moved / bandwidth:.0%} of a copy"
    return f"{work.flops / seconds / 1e12:.2f} TFLOP/s" if work.flops else ""


Peer = Callable[[Work, Sequence[tfr.Tensor]], float]


def by_cupy(work: Work, given: Sequence[tfr.Tensor]) -> float:
    """Return the seconds that CuPy takes, with a kernel for each op."""
    import cupy

    with cupy.cuda.Device(given[0].device.index):
        arrays = [cupy.from_dlpack(one) for one in given]
        stream = cupy.cuda.get_current_stream()
        return best(lambda: work.program(cupy, *arrays), stream.synchronize)


class _AsNumPy:
    """PyTorch under the names that programs here call."""

    def __init__(self, torch: Any) -> None:
        self.exp, self.sin, self.sqrt = torch.exp, torch.sin, torch.sqrt
        self._torch = torch

    def max(self, x: Array, *, axis: int, keepdims: bool) -> Array:
        """Return the largest elements."""
        return self._torch.amax(x, dim=axis, keepdim=keepdims)

    def sum(self, x: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
        """Return sums."""
        return self._torch.sum(x, dim=axis, keepdim=keepdims)

    def mean(self, x: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
        """Return means."""
        return self._torch.mean(x, dim=axis, keepdim=keepdims)

    def var(self, x: Array) -> Array:
        """Return the variance of all elements."""
        return self._torch.var(x, correction=0)


def by_torch(work: Work, given: Sequence[tfr.Tensor]) -> float:
    """Return the seconds that a function takes which PyTorch has compiled."""
    import torch

    arrays = [torch.from_dlpack(one) for one in given]
    compiled = torch.compile(partial(work.program, _AsNumPy(torch)))
    return best(lambda: compiled(*arrays), torch.cuda.synchronize)


PEERS: dict[str, Peer] = {"CuPy": by_cupy, "PyTorch, compiled": by_torch}
_MODULES: dict[Peer, str] = {by_cupy: "cupy", by_torch: "torch"}


def _beside(peer: Peer, work: Work, given: Sequence[tfr.Tensor], seconds: float) -> str:
    """Return what a peer takes on the same device; nothing where it is not installed."""
    if find_spec(_MODULES[peer]) is None:
        return ""
    try:
        other = peer(work, given)
    except Exception as error:  # a peer's failure is a line of the table
        return type(error).__name__
    return f"{_time(other / work.steps)}, {other / seconds:.2f}x ours"


def lines(said: argparse.Namespace, failed: list[str]) -> Iterator[str]:
    """Yield the lines of the page; what does not run goes to `failed`."""
    device = tfr.Device(said.device)
    info, clock = info_of(device), Clock(device)
    copied = clock.measure_copy(int((1 << 30) / said.scale))
    scaled = f", sizes divided by {said.scale:g}" if said.scale != 1 else ""
    yield f"{info.name}, {info.driver}; it copies {copied / 1e9:.0f} GB/s{scaled}."
    yield f"{datetime.now(UTC):%Y-%m-%d %H:%M}, tensorframe {tfr.__version__}.\n"
    yield f"| workload | time | share | {' | '.join(PEERS)} |"
    yield f"| --- | ---: | --- |{' --- |' * len(PEERS)}"
    for work in works(said.scale):
        if not work.name.startswith(said.only):
            continue
        try:
            yield line(work, device, clock)
        except (MemoryError, tfr.errors.TensorFrameError) as error:
            failed.append(f"{work.name}: {error!r}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and write it; 1 if something did not run."""
    parser = argparse.ArgumentParser(prog="tests.benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--conformance", action="store_true")
    said = parser.parse_args(arguments)
    page, failed = ["# Measured on a GPU", ""], list[str]()
    if said.conformance:
        page.append(f"{conformance(backend_of(tfr.Device(said.device)))}\n")
        print(page[-1], flush=True)  # noqa: T201
    for text in lines(said, failed):
        print(text, flush=True)  # noqa: T201
        page.append(text)
        if said.markdown is not None:
            said.markdown.write_text("\n".join(page) + "\n", encoding="utf-8")
    print("\n".join(failed), file=sys.stderr)  # noqa: T201
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
