"""Systems of equations: SciPy's solutions, gradients, and other libraries that take sparse tensors."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import tensorframe as tfr
from tensorframe.errors import DTypeError, LinAlgError, ShapeError, TracingError
from tests.backends.devices import FOUND
from tests.sparse.matrices import numbers

solve = tfr.sparse.linalg


def definite(size=20, dtype="float64", beside=0.0):
    """Return a Hermitian positive definite matrix; with a number `beside` it, it is no longer Hermitian."""
    half = scipy.sparse.random(size, size, density=0.15, rng=0).toarray()
    if np.dtype(dtype).kind == "c":
        half = half + 1j * scipy.sparse.random(size, size, density=0.15, rng=1).toarray()
    whole = half @ half.conj().T + np.eye(size)
    whole[0, 3] += beside
    return scipy.sparse.csr_array(whole.astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_solutions_are_those_of_scipy(dtype):
    matrix = definite(dtype=dtype, beside=2.0)
    tensor = tfr.sparse.from_scipy(matrix)
    digits = 1e-4 if dtype in ("float32", "complex64") else 1e-10
    for shape in ((20,), (20, 3)):
        b = numbers(np.random.default_rng(2), shape, dtype)
        x = solve.spsolve(tensor, b)
        assert x.dtype == dtype
        np.testing.assert_allclose(matrix @ x.numpy(), b, atol=20 * digits)
        factors = solve.splu(tensor.tocoo())
        for trans, turned in (("N", matrix), ("T", matrix.T), ("H", matrix.conj().T)):
            found = factors.solve(b, trans).numpy()
            np.testing.assert_allclose(turned @ found, b, atol=20 * digits)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("trans", ["N", "T", "H"])
def test_gradients_of_solutions(dtype, trans):
    rng = np.random.default_rng(3)
    matrix = definite(6, dtype, beside=2.0)
    tensor = tfr.sparse.from_scipy(matrix)
    b = numbers(rng, (6, 2), dtype)

    def loss(data, b):
        return (abs(solve.splu(tensor.with_data(data)).solve(b, trans)) ** 2).sum()

    tfr.check_gradient(loss, tensor.data, b)
    if dtype == "float64":
        tfr.check_gradient(lambda d, b: (tfr.grad(loss)(d, b) ** 2).sum(), tensor.data, b)


@pytest.mark.parametrize("device", ["cpu", *FOUND])
def test_conjugate_gradients(device):
    matrix = definite(dtype="float32")
    tensor = tfr.sparse.from_scipy(matrix, device=device)
    b = tfr.asarray(numbers(np.random.default_rng(4), 20, "float32"), device=device)
    wanted = np.linalg.solve(matrix.toarray(), b.numpy())
    x, info = solve.cg(tensor, b, rtol=1e-6)
    assert info == 0
    assert x.device == b.device
    np.testing.assert_allclose(x.numpy(), wanted, rtol=1e-3, atol=1e-4)


def test_what_conjugate_gradients_take():
    matrix = definite(dtype="complex128")
    tensor, b = tfr.sparse.from_scipy(matrix), numbers(np.random.default_rng(5), 20, "complex128")
    wanted = np.linalg.solve(matrix.toarray(), b)
    steps = []
    diagonal = tfr.asarray(1 / matrix.diagonal())
    for a in (tensor, tensor.todense(), lambda x: tensor @ x):
        for m in (None, lambda x: diagonal * x, tfr.sparse.eye_array(20)):
            x, info = solve.cg(a, b, rtol=1e-12, M=m, callback=steps.append)
            assert info == 0
            np.testing.assert_allclose(x.numpy(), wanted, atol=1e-9)
    assert len(steps) > 9
    x, info = solve.cg(tensor, b, maxiter=1, rtol=1e-12)
    assert info == 1
    x, info = solve.cg(tensor, b, wanted, atol=1e-6)
    np.testing.assert_array_equal(x.numpy(), wanted)  # which is good enough
    assert info == 0


def test_gradients_of_conjugate_gradients_are_those_of_factors():
    tensor = tfr.sparse.from_scipy(definite(8))
    b = tfr.asarray(np.random.default_rng(6).standard_normal(8))
    got = tfr.grad(lambda a, b: (solve.cg(a, b, rtol=1e-13)[0] ** 3).sum(), argnums=(0, 1))(
        tensor, b
    )
    wanted = tfr.grad(lambda a, b: (solve.spsolve(a, b) ** 3).sum(), argnums=(0, 1))(tensor, b)
    np.testing.assert_allclose(got[0].data.numpy(), wanted[0].data.numpy(), atol=1e-8)
    np.testing.assert_allclose(got[1].numpy(), wanted[1].numpy(), atol=1e-8)


def test_what_solvers_refuse():
    tensor = tfr.sparse.eye_array(3)
    with pytest.raises(LinAlgError, match="singular"):
        solve.spsolve(tfr.sparse.csr_array([[1.0, 1.0], [1.0, 1.0]]), np.ones(2))
    with pytest.raises(ShapeError, match="right sides of shape"):
        solve.spsolve(tensor, np.ones(4))
    with pytest.raises(ShapeError, match="one square matrix"):
        solve.splu(tfr.sparse.csr_array((2, 3)))
    with pytest.raises(DTypeError, match="takes a sparse tensor"):
        solve.spsolve(np.eye(3), np.ones(3))
    with pytest.raises(DTypeError, match="trans is"):
        solve.splu(tensor).solve(np.ones(3), "X")
    for function in (solve.spsolve, solve.cg):
        with pytest.raises(TracingError, match="while a function is recorded"):
            tfr.jit(lambda a, b, function=function: function(a, b))(tensor, tfr.ones(3))


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_scipy_takes_a_sparse_tensor_for_a_linear_operator(format):
    matrix = definite()
    tensor, b = tfr.sparse.from_scipy(matrix).asformat(format), np.arange(20.0)
    sparse = scipy.sparse.linalg
    for solver in (sparse.cg, sparse.gmres, sparse.minres):
        x, info = solver(tensor, b, rtol=1e-10)
        assert info == 0
        np.testing.assert_allclose(matrix @ x, b, atol=1e-6)
    got, wanted = (sparse.eigsh(each, k=3, return_eigenvectors=False) for each in (tensor, matrix))
    np.testing.assert_allclose(got, wanted)
    got, wanted = (
        sparse.svds(each, k=3, return_singular_vectors=False, rng=0) for each in (tensor, matrix)
    )
    np.testing.assert_allclose(got, wanted)
    x = tensor.rmatmat(np.ones((20, 2)))
    np.testing.assert_allclose(x, matrix.T @ np.ones((20, 2)))


def test_scikit_learn_takes_what_to_scipy_gives():
    decomposition = pytest.importorskip("sklearn.decomposition")
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(7)
    tensor = tfr.sparse.csr_array(rng.standard_normal((60, 12)) * (rng.random((60, 12)) < 0.4))
    labels = (tensor @ np.arange(12.0)).numpy() > 0
    reduced = decomposition.TruncatedSVD(3, random_state=0).fit(tensor.to_scipy())
    dense = decomposition.TruncatedSVD(3, random_state=0).fit(tensor.toarray())
    np.testing.assert_allclose(reduced.singular_values_, dense.singular_values_)
    model = linear_model.LogisticRegression().fit(tensor.to_scipy(), labels)
    assert model.score(tensor.to_scipy(), labels) > 0.9
