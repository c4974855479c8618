"""Random sparse matrices, SciPy's and ours, and what their products are compared with."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse

import tensorframe as tfr

FORMATS = ("csr", "csc", "coo")
DTYPES = ("float32", "float64", "complex64", "complex128", "int32", "int64")


@dataclass(frozen=True)
class Case:
    """A matrix of SciPy's, its format and dtype, and dense factors for either side."""

    matrix: scipy.sparse.csr_array
    format: str
    right: np.ndarray
    left: np.ndarray

    def ours(self, device):
        """Return the matrix as a sparse tensor."""
        return tfr.sparse.from_scipy(self.matrix.asformat(self.format), device=device)


def numbers(rng, shape, dtype):
    """Return elements of a dtype: small integers, or normal numbers."""
    kind = np.dtype(dtype).kind
    if kind in "iu":
        return rng.integers(-9, 10, shape).astype(dtype)
    values = rng.standard_normal(shape)
    if kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def random_matrix(rng, shape, density, dtype):
    """Return a matrix in compressed rows: with empty rows, unsorted columns, duplicates and explicit zeros."""
    count = int(density * shape[0] * shape[1])
    rows = np.sort(rng.integers(0, max(shape[0], 1), count)) if shape[0] else np.zeros(0, int)
    rows = rows[rows % 3 != 1] if rng.random() < 0.5 else rows  # every third row is empty
    columns = rng.integers(0, max(shape[1], 1), len(rows))
    data = numbers(rng, len(rows), dtype)
    data[rng.random(len(rows)) < 0.05] = 0
    indptr = np.searchsorted(rows, np.arange(shape[0] + 1))
    return scipy.sparse.csr_array(
        (data, columns.astype(np.int32), indptr.astype(np.int32)), shape=shape
    )


def random_case(seed, dtypes=DTYPES):
    """Return the case of a seed: every format and dtype, sizes from none to a hundred, vectors and matrices."""
    rng = np.random.default_rng(seed)
    dtype, form = dtypes[seed % len(dtypes)], FORMATS[seed // len(dtypes) % len(FORMATS)]
    shape = tuple(int(size) for size in rng.choice([0, 1, 2, 7, 33, 100], 2))
    matrix = random_matrix(rng, shape, rng.choice([0.0, 0.02, 0.1, 0.5, 2.0]), dtype)
    width = [(), (1,), (3,), (17,)][rng.integers(4)]
    right = numbers(rng, (shape[1], *width), dtype)
    left = numbers(rng, (*width, shape[0]), dtype)
    return Case(matrix, form, right, left)


def compare(case, device):
    """Compare products on both sides, and of the transpose, with SciPy's."""
    tensor, matrix = case.ours(device), case.matrix
    expected = [
        (tensor @ case.right, matrix @ case.right),
        (case.left @ tensor, case.left @ matrix),
        (tensor.T @ case.left.T, matrix.T @ case.left.T),
        (tensor.todense(), matrix.toarray()),
    ]
    digits = 1e-4 if case.matrix.dtype in ("float32", "complex64") else 1e-12
    for got, wanted in expected:
        assert got.shape == wanted.shape
        assert got.dtype == wanted.dtype
        assert str(got.device) == device
        scale = np.abs(wanted).max(initial=1)
        np.testing.assert_allclose(got.numpy(), wanted, rtol=digits, atol=digits * scale)
