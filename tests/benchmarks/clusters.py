"""W25: expressions in 256 blocks on Dask's device beside `dask.array`: tasks, and seconds of this process's processors.

`python -m tests.benchmarks.clusters [elements along an axis]`. Tasks are counted as they run, by Dask's own scheduler
of threads, whatever gives blocks that are there left out. Seconds are the least of three runs, of planning and tasks.
What Dask costs is measured in blocks of 16 MiB on one thread, by turns beside the cpu with one thread: the same kernels
on the same blocks, and one kernel on all of them.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any
from unittest.mock import patch

import dask
import dask.array as da
import numpy as np
from dask.callbacks import Callback
from threadpoolctl import threadpool_limits

import tensorframe as tfr
from tensorframe.backends import registry
from tensorframe.errors import KernelError
from tests.benchmarks.tables import Table

Expression = Callable[[Any, Any], Any]
SIZE, BLOCKS = 4096, 16
# seconds of a run that is not repeated
_LONG = 2.0
# rows and columns of float32 in a block of 16 MiB, and how many of these lie below each other
LARGE, BELOW = (2048, 2048), 8


def w1(xp: Any, x: Any) -> Any:
    """Elementwise, in a chain."""
    return xp.exp(-x * x) * xp.sin(x) + x / (1 + x * x)


def softmax(xp: Any, x: Any) -> Any:
    """As one would write it."""
    e = xp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(xp: Any, x: Any) -> Any:
    """Rows of mean 0 and variance 1."""
    return (x - x.mean(axis=1, keepdims=True)) / xp.sqrt(x.var(axis=1, keepdims=True) + 1e-5)


def stencil(_: Any, x: Any) -> Any:
    """Of five slices."""
    return 4 * x[1:-1, 1:-1] - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:]


# name -> the expression, and whether blocks are rows rather than squares
EXPRESSIONS: dict[str, tuple[Expression, bool]] = {
    "a chain of maps": (w1, False),
    "the same, and its sum": (lambda xp, x: w1(xp, x).sum(), False),
    "softmax of rows": (softmax, True),
    "layer norm of rows": (layer_norm, True),
    "a stencil of five slices": (stencil, False),
    "a product": (lambda _, x: x @ x, False),
    "positions of maxima": (lambda xp, x: xp.argmax(x, axis=0), False),
    "differences from a mean": (lambda _, x: x - x.mean(axis=0), False),
    "a variance": (lambda _, x: x.var(axis=0), False),
    "a transpose in a chain": (lambda _, x: x.T * 2 + 1, False),
}
PLANNED = (
    "a chain of maps",
    "the same, and its sum",
    "a variance",
    "a stencil of five slices",
)


class _Counted(Callback):
    def __init__(self, given: str) -> None:
        super().__init__(posttask=self._count)
        self.tasks, self._given = 0, given

    def _count(self, key: Any, *_: Any) -> None:
        self.tasks += self._given not in str(key)


def measured(run: Callable[[], Any], given: str) -> tuple[int, float]:
    """Return how many tasks a run takes, and the least seconds of processors of three; a long one runs once."""
    best = np.inf
    for turn in range(3):
        if turn and best > _LONG:
            break
        gc.collect()
        with _Counted(given) as counted:
            began = time.process_time()
            run()
            best = min(best, time.process_time() - began)
    return counted.tasks, best


def _computed(expression: Expression, x: Any) -> None:
    expression(tfr, x).compute()


def _persisted(expression: Expression, x: Any) -> None:
    expression(da, x).persist()


def planned(expression: Expression, count: int) -> float:
    """Return the least microseconds of three that the graph of an expression takes for each of so many blocks."""
    side = int(count**0.5)
    source = da.zeros((side * 10, side * 10), chunks=10, dtype=np.float32)
    x = tfr.from_native(source)
    backend = registry.backend_of(x.device)
    best = np.inf
    for _ in range(3):
        gc.collect()
        with patch.object(backend, "settle", side_effect=_EnoughError), suppress(KernelError):
            began = time.process_time()
            expression(tfr, x).compute()
        best = min(best, time.process_time() - began)
    return best / side**2 * 1e6


def lost(expression: Expression, turns: int = 21) -> tuple[float, float]:
    """Return the share of processors' seconds that Dask's blocks of 16 MiB take more than runs without Dask.

    The first is beside the same kernels, which run on blocks one after the other, and the second beside one on all.
    """
    rows, columns = LARGE
    values = np.random.default_rng(0).standard_normal((rows * BELOW, columns)).astype(np.float32)
    on_dask = tfr.from_native(da.from_array(values, chunks=LARGE).persist())
    # blocks have the rows that they see of the next one, as tasks have
    seen = rows + 2 if expression is stencil else rows
    blocks = [_on_cpu(values[first : first + seen]) for first in range(0, len(values), rows)]
    ways: tuple[Callable[[], Any], ...] = (
        partial(_computed, expression, on_dask),
        lambda: [expression(tfr, block).compute() for block in blocks],
        partial(_computed, expression, _on_cpu(values)),
    )
    least = [np.inf] * len(ways)
    order = np.random.default_rng(1)
    with dask.config.set(scheduler="synchronous"):
        for _ in range(turns):
            # the order changes: free memory is queried once in some 256 MiB, by whoever has its turn
            for place in order.permutation(len(ways)):
                gc.collect()
                began = time.process_time()
                ways[place]()
                least[place] = min(least[place], time.process_time() - began)
    return least[0] / least[1] - 1, least[0] / least[2] - 1


def _on_cpu(values: np.ndarray[Any, Any]) -> tfr.Tensor:
    return tfr.asarray(values, device="cpu").compute()


class _EnoughError(Exception):
    """Raised where a graph would run."""


def loss() -> Table:
    """Return what blocks of 16 MiB lose to kernels without Dask."""
    with tfr.config.override(threads=1):
        found = {name: lost(EXPRESSIONS[name][0]) for name in list(EXPRESSIONS)[:5]}
    rows = [[name, *[f"{more:+.1%}" for more in both]] for name, both in found.items()]
    head = ["on Dask, blocks of 16 MiB", "beside the same kernels", "beside one kernel on all"]
    return Table("", head, rows, range(1, 3))


def graphs() -> Table:
    """Return what the graphs of 100,000 blocks take to build."""
    rows = [[name, f"{planned(EXPRESSIONS[name][0], 100_000):.1f} us"] for name in PLANNED]
    return Table("", ["graph of 100,000 blocks", "for each"], rows, range(1, 2))


def tasks(size: int) -> Table:
    """Return tasks and seconds of processors for matrices of that size in 256 blocks."""
    values = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)
    rows = []
    for name, (expression, by_rows) in EXPRESSIONS.items():
        chunks = (size // BLOCKS**2, size) if by_rows else (size // BLOCKS, size // BLOCKS)
        source = da.from_array(values, chunks=chunks).persist()
        x = tfr.from_native(source)
        ours = measured(partial(_computed, expression, x), source.name)
        theirs = measured(partial(_persisted, expression, source), source.name)
        seconds = [f"{took:.2f} s" for _, took in (ours, theirs)]
        rows.append([name, f"{ours[0]:,}", f"{theirs[0]:,}", *seconds])
    head = [f"{size} x {size} float32 in {BLOCKS**2} blocks", "tasks", "of dask.array"]
    return Table("", [*head, "processors", "of dask.array"], rows, range(1, 5))


def main(size: int = SIZE) -> Iterator[Table]:
    """Yield the three tables as they are measured."""
    # threads of BLAS below threads of Dask wait for each other: dask.array's products took minutes
    with dask.config.set(scheduler="threads", num_workers=2), threadpool_limits(1):
        yield loss()
        yield graphs()
        yield tasks(size)


if __name__ == "__main__":
    for table in main(*map(int, sys.argv[1:])):
        sys.stdout.write(f"{table}\n\n")
