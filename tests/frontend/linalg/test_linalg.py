"""Linear algebra: decompositions put back together, NumPy's values, and failures at the right line."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import linalg
from tensorframe.backends.numpy.functions import FUNCTIONS, implementation
from tensorframe.errors import ArgumentError, LinAlgError, ShapeError
from tensorframe.ops.linalg import SVD

FLOATING = ["float32", "float64", "complex64", "complex128"]
STACKS = [(), (2,), (2, 3), (0,)]


def noise(shape, dtype="float64", seed=0):
    """Returns normal numbers; complex ones where the dtype is."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        drawn = drawn + 1j * rng.normal(size=shape)
    return drawn.astype(dtype)


def positive(shape, dtype="float64"):
    """Returns Hermitian positive definite matrices."""
    x = noise(shape, dtype)
    identity = np.eye(shape[-1], dtype=dtype)
    return (x @ x.conj().swapaxes(-1, -2) + identity).astype(dtype)


def tolerance(dtype):
    return 2e-4 if dtype in ("float32", "complex64") else 1e-10


def close(found, expected, dtype="float64"):
    """Asserts equal shapes and dtypes, and elements up to rounding."""
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(
        found.numpy(), expected, rtol=tolerance(dtype), atol=tolerance(dtype)
    )


@pytest.mark.parametrize("name", ["det", "inv", "eigvalsh", "cholesky"])
@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("stack", STACKS)
def test_functions_of_positive_matrices_are_numpys(name, dtype, stack):
    x = positive((*stack, 3, 3), dtype)
    close(getattr(linalg, name)(tfr.asarray(x)), getattr(np.linalg, name)(x), dtype)


@pytest.mark.parametrize("name", ["det", "inv", "eigvals", "eigvalsh", "cholesky", "svdvals"])
def test_matrices_without_elements_have_results(name):
    x = np.zeros((2, 0, 0))
    expected = getattr(np.linalg, name)(x)
    assert getattr(linalg, name)(x).numpy().shape == expected.shape


def test_the_upper_factor_is_the_adjoint_of_the_lower_one():
    x = positive((2, 3, 3), "complex128")
    upper = linalg.cholesky(x, upper=True)
    close(upper, np.linalg.cholesky(x, upper=True))
    close(linalg.matrix_transpose(tfr.conj(upper)) @ upper, x)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("stack", STACKS)
def test_signs_and_logarithms_give_the_determinant(dtype, stack):
    x = noise((*stack, 3, 3), dtype)
    result = linalg.slogdet(x)
    assert result._fields == ("sign", "logabsdet")
    expected = np.linalg.slogdet(x)
    close(result.sign, expected.sign, dtype)
    close(result.logabsdet, expected.logabsdet, dtype)


def test_the_determinant_of_a_singular_matrix_is_zero():
    sign, logarithm = linalg.slogdet(np.ones((2, 2)))
    assert (sign.item(), logarithm.item()) == (0.0, -math.inf)


@pytest.mark.parametrize(
    ("matrix", "right"),
    [
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((2, 3, 3), (3,)),
        ((2, 3, 3), (3, 4)),
        ((3, 3), (5, 3, 4)),
        ((4, 1, 3, 3), (5, 3, 2)),
        ((3, 3), (3, 0)),
        ((2, 2, 2), (2, 2)),  # a matrix of columns, not a stack of two vectors
    ],
)
def test_solve_is_numpys(matrix, right):
    a, b = positive(matrix), noise(right)
    close(linalg.solve(a, b), np.linalg.solve(a, b))


def test_right_hand_sides_must_have_as_many_rows():
    with pytest.raises(ShapeError, match="3 equations") as caught:
        linalg.solve(np.eye(3), np.ones(2))
    assert "b[..., None]" in caught.value.suggestions[0]


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("stack", STACKS)
def test_eigenvectors_are_scaled_by_their_eigenvalues(dtype, stack):
    x = noise((*stack, 3, 3), dtype)
    result = linalg.eig(x)
    values, vectors = result.eigenvalues, result.eigenvectors
    assert values.dtype == vectors.dtype == tfr.dtypes.complex_of(x.dtype)
    close(tfr.asarray(x) @ vectors, (vectors * values[..., None, :]).numpy(), dtype)


