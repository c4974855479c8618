"""What runs inside a task: a region, by the kernels of the cpu, on blocks that are NumPy arrays.

Nothing here knows of graphs or schedulers. A call is pickled with each task, so it is small: regions travel as ops by
name, and each process compiles a region once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends.base import Program
from tensorframe.backends.numpy.blas import one_thread
from tensorframe.graph.device import CPU
from tensorframe.graph.region import Region
from tensorframe.quick_dataclasses import dataclass

Block = np.ndarray[Any, Any]

# Programs that a process keeps: a layer of tasks needs a few, for blocks in the middle and at each end.
_KEPT = 1024


@lru_cache(_KEPT)
def _compiled(key: tuple[Any, ...]) -> Program:
    from tensorframe.backends.cpu import CpuBackend  # it looks for LLVM

    region: Region = key[0]
    return CpuBackend().compile(region, CPU)


def run_region(region: Region, inputs: Sequence[Any]) -> list[Any]:
    """Return the outputs of a region for blocks and numbers."""
    with np.errstate(all="ignore"):
        return list(_compiled(region.key())(inputs, (None,) * len(region.outputs)))


@contextmanager
def by_one_thread(alone: bool) -> Iterator[None]:
    """Have kernels and BLAS work with one thread where other tasks run beside this one."""
    if alone and not _is_worker():
        yield
        return
    with config.override(threads=1), one_thread():
        yield


def _is_worker() -> bool:
    """Whether this is a task of a cluster's worker, which has as many threads as it has tasks at once."""
    worker = sys.modules.get("distributed.worker")
    return worker is not None and getattr(worker.thread_state, "execution_state", None) is not None


def without_loops(region: Region) -> Region:
    """Return a region as it travels: without what is found again where it runs, or belongs to this process."""
    return replace(region, site=None)


@dataclass(frozen=True, slots=True)
class WholeCall:
    """One task that runs a region on all of its inputs: `grids` are their numbers of blocks, None for a number."""

    region: Region
    grids: tuple[tuple[int, ...] | None, ...]
    alone: bool = True

    def __call__(self, *parts: Any) -> Any:
        """Return the one output, or a tuple of them, of blocks in C order."""
        given = iter(parts)
        inputs = [next(given) if grid is None else joined(given, grid) for grid in self.grids]
        with by_one_thread(self.alone):
            results = [owned(result) for result in run_region(self.region, inputs)]
        return results[0] if len(results) == 1 else tuple(results)


def joined(blocks: Iterator[Block], grid: Sequence[int]) -> Block:
    """Return the array that blocks in C order are of."""
    if not grid or all(count == 1 for count in grid):
        return next(blocks)
    count = grid[0]
    inner = grid[1:]
    parts = [joined(blocks, inner) if inner else next(blocks) for _ in range(count)]
    return parts[0] if count == 1 else np.concatenate(parts, axis=-len(grid))


def owned(result: Any) -> Any:
    """Return a result as a block: an array that keeps no larger one alive, or a tuple of such."""
    if type(result) is tuple:
        return tuple([owned(part) for part in result])
    array = np.asarray(result)
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    return array.copy() if base.nbytes > array.nbytes else array
