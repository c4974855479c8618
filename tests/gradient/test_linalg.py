"""Rules of solvers, decompositions and transforms against central differences, real and complex, and by identities."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import GradientError
from tests.gradient.differences import check

linalg, fft = tfr.linalg, tfr.fft

NEAR = {"rtol": 2e-6, "atol": 1e-7}


def matrix(*shape, dtype="float64", seed=0):
    """A matrix, or a stack of them, whose eigenvalues and singular values are well apart."""
    random = np.random.default_rng(seed)
    found = random.standard_normal(shape)
    if dtype == "complex128":
        found = found + 1j * random.standard_normal(shape)
    rows, columns = shape[-2:]
    return found + 1.5 * np.eye(rows, columns) * np.arange(1, columns + 1)


def hermitian(x):
    return (x + tfr.conj(x.mT)) / 2


def positive(x):
    return x @ tfr.conj(x.mT) + 2 * tfr.eye(x.shape[-1], dtype=x.dtype)


def gauge_free(vectors):
    """What does not depend on the phases of the columns of a matrix: what they project on."""
    return [
        vectors[..., :, at : at + 1] @ tfr.conj(vectors[..., :, at : at + 1].mT) for at in (0, 1)
    ]


def magnitudes(vectors):
    return tfr.abs(vectors) ** 2


SQUARE = {
    "inv": linalg.inv,
    "det": linalg.det,
    "slogdet": lambda x: linalg.slogdet(x).logabsdet,
    "sign of det": lambda x: linalg.slogdet(x).sign * linalg.slogdet(x).logabsdet,
    "cholesky": lambda x: linalg.cholesky(positive(x)),
    "upper cholesky": lambda x: linalg.cholesky(positive(x), upper=True),
    "cholesky of what is made hermitian": lambda x: linalg.cholesky(
        hermitian(x) + 9 * tfr.eye(3, dtype=x.dtype)
    ),
    "eigvalsh": lambda x: linalg.eigvalsh(hermitian(x)),
    "eigenvalues of eigh": lambda x: linalg.eigh(hermitian(x)).eigenvalues,
    "eigenvectors of eigh": lambda x: magnitudes(linalg.eigh(hermitian(x)).eigenvectors),
    "both of eigh": lambda x: (
        magnitudes(linalg.eigh(hermitian(x)).eigenvectors)
        * linalg.eigh(hermitian(x)).eigenvalues[..., None, :]
    ),
    "projections of eigh": lambda x: sum(gauge_free(linalg.eigh(hermitian(x)).eigenvectors)[:1]),
    "eigvals": lambda x: tfr.sum(linalg.eigvals(x) ** 3, axis=-1),
    "eigenvectors of eig": lambda x: tfr.sum(
        magnitudes(linalg.eig(x).eigenvectors) * linalg.eig(x).eigenvalues[..., None, :], axis=-1
    ),
    "qr": lambda x: linalg.qr(x).Q + linalg.qr(x).R,
    "complete qr": lambda x: linalg.qr(x, mode="complete").Q,
    "svd": lambda x: magnitudes(linalg.svd(x).U),
    "matrix_power": lambda x: linalg.matrix_power(x, -3),
    "cond": linalg.cond,
    "pinv": linalg.pinv,
    "matrix_norm 1": lambda x: linalg.matrix_norm(x, ord=1),
}

ANY_SHAPE = {
    "svdvals": linalg.svdvals,
    "U": lambda x: magnitudes(linalg.svd(x, full_matrices=False).U),
    "V": lambda x: magnitudes(linalg.svd(x, full_matrices=False).Vh),
    "S": lambda x: linalg.svd(x).S,
    "first pair": lambda x: (
        linalg.svd(x, full_matrices=False).U[..., :, :1]
        @ linalg.svd(x, full_matrices=False).Vh[..., :1, :]
    ),
    "product of two": lambda x: (
        linalg.svd(x, full_matrices=False).U[..., :, :2]
        @ (linalg.svd(x, full_matrices=False).Vh * linalg.svd(x).S[..., :, None])[..., :2, :]
    ),
    "pinv": linalg.pinv,
    "Q": lambda x: linalg.qr(x).Q,
    "R": lambda x: linalg.qr(x).R,
    "Q and R": lambda x: linalg.qr(x).Q[..., :, :2] @ (linalg.qr(x).R ** 2)[..., :2, :],
    "nuclear norm": lambda x: linalg.matrix_norm(x, ord="nuc"),
    "spectral norm": lambda x: linalg.matrix_norm(x, ord=2),
    "smallest singular value": lambda x: linalg.matrix_norm(x, ord=-2),
    "frobenius": linalg.matrix_norm,
    "norm inf": lambda x: linalg.matrix_norm(x, ord=float("inf")),
}

DTYPES = ["float64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SQUARE)
def test_square_matrices(name, dtype):
    check(SQUARE[name], matrix(3, 3, dtype=dtype), **NEAR)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ANY_SHAPE)
def test_matrices_of_any_shape(name, dtype, shape):
    check(ANY_SHAPE[name], matrix(*shape, dtype=dtype), **NEAR)


@pytest.mark.parametrize(
    "name", ["inv", "det", "slogdet", "cholesky", "eigvalsh", "qr", "svd", "pinv"]
)
def test_stacks(name):
    check(SQUARE[name], matrix(2, 3, 3), **NEAR)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 2)), ((2, 3, 3), (3,))],
    ids=str,
)
def test_solve(left, right, dtype):
    b = np.random.default_rng(2).standard_normal(right).astype(dtype)
    check(linalg.solve, matrix(*left, dtype=dtype), b, **NEAR)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 2), (3, 3), (2, 4)], ids=str)
@pytest.mark.parametrize("columns", [(), (2,)], ids=str)
def test_least_squares(shape, columns, dtype):
    b = matrix(shape[0], 2, dtype=dtype, seed=4)
    b = b[:, 0] if columns == () else b
    for part in ("solution", "residuals", "singular_values"):
        check(
            lambda a, b, part=part: getattr(linalg.lstsq(a, b), part),
            matrix(*shape, dtype=dtype),
            b,
            **NEAR,
        )


def singular(rank, size=3):
    return matrix(size, rank, seed=1) @ matrix(rank, size, seed=2)


@pytest.mark.parametrize(
    "x", [singular(2), singular(1), np.zeros((3, 3)), np.ones((2, 2))], ids=str
)
def test_determinants_of_singular_matrices(x):
    check(linalg.det, x, rtol=1e-6, atol=1e-7)


def test_a_stack_of_regular_and_singular_matrices():
    check(
        linalg.det, np.stack([matrix(3, 3), np.array([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]])]), **NEAR
    )


def test_second_derivatives_where_singular_values_are_equal():
    """The Hessian of det at the identity is that of ad - bc, though singular vectors have no derivative there."""

    def slope(x):
        return tfr.grad(linalg.det)(x)[0, 0]

    found = tfr.grad(slope)(tfr.eye(2, dtype="float64"))
    np.testing.assert_allclose(found.numpy(), [[0.0, 0.0], [0.0, 1.0]], atol=1e-12)


def test_pseudo_inverses_where_singular_values_are_equal():
    check(linalg.pinv, np.eye(3)[:, :2] * 2, **NEAR)
    check(linalg.pinv, np.eye(3), **NEAR)


def test_values_of_equal_eigenvalues_have_gradients():
    x = tfr.eye(3, dtype="float64")
    assert tfr.grad(lambda x: tfr.sum(linalg.eigvalsh(x)))(x).tolist() == np.eye(3).tolist()
    assert tfr.grad(lambda x: tfr.sum(linalg.svdvals(x)))(x).tolist() == np.eye(3).tolist()


def test_identities():
    """A factorisation put together again is the matrix, and so is its gradient."""
    x, ct = (
        tfr.asarray(matrix(3, 3, dtype="complex128")),
        tfr.asarray(matrix(3, 3, dtype="complex128", seed=9)),
    )

    def back(rebuilt):
        _, pullback = tfr.vjp(rebuilt, x)
        return pullback(ct)[0].numpy()

    q_r = back(lambda x: linalg.qr(x).Q @ linalg.qr(x).R)
    svd = back(lambda x: (linalg.svd(x).U * linalg.svd(x).S[None, :]) @ linalg.svd(x).Vh)
    twice = back(lambda x: linalg.inv(linalg.inv(x)))
    eig = back(
        lambda x: (
            (linalg.eig(x).eigenvectors * linalg.eig(x).eigenvalues[None, :])
            @ linalg.inv(linalg.eig(x).eigenvectors)
        )
    )
    for found in (q_r, svd, twice, eig):
        np.testing.assert_allclose(found, ct.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_precision_stays(dtype):
    x = tfr.asarray(matrix(3, 3)).astype(dtype)
    for function in (linalg.inv, linalg.svdvals, linalg.eigvalsh, linalg.pinv, linalg.cholesky):
        found = tfr.grad(lambda x, f=function: tfr.sum(tfr.abs(f(positive(x)))))(x)
        assert found.dtype == x.dtype


def test_factors_that_are_not_determined_are_refused():
    x = tfr.asarray(matrix(4, 2))
    with pytest.raises(GradientError, match=r"qr: mode=.complete. has no gradient"):
        tfr.grad(lambda x: tfr.sum(linalg.qr(x, mode="complete").Q))(x)
    with pytest.raises(GradientError, match="svd: full_matrices=True has no gradient"):
        tfr.grad(lambda x: tfr.sum(linalg.svd(x).U))(x)
    check(lambda x: magnitudes(linalg.svd(x).Vh), matrix(4, 2), **NEAR)


# --- transforms

NORMS = ["backward", "ortho", "forward"]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("points", [None, 3, 8])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms(name, points, norm):
    real = name in ("rfft", "ihfft")
    for size in (5, 6):
        x = matrix(2, size, dtype="float64" if real else "complex128")
        check(lambda x: getattr(fft, name)(x, n=points, norm=norm), x, **NEAR)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_transforms_over_several_axes(name):
    x = matrix(2, 3, 4, dtype="float64" if name == "rfftn" else "complex128")
    for axes in ((0, 2), (2, 0), (0, 1, 2)):
        check(lambda x, axes=axes: getattr(fft, name)(x, axes=axes), x, **NEAR)
    check(lambda x: getattr(fft, name)(x, s=(4, 3), axes=(0, 1)), x, **NEAR)


def test_transforms_of_real_values():
    check(fft.fft, matrix(2, 5), **NEAR)
    check(fft.ifft, matrix(2, 5), **NEAR)


def test_a_transform_and_back():
    x, ct = tfr.asarray(matrix(3, 4)), tfr.asarray(matrix(3, 4, seed=1))
    _, pullback = tfr.vjp(lambda x: fft.irfftn(fft.rfftn(x), s=(3, 4)), x)
    np.testing.assert_allclose(pullback(ct)[0].numpy(), ct.numpy(), atol=1e-12)


@pytest.mark.parametrize("function", [linalg.inv, linalg.svdvals, fft.fft, linalg.pinv, linalg.det])
def test_gradients_of_many_examples(function):
    x = tfr.asarray(matrix(3, 3, 3))

    def loss(x):
        return tfr.sum(tfr.abs(function(x)) ** 2)

    found = tfr.vmap(tfr.grad(loss))(x)
    wanted = np.stack([tfr.grad(loss)(one).numpy() for one in x])
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-12)