def test_real_eigenvalues_are_complex_too():
    assert linalg.eigvals(np.eye(2)).numpy().dtype == np.complex128
    assert linalg.eig(np.eye(2)).eigenvectors.numpy().dtype == np.complex128


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("stack", STACKS)
def test_hermitian_matrices_are_put_back_together(dtype, stack):
    x = positive((*stack, 3, 3), dtype)
    values, vectors = linalg.eigh(x)
    assert values.dtype == tfr.dtypes.real_of(x.dtype)
    close((vectors * values[..., None, :]) @ tfr.conj(vectors).mT, x, dtype)


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3), (2, 4, 3), (0, 2)])
def test_q_times_r_is_the_matrix(shape, mode):
    x = noise(shape, "complex128")
    q, r = linalg.qr(x, mode=mode)
    expected = np.linalg.qr(x, mode=mode)
    assert (q.shape, r.shape) == (expected.Q.shape, expected.R.shape)
    close(q @ r, x)
    identity = np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], q.shape[-1], q.shape[-1]))
    close(tfr.conj(q).mT @ q, identity.astype("complex128"))
    assert not np.tril(r.numpy(), -1).any()


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3), (2, 4, 3), (0, 2)])
def test_singular_vectors_and_values_are_put_back_together(shape, full):
    x = noise(shape, "complex64")
    result = linalg.svd(x, full_matrices=full)
    expected = np.linalg.svd(x, full_matrices=full)
    assert result._fields == ("U", "S", "Vh")
    for part, wanted in zip(result, expected, strict=True):
        assert (part.shape, part.dtype) == (wanted.shape, wanted.dtype)
        assert part.numpy().shape == wanted.shape
    k = min(shape[-2:])
    close((result.U[..., :k] * result.S[..., None, :]) @ result.Vh[..., :k, :], x, "complex64")
    close(linalg.svdvals(x), expected.S, "complex64")


@pytest.mark.parametrize("rows", [40, 400])
def test_the_parts_of_a_decomposition_are_computed_once(monkeypatch, rows):
    calls = []

    def counted(*arguments):
        calls.append(1)
        return FUNCTIONS["svd"](*arguments)

    monkeypatch.setitem(implementation, SVD, counted)
    u, s, vh = linalg.svd(tfr.asarray(noise((rows, 30)), device="numpy"))
    for part in (u, s, vh, (u[:, :30] * s) @ vh[:30]):
        part.numpy()
    assert len(calls) == 1


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (2, 3, 3), (0, 2), (2, 3, 0)])
def test_pinv_is_numpys(shape):
    x = noise(shape, "complex128")
    close(linalg.pinv(x), np.linalg.pinv(x))


def test_small_singular_values_do_not_count():
    x = np.stack([np.diag([1.0, 1e-3, 0.0]), np.diag([1.0, 0.5, 0.25])])
    close(linalg.matrix_rank(x), np.asarray([2, 3]))
    close(linalg.matrix_rank(x, rtol=1e-2), np.asarray([1, 3]))
    close(linalg.matrix_rank(x, rtol=np.asarray([1e-2, 0.3])), np.asarray([1, 2]))
    close(linalg.pinv(x, rtol=np.asarray([1e-2, 0.3]))[0], np.diag([1.0, 0.0, 0.0]))
    assert linalg.matrix_rank(np.zeros((2, 3, 0))).tolist() == [0, 0]


@pytest.mark.parametrize("shape", [(5, 2), (2, 5), (3, 3)])
@pytest.mark.parametrize("columns", [(), (4,)])
def test_least_squares_are_numpys(shape, columns):
    a, b = noise(shape), noise((shape[0], *columns), seed=1)
    solution, residuals, rank, values = np.linalg.lstsq(a, b)
    found = linalg.lstsq(a, b)
    close(found.solution, solution)
    close(linalg.lstsq(a, b, rcond=1e-9)[0], solution)
    close(found.residuals, residuals)
    close(found.singular_values, values)
    assert found.rank.item() == rank


def test_least_squares_have_residuals_without_full_rank():
    a, b = np.ones((3, 2)), np.asarray([1.0, 2.0, 3.0])
    found = linalg.lstsq(a, b)
    assert found.rank.item() == 1
    close(found.residuals, np.asarray([2.0]))


VECTOR_ORDERS = [2, 1, 0, -1, -2, 3, 0.5, math.inf, -math.inf]


@pytest.mark.parametrize("ord", VECTOR_ORDERS)
@pytest.mark.parametrize("dtype", FLOATING)
def test_vector_norms_are_numpys(ord, dtype):
    x = noise((3, 4, 2), dtype)
    axes: tuple[Any, ...] = (None, 0, -1, (0, 2))
    for axis in axes:
        for keepdims in (False, True):
            found = linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
            expected = np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
            close(found, expected, dtype)


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", FLOATING)
def test_matrix_norms_are_numpys(ord, dtype):
    x = noise((2, 3, 4), dtype)
    for keepdims in (False, True):
        expected = np.linalg.matrix_norm(x, ord=ord, keepdims=keepdims)
        close(linalg.matrix_norm(x, ord=ord, keepdims=keepdims), expected, dtype)
    close(linalg.norm(x, ord, axis=(2, 0)), np.linalg.norm(x, ord, axis=(2, 0)), dtype)


