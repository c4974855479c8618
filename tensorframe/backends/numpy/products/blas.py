"""BLAS in one thread, while threads of this package call it.

BLAS shares every product out over threads of its own and waits for the last one. For hundreds of products of a
fraction of a millisecond that is mostly waiting, and on a busy machine a disaster: attention over 16 texts of 256
tokens took 19 s that way beside three other processes, and 0.3 s with BLAS in one thread. And its threads go on
looking for work for more than 50 ms after a product: an exponential of 4 MiB right after one took 0.75 ms, and
0.56 ms after a product in one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import product
from typing import Any
from weakref import WeakSet

import numpy as np

from tensorframe.backends.host_pool import contiguous
from tensorframe.dtypes import FLOATING, NARROW, DType
from tensorframe.forks import in_forked_processes, new_lock
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

Array = Any

# OpenBLAS uses one thread up to so many multiplications by itself
ONE_THREAD_ANYWAY = 1 << 18


def as_one_call(left: Shape, right: Shape, dtype: DType) -> np.ufunc | None:
    """Return NumPy's ufunc where it makes a product of vectors of floats, in every engine; None for other products."""
    short = len(left) == 1 and left == right and left[0] <= ONE_THREAD_ANYWAY
    return np.matmul if short and dtype in FLOATING - NARROW else None


class _Holder:
    """Somebody who wants BLAS in one thread now, for as long as this object is there: an interrupt leaves nothing."""

    __slots__ = ("__weakref__",)


class _Limit:
    """Who wants BLAS in one thread now: most libraries have one setting for the whole process."""

    lock = new_lock()
    holders: WeakSet[_Holder] = WeakSet()  # noqa: RUF012 - of the process
    # what the libraries were set to before, for as long as they are limited
    before: tuple[int, ...] | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS to one thread in the `with` block, whoever calls it meanwhile; see `one_thread_here`."""
    shared = _libraries(per_thread=False)
    holder = _Holder()
    with _Limit.lock:
        _Limit.holders.add(holder)
        if _Limit.before is None:
            _Limit.before = tuple([library.threads() for library in shared])
            _set_threads(shared, [1] * len(shared))
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.holders.discard(holder)
            if not _Limit.holders and _Limit.before is not None:
                _set_threads(shared, _Limit.before)
                _Limit.before = None


@contextmanager
def one_thread_here() -> Iterator[None]:
    """Keep BLAS to one thread where each thread has a setting of its own: for every thread inside `one_thread`."""
    own = _libraries(per_thread=True)
    before = _set_threads(own, [1] * len(own))
    try:
        yield
    finally:
        _set_threads(own, before)


def _set_threads(libraries: Sequence[_Library], threads: Sequence[int]) -> tuple[int, ...]:
    """Set how many threads each library uses; return how many it used before."""
    before = tuple([library.threads() for library in libraries])
    for library, count in zip(libraries, threads, strict=True):
        library.set_threads(count)
    return before


class _Library(NamedTuple):
    """A BLAS library of this process: how many threads it uses, for every thread of ours or for the one that asks."""

    threads: Callable[[], int]
    set_threads: Callable[[int], None]
    per_thread: bool


@cache
def _libraries(*, per_thread: bool) -> tuple[_Library, ...]:
    # not when this module is imported: NumPy may have loaded no BLAS yet
    from threadpoolctl import ThreadpoolController

    libraries = [
        _library(controller)
        for controller in ThreadpoolController().lib_controllers
        if controller.user_api == "blas"
    ]
    return tuple([library for library in libraries if library.per_thread is per_thread])


def _library(controller: Any) -> _Library:
    if getattr(controller, "threading_layer", None) == "openmp":
        return _Library(controller.get_num_threads, controller.set_num_threads, per_thread=True)
    # threadpoolctl takes 20 us for what is one assignment, and lets only one thread change OpenBLAS
    for prefix, suffix in product(("", "scipy_"), ("", "64_", "_64")):
        get, change = [
            getattr(controller.dynlib, f"{prefix}openblas_{verb}_num_threads{suffix}", None)
            for verb in ("get", "set")
        ]
        if get is not None and change is not None:
            return _Library(get, change, per_thread=False)
    return _Library(controller.get_num_threads, controller.set_num_threads, per_thread=False)


def can_be_limited() -> bool:
    """Whether there is control over a BLAS library; macOS has one that has none, and shares work out well itself."""
    return bool(_libraries(per_thread=False) or _libraries(per_thread=True))


# those of a parent are not there to leave; the next one who does restores what was before
in_forked_processes(_Limit.holders.clear)


def takes(matrices: Array) -> bool:
    """Whether BLAS takes these matrices as they lie: elements next to each other along one of the last two axes."""
    size = matrices.itemsize
    (rows, columns), (down, across) = matrices.shape[-2:], matrices.strides[-2:]
    return _lies(columns, across, rows, down, size) or _lies(rows, down, columns, across, size)


def _lies(inner: int, step: int, outer: int, stride: int, size: int) -> bool:
    return (step == size or inner == 1) and (
        outer == 1 or (stride >= inner * size and stride % size == 0)
    )


def ready(matrices: Array) -> Array:
    """Return the matrices as BLAS takes them: NumPy would copy them again for every call."""
    return matrices if takes(matrices) else contiguous(matrices)
