"""Sparse matrices times vectors: a million stored elements, beside SciPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tests.benchmarks.goals import OURS, REFERENCE, no_slower
from tests.benchmarks.workload import Case, Run, Workload
from tests.benchmarks.workloads.elementwise import normal

COUNT = 1_000_000
# rows of ten elements, of a hundred and of five hundred
SIZES = (100_000, 10_000, 2_000)


@cache
def matrix(size: int) -> Any:
    """Return SciPy's matrix in compressed rows, with indices of 32 bits."""
    import scipy.sparse

    generator = np.random.default_rng(0)
    places = generator.integers(0, size, (2, COUNT), dtype=np.int32)
    data = generator.standard_normal(COUNT, np.float32)
    return scipy.sparse.csr_array((data, tuple(places)), shape=(size, size))


@cache
def tensor(size: int) -> Any:
    """Return the same matrix of ours."""
    import tensorframe as tfr

    return tfr.sparse.from_scipy(matrix(size))


def times(make: Any, size: int, *, transposed: bool) -> Run:
    """Return the run that multiplies the matrix that `make` gives, or its transpose, with a vector."""

    def run(_: Any, *vectors: Any) -> Any:
        whole = make(size)
        return (whole.T if transposed else whole) @ vectors[SIZES.index(size)]

    return run


def case(size: int, *, transposed: bool) -> Case:
    """Return the line of a matrix, or of its transpose."""
    runs = {
        REFERENCE: times(matrix, size, transposed=transposed),
        OURS: times(tensor, size, transposed=transposed),
    }
    title = f"{'transposed, ' if transposed else ''}{size} rows"
    return Case(title, runs, (no_slower(),))


SPARSE = Workload(
    "W29",
    "A sparse matrix with a million float32 times a vector; SciPy in the column of NumPy.",
    tuple([case(size, transposed=turned) for turned in (False, True) for size in SIZES]),
    lambda: tuple([normal(size) for size in SIZES]),
    tolerance=1e-4,
)
