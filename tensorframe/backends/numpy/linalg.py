"""Linear algebra through LAPACK; half precision is computed in float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.backends.numpy.functions import Function, spells
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.products.contraction import widened
from tensorframe.errors import LinAlgError

Array = Any

_HINTS = {
    "Singular matrix": ("tfr.linalg.pinv(A) or tfr.linalg.lstsq(A, b)", "tfr.linalg.cond(A)"),
    "Matrix is not positive definite": ("tfr.linalg.eigvalsh(A) to see which eigenvalues are not",),
    "Array must not contain infs or NaNs": ("tfr.isfinite(A) to find them",),
}


# Elements of a matrix below which LAPACK calls no BLAS function that several threads would share, and the products of
# these with the shorter extent from which sharing out pays: it calls thousands of small ones, and waits for each.
_SHARED, _LONG = 1 << 12, 1 << 27


def _waits_for_threads(arrays: Sequence[Any]) -> bool:
    """Whether LAPACK would rather wait for BLAS's threads than be done sooner by them.

    Beside one other process, singular values of 2000 x 32 elements took two threads 600 ms and one thread 1.3 ms.
    """
    shorter: int = min(arrays[0].shape[-2:])
    most: int = max([prod(array.shape[-2:]) for array in arrays if isinstance(array, np.ndarray)])
    return _SHARED <= most <= _LONG // max(shorter, 1)


def decomposition(name: str) -> Callable[[Function], Function]:
    """Register a spelling that widens half precision and reports failures as LinAlgError."""

    def register(function: Function) -> Function:
        wide = widened(function)

        @wraps(function)
        def run(*arguments: Any) -> Array:
            try:
                if not _waits_for_threads(arguments):
                    return wide(*arguments)
                with blas.one_thread(), blas.one_thread_here():
                    return wide(*arguments)
            except np.linalg.LinAlgError as error:
                shape = arguments[0].shape
                hints = _HINTS.get(str(error), ("tfr.isfinite(A) to find infinities and NaN",))
                message = f"{name}: {str(error).lower()} (operand of shape {shape})"
                raise LinAlgError(message, suggestions=hints) from error

        return spells(name)(run)

    return register


for _name in ("det", "inv", "eigvalsh", "svdvals"):
    decomposition(_name)(getattr(np.linalg, _name))


@decomposition("cholesky")
def cholesky(x: Array, upper: bool) -> Array:
    """Factor; `upper` reads the upper triangle."""
    return np.linalg.cholesky(x, upper=upper)


@decomposition("slogdet")
def slogdet(x: Array) -> tuple[Array, ...]:
    """Sign and logarithm; NumPy gives scalars for one matrix."""
    return tuple(map(np.asarray, np.linalg.slogdet(x)))


@decomposition("solve")
def solve(matrix: Array, right: Array) -> Array:
    """Solve; a vector is one right-hand side for the whole stack."""
    if right.ndim == 1:
        return np.linalg.solve(matrix, right[:, None])[..., 0]
    return np.linalg.solve(matrix, right)


@decomposition("lstsq")
def lstsq(matrix: Array, right: Array, rcond: float) -> tuple[Array, ...]:
    """Solve least squares; residuals are worked out where LAPACK leaves them out."""
    solution, residuals, rank, values = np.linalg.lstsq(matrix, right, rcond=rcond)
    if matrix.shape[0] > matrix.shape[1] and residuals.size == 0:
        error = np.abs(right - matrix @ solution) ** 2
        residuals = error.sum(axis=0).reshape(right.shape[1:] or (1,))
    return solution, residuals, np.asarray(rank, dtype=np.int64), values


@decomposition("eig")
def eig(x: Array) -> tuple[Array, ...]:
    """Decompose; the dtype is complex whatever the values are, so that it is known before they are."""
    dtype = dtypes.complex_of(x.dtype)
    return tuple(part.astype(dtype, copy=False) for part in np.linalg.eig(x))


@decomposition("eigvals")
def eigvals(x: Array) -> Array:
    """Eigenvalues, always complex."""
    return np.linalg.eigvals(x).astype(dtypes.complex_of(x.dtype), copy=False)


@decomposition("eigh")
def eigh(x: Array) -> tuple[Array, ...]:
    """Decompose, reading the lower triangle."""
    return tuple(np.linalg.eigh(x))


@decomposition("qr")
def qr(x: Array, mode: Any) -> tuple[Array, ...]:
    """Factor."""
    return tuple(np.linalg.qr(x, mode=mode))


@decomposition("svd")
def svd(x: Array, full_matrices: bool) -> tuple[Array, ...]:
    """Factor."""
    return tuple(np.linalg.svd(x, full_matrices=full_matrices))
