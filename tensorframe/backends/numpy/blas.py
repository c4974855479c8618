"""Products of many small matrices: one matrix per thread instead of all threads on one matrix.

BLAS shares every single product out over its threads and waits for the last one. For hundreds of products of a
fraction of a millisecond that is mostly waiting, and on a busy machine a disaster: attention over 16 texts of 256
tokens took 19 s that way beside three other processes, and 0.3 s with BLAS in one thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from tensorframe.backends.numpy.threads import share_out

Array = Any

# multiplications of one product: OpenBLAS uses one thread up to the first by itself; above the second the threads
# have enough to do
_ONE_THREAD_ANYWAY = 1 << 18
_WORTH_ALL_THREADS = 1 << 26
# multiplications below which handing out work (about 50 us) does not pay
_WORTH_SHARING = 1 << 22


def product_of_stacks(x: Array, y: Array) -> Array:
    """Return `np.matmul(x, y)`; stacks of small matrices are shared out over threads, matrix by matrix.

    Every matrix is computed by one thread alone, so the bits do not depend on how many there are.
    """
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    one = x.shape[-2] * x.shape[-1] * y.shape[-1]
    count = int(np.prod(batch))
    if one > _WORTH_ALL_THREADS or one * count < _WORTH_SHARING or count < 2:
        return np.matmul(x, y)
    axis = int(np.argmax(batch))
    out = np.empty((*batch, x.shape[-2], y.shape[-1]), x.dtype)
    x = np.broadcast_to(x, (*batch, *x.shape[-2:]))
    y = np.broadcast_to(y, (*batch, *y.shape[-2:]))
    stacks = [tuple([slice(None)] * axis + [slice(at, at + 1)]) for at in range(batch[axis])]

    def multiply(mine: Iterator[tuple[slice, ...]]) -> None:
        for stack in mine:
            np.matmul(x[stack], y[stack], out=out[stack])

    with _blas_in_one_thread() if one > _ONE_THREAD_ANYWAY else nullcontext():
        share_out(stacks, multiply)
    return out


class _Limit:
    """How many callers want BLAS in one thread now: the setting is the process's, not the caller's."""

    lock = threading.Lock()
    callers = 0
    restore: Any = None


@contextmanager
def _blas_in_one_thread() -> Iterator[None]:
    with _Limit.lock:
        if _Limit.callers == 0:
            _Limit.restore = _controller().limit(limits=1, user_api="blas")
        _Limit.callers += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.callers -= 1
            if _Limit.callers == 0:
                _Limit.restore.restore_original_limits()


@cache
def _controller() -> Any:
    # not when this module is imported: NumPy may have loaded no BLAS yet
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