def test_norm_takes_numpys_defaults():
    x = noise((2, 3, 4))
    close(linalg.norm(x), np.asarray(np.linalg.norm(x)))
    close(linalg.norm(x, axis=1, keepdims=True), np.linalg.norm(x, axis=1, keepdims=True))
    close(linalg.norm(x, axis=(0, 1), keepdims=True), np.linalg.norm(x, axis=(0, 1), keepdims=True))
    close(linalg.norm(x[0], 1), np.asarray(np.linalg.norm(x[0], 1)))


def test_no_elements_have_the_norm_zero():
    x = np.zeros((2, 0))
    assert linalg.vector_norm(x, ord=math.inf, axis=1).tolist() == [0.0, 0.0]
    for ord in ("fro", "nuc", 1, 2, math.inf):
        assert linalg.matrix_norm(x, ord=ord).item() == 0.0


def test_half_precision_norms_do_not_overflow_on_the_way():
    x = np.full(4, 300.0, np.float16)  # 300 squared is beyond float16
    result = linalg.vector_norm(x)
    assert result.dtype == tfr.float16
    assert result.item() == 600.0


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16])
def test_half_precision_is_computed_in_float32_and_rounded_once(dtype):
    x = positive((3, 3)).astype(dtype)
    wide = x.astype(np.float32)
    for name in ("det", "inv", "cholesky", "eigvalsh", "svdvals"):
        found = getattr(linalg, name)(tfr.asarray(x))
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found.numpy(), getattr(np.linalg, name)(wide).astype(dtype))
    assert linalg.eigvals(tfr.asarray(x)).numpy().dtype == np.complex64


@pytest.mark.parametrize("p", [None, 2, -2, 1, math.inf, "fro"])
def test_condition_numbers_are_numpys(p):
    x = noise((2, 3, 3))
    close(linalg.cond(x, p), np.linalg.cond(x, p))


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 7])
def test_powers_are_numpys(n):
    x = noise((2, 3, 3))
    close(linalg.matrix_power(x, n), np.linalg.matrix_power(x, n))


def test_integer_powers_are_exact():
    x = np.asarray([[1, 1], [1, 0]])
    close(linalg.matrix_power(x, 90), np.linalg.matrix_power(x, 90))


@pytest.mark.parametrize("offset", range(-5, 6))
@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (2, 3, 3), (0, 3)])
def test_diagonals_and_traces_are_numpys(shape, offset):
    x = np.arange(math.prod(shape)).reshape(shape)
    close(linalg.diagonal(x, offset=offset), np.linalg.diagonal(x, offset=offset))
    close(linalg.trace(x, offset=offset), np.linalg.trace(x, offset=offset))


def test_traces_of_small_integers_do_not_overflow():
    assert linalg.trace(np.full((2, 2), 100, np.int8)).item() == 200
    assert linalg.trace(np.full((2, 2), 200, np.uint8)).dtype == tfr.uint64
    assert linalg.trace(np.ones((2, 2), np.float16), dtype="float32").dtype == tfr.float32


@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 3), (3, 4)],
        [(10, 2), (2, 30), (30, 5), (5, 6)],
        [(3,), (3, 4), (4, 5)],
        [(2, 3), (3, 4), (4,)],
        [(3,), (3, 3), (3,)],
    ],
)
def test_chains_of_products_are_numpys(shapes):
    arrays = [noise(shape, seed=seed) for seed, shape in enumerate(shapes)]
    close(linalg.multi_dot(arrays), np.asarray(np.linalg.multi_dot(arrays)))


def test_integers_take_the_default_dtype():
    assert linalg.inv(np.asarray([[2, 0], [0, 2]])).dtype == tfr.float32


@pytest.mark.parametrize("name", ["det", "inv", "eig", "eigh", "eigvals", "cholesky", "slogdet"])
def test_square_matrices_are_asked_for_when_recording(name):
    with pytest.raises(ShapeError, match=rf"{name}: takes square matrices, got shape \(2, 3\)"):
        getattr(linalg, name)(tfr.ones((2, 3)))
    with pytest.raises(ShapeError, match="takes a matrix"):
        getattr(linalg, name)(tfr.ones(3))


def test_unknown_modes_and_orders_are_refused():
    with pytest.raises(ArgumentError, match="no mode 'economic'"):
        linalg.qr(tfr.ones((2, 2)), mode="economic")
    with pytest.raises(ArgumentError, match="order 3"):
        linalg.matrix_norm(tfr.ones((2, 2)), ord=3)


def test_a_singular_matrix_fails_when_it_runs_and_names_the_line_that_recorded_it():
    inverse = linalg.inv(tfr.ones((2, 2)))
    with pytest.raises(LinAlgError, match="inv: singular matrix") as caught:
        inverse.numpy()
    assert "linalg.inv(tfr.ones((2, 2)))" in str(caught.value)
    assert any("pinv" in hint for hint in caught.value.suggestions)


def test_indefinite_matrices_have_no_factor():
    with pytest.raises(LinAlgError, match="not positive definite"):
        linalg.cholesky(-tfr.eye(2)).numpy()
