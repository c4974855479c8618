"""Decompositions of matrices in several blocks, by the algorithms of `dask.array.linalg`.

Those of `dask.array` that pivot inside of blocks alone are left out: what they solve, they may solve badly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any
from warnings import catch_warnings, simplefilter

import dask.array as da
from numpy.exceptions import ComplexWarning

from tensorframe.backends.dask.arrays import Array, Chunks, single
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region, RegionOp
from tensorframe.ops.linalg import CHOLESKY, QR, SVD

Parts = Any  # an array, or a tuple of them


def decomposed(region: Region, inputs: Sequence[Any], limit: int) -> list[Parts] | None:
    """Return what a decomposition gives; None for other ops, and for what one task does."""
    if len(region.ops) != 1 or region.ops[0].op not in _CALLS:
        return None
    (matrix,) = inputs
    if matrix.ndim != 2 or single(matrix) or 0 in matrix.shape:
        return None
    with catch_warnings():
        # of complex matrices, Dask makes up the dtype of singular values by a cast
        simplefilter("ignore", ComplexWarning)
        made = _CALLS[region.ops[0].op](matrix, *region.ops[0].attrs, limit)
    return None if made is None else [made]


def has_algorithm(entry: RegionOp, chunks: Chunks) -> bool:
    """Whether `decomposed` has an algorithm for a matrix in such blocks; nothing is made of it."""
    if entry.op not in _CALLS or len(chunks) != 2:
        return False
    if entry.op is CHOLESKY:
        return _has_scipy()
    if entry.op is QR and entry.attrs == ("complete",):
        return False
    rows, columns = map(sum, chunks)
    if entry.op is SVD and entry.attrs == (True,) and rows != columns:
        return False
    return _are_long(chunks)


def _slim(matrix: Array) -> Array | None:
    """Return a matrix whose longer axis alone has several blocks; None where these would not be long themselves."""
    return matrix.rechunk({1 - _longer(matrix.chunks): -1}) if _are_long(matrix.chunks) else None


def _longer(chunks: Chunks) -> int:
    return 0 if sum(chunks[0]) >= sum(chunks[1]) else 1


def _are_long(chunks: Chunks) -> bool:
    """Whether blocks of whole lines along the longer axis are no wider than they are long."""
    return max(chunks[_longer(chunks)]) >= min(map(sum, chunks))


def _qr(matrix: Array, mode: str, _limit: int) -> Parts | None:
    slim = _slim(matrix)
    return None if mode == "complete" or slim is None else tuple(da.linalg.qr(slim))


def _svd(matrix: Array, full_matrices: bool, _limit: int) -> Parts | None:
    rows, columns = matrix.shape
    slim = _slim(matrix)
    if slim is None or (full_matrices and rows != columns):
        return None
    return tuple(da.linalg.svd(slim))


def _cholesky(matrix: Array, upper: bool, limit: int) -> Parts | None:
    if not _has_scipy():
        return None
    size = matrix.shape[0]
    length = min(max(int((limit / matrix.dtype.itemsize) ** 0.5), 1), size)
    missing = -size % length
    if missing:  # all of Dask's blocks have one size: ones on the diagonal factor to ones, and the rest is zero
        beside = da.zeros((size, missing), dtype=matrix.dtype)
        corner = da.eye(missing, dtype=matrix.dtype)
        matrix = da.block([[matrix, beside], [beside.T, corner]])
    factor = da.linalg.cholesky(matrix.rechunk((length, length)), lower=not upper)
    return factor[:size, :size]


@cache
def _has_scipy() -> bool:
    """Whether SciPy, whose triangular solver `dask.array` uses, is here, and so on workers."""
    return find_spec("scipy") is not None


_CALLS: dict[Op, Callable[..., Parts | None]] = {QR: _qr, SVD: _svd, CHOLESKY: _cholesky}
