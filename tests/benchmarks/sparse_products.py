"""Sparse products of a million elements beside SciPy: `python -m tests.benchmarks.sparse_products [threads]`.

Both run by turns in one process, with arrays of their own. A line has the fastest time of each, and SciPy's over ours
by the fastest and by the median: above 1 ours takes less. Ours has multiplied often enough before to have arranged
rows, where it gets such. On one thread it is CPU time, which a loaded machine changes less; SciPy has one thread.
Results are compared first.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse

import tensorframe as tfr
from tensorframe.sparse.arrangement import PATIENCE
from tests.benchmarks.machine import load_average

COUNT = 1_000_000
ROUNDS = 60
ROWS = (100_000, 10_000, 2_000)
FORMATS = ("csr", "csc", "coo")
# columns of the dense factor; none for a vector
WIDTHS: tuple[tuple[int, ...], ...] = ((), (8,))


def matrix(rows: int, dtype: Any) -> Any:
    """Return a square matrix of a million normal numbers in random places."""
    generator = np.random.default_rng(0)
    places = tuple([generator.integers(0, rows, COUNT, np.int32) for _ in range(2)])
    data = generator.standard_normal(COUNT, dtype)
    return scipy.sparse.coo_matrix((data, places), shape=(rows, rows)).tocsr()


def by_turns(
    ways: tuple[Callable[[], Any], Callable[[], Any]], clock: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Return the times of two functions, one call of each after the other."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for way, own in zip(ways, times, strict=True):
            began = clock()
            way()
            own.append(clock() - began)
    return times


def measure(theirs: Any, width: tuple[int, ...], clock: Callable[[], float]) -> str:
    """Return the figures of a product."""
    rows, dtype = theirs.shape[0], theirs.dtype
    x = np.random.default_rng(1).standard_normal((rows, *width), dtype)
    ours, factor = tfr.sparse.from_scipy(theirs), tfr.asarray(x)
    result = (ours @ factor).compute()
    digits = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(result.numpy(), theirs @ x, rtol=digits, atol=10 * digits)

    def multiply() -> Any:
        return (ours @ factor).compute()

    for _ in range(PATIENCE):
        multiply()

    mine, others = by_turns((multiply, lambda: theirs @ x), clock)
    least, middle = min(others) / min(mine), median(others) / median(mine)
    times = f"{1e6 * min(mine):8.0f} {1e6 * min(others):8.0f} us"
    return f"{times}  fastest {least:5.2f}  median {middle:5.2f}"


def main() -> None:
    """Print a line for each size, dtype, format and number of columns: ours, SciPy's, and how they compare."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    clock = time.process_time if threads == 1 else time.perf_counter
    with tfr.config.override(threads=threads):
        for rows in ROWS:
            for dtype in (np.float32, np.float64):
                made = matrix(rows, dtype)
                for form in FORMATS:
                    for width in WIDTHS:
                        line = measure(made.asformat(form), width, clock)
                        what = f"{rows:7} rows {made.dtype.name} {form} x {width or 'vector'!s:7}"
                        sys.stdout.write(f"{what} {line}  load {load_average():.0f}\n")
                        sys.stdout.flush()


if __name__ == "__main__":
    main()
