"""Tensor cores: whether cuBLAS may round factors of float32 to TF32, ten bits of fraction, for its fastest units.

Products of float16 run there in any case: nothing is rounded for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tensorframe.dtypes import float32
from tensorframe.forks import new_lock

# CuPy keeps how it computes for the whole process: products on GPUs whose settings differ take turns
_turn = new_lock()


@contextmanager
def rounding(*, allowed: bool) -> Iterator[None]:
    """Have the products of a block rounded so, or leave them as CuPy has them, whose variable is CUPY_TF32."""
    with _turn:
        if not allowed:
            yield
            return
        cupy = _compute_types()
        before = cupy.get_compute_type(float32)
        cupy.set_compute_type(float32, cupy.COMPUTE_TYPE_TF32)
        try:
            yield
        finally:
            cupy.set_compute_type(float32, before)


def _compute_types() -> Any:
    from cupy._core import _routines_linalg

    return _routines_linalg
