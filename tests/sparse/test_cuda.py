"""Sparse products on CUDA: kernels compiled by NVRTC, and run as C++ on the processor; a stand-in for cuSPARSE."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

import tensorframe as tfr
from tests.sparse.matrices import compare, random_case
from tests.sparse.test_products import EVERYWHERE

pytest.importorskip("cupy", reason="NVRTC is called through CuPy")

from tensorframe.backends.cuda import libraries, sparse
from tensorframe.graph.region import Region, RegionOp
from tensorframe.ops.sparse import SPARSE_MATMUL, TRANSPOSED_SPARSE_MATMUL
from tests.backends import host_gpu
from tests.backends.cuda_kernels import compile_all


def test_kernels_compile():
    with host_gpu.recorded() as texts, tfr.use_backend("cuda"):
        case = random_case(9, ("float32",))
        for dtype in ("float32", "complex64"):
            tensor = case.ours("cuda").astype(dtype)
            x, y = tfr.asarray(case.right.astype(dtype)), tfr.asarray(case.left.astype(dtype))
            tfr.compute(tensor @ x, tensor.sum(1), tensor.tocoo().row + 1)
            if dtype != "complex64":  # whose transposed products the cpu makes
                tfr.compute(y @ tensor)
            if dtype == "float32":
                tfr.grad(lambda a, x=x: ((a @ x) ** 2).sum())(tensor).data.compute()
    assert len(texts) > 6
    compile_all(texts, "sm_90")


@pytest.mark.skipif(host_gpu.COMPILER is None, reason="there is no C++ compiler")
def test_kernels_compute_what_scipy_does(monkeypatch):
    monkeypatch.setattr(libraries, "CALLS", {})
    with host_gpu.host_gpu():
        compare(random_case(2, EVERYWHERE), "cuda")


class Held(np.ndarray):
    """An array whose memory is found as that of CuPy's is."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)


class StandIn:
    """What cuSPARSE is asked for, by SciPy, of the arrays that are at these addresses."""

    CUSPARSE_INDEX_BASE_ZERO = 0
    CUSPARSE_OPERATION_NON_TRANSPOSE = 0
    CUSPARSE_CSRMV_ALG2 = 3
    CUSPARSE_INDEX_32I, CUSPARSE_INDEX_64I = 2, 3

    def __init__(self):
        self.dtypes = [np.dtype(own) for own in ("f4", "f8", "i4", "i8", "c8", "c16")]
        self.alive, self.algorithms, self.scratch = {}, [], 0

    def at(self, address, count, kind):
        dtype = self.dtypes[kind]
        held = (np.ctypeslib.ctypes.c_char * (count * dtype.itemsize)).from_address(address)
        return np.frombuffer(held, dtype)

    def made(self, value):
        self.alive[len(self.alive) + 1] = value
        return len(self.alive)

    def createDnVec(self, size, address, kind):
        return self.made(self.at(address, size, kind))

    def createCsr(
        self, rows, columns, count, indptr, indices, data, of_indptr, of_indices, base, kind
    ):
        assert base == 0
        arrays = (
            self.at(data, count, kind),
            self.at(indices, count, of_indices),
            self.at(indptr, rows + 1, of_indptr),
        )
        return self.made(scipy.sparse.csr_array(arrays, shape=(rows, columns)))

    def destroyDnVec(self, descriptor):
        self.alive[descriptor] = None

    def destroySpMat(self, descriptor):
        self.alive[descriptor] = None

    def spMV_bufferSize(self, *call):
        self.scratch = 64
        return self.scratch

    def spMV(self, handle, operation, alpha, matrix, x, beta, y, kind, algorithm, scratch):
        assert (operation, self.scratch) == (0, 64)
        assert scratch
        factor, rest = self.at(alpha, 1, kind), self.at(beta, 1, kind)
        total = factor * (self.alive[matrix] @ self.alive[x]) + rest * self.alive[y]
        self.alive[y][:] = total
        self.algorithms.append(algorithm)


@pytest.fixture
def cusparse(monkeypatch):
    """cuSPARSE's stand-in, and NumPy as CuPy."""
    stand_in = StandIn()

    def held(array):
        return np.ascontiguousarray(array).view(Held)

    cupy = SimpleNamespace(
        ascontiguousarray=held,
        zeros=lambda *args: np.zeros(*args).view(Held),
        empty=lambda *args: np.zeros(*args).view(Held),
        cuda=SimpleNamespace(device=SimpleNamespace(get_cusparse_handle=lambda: 7)),
    )
    monkeypatch.setattr(sparse, "cupy", cupy)
    monkeypatch.setattr(sparse, "library", lambda: stand_in)
    return stand_in


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("integers", ["int32", "int64"])
@pytest.mark.parametrize("width", [(), (1,)])
def test_what_is_asked_of_cusparse(cusparse, dtype, integers, width):
    rng = np.random.default_rng(0)
    matrix = scipy.sparse.random(30, 20, 0.3, "csr", rng=rng).astype(dtype)
    x = rng.standard_normal((20, *width)).astype(dtype)
    indices, indptr = matrix.indices.astype(integers), matrix.indptr.astype(integers)
    result = sparse.product(matrix.data, indices, indptr, x, True)
    np.testing.assert_allclose(result, matrix @ x, rtol=1e-5)
    assert (result.dtype, result.shape) == (np.dtype(dtype), (30, *width))
    assert set(cusparse.alive.values()) == {None}
    assert cusparse.algorithms == [cusparse.CUSPARSE_CSRMV_ALG2]


def region(*, op=SPARSE_MATMUL, attrs=(True,), count=100_000, rows=1000, x=(1000,), dtype="f4"):
    dtypes = [np.dtype(own) for own in (dtype, "i4", "i4", dtype)]
    shapes = [(count,), (count,), (rows + 1,), x]
    made = RegionOp(op, attrs, (0, 1, 2, 3), (rows, *x[1:]), dtypes[0])
    return Region(tuple(zip(shapes, dtypes, strict=True)), (made,), (4,))


def test_cusparse_is_called_for_large_checked_matrices_of_long_rows_times_vectors(
    monkeypatch, cusparse
):
    assert libraries.is_called(region())
    assert libraries.is_called(region(x=(1000, 1), dtype="c16"))
    for other in (
        region(attrs=(False,)),
        region(count=1000),
        region(rows=50_000),
        region(x=(1000, 2)),
        region(x=(1, 1000, 1)),
        region(dtype="i4"),
        region(op=TRANSPOSED_SPARSE_MATMUL, attrs=(1000, False, True)),
    ):
        assert not libraries.is_called(other)
    monkeypatch.setattr(sparse, "library", lambda: None)
    assert not libraries.is_called(region())
