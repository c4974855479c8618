"""Gradients of functions of matrices, real and complex, and of transforms are PyTorch's."""

import math

import pytest

import tensorframe as tfr
from tests.gradient.pytorch import agree, apart, complex_apart, imaginary, real, slopes, torch

# --- linear algebra


def both(function):
    """A function of `linalg`, adjoint and identity, and a matrix: as ours and as theirs."""

    def own(*args):
        return function(tfr.linalg, tfr.matrix_transpose, *args)

    def other(*args):
        return function(torch.linalg, lambda x: x.mT, *args)

    return own, other


def hermitian(mt, x):
    return (x + mt(x).conj()) / 2


def positive(mt, x):
    return x @ mt(x).conj()


def energy(vectors):
    return abs(vectors) ** 2


MATRICES = {
    "inv": lambda la, mt, x: la.inv(x),
    "det": lambda la, mt, x: la.det(x),
    "slogdet": lambda la, mt, x: la.slogdet(x)[0] * la.slogdet(x)[1],
    "solve": lambda la, mt, x: la.solve(x, x @ x),
    "cholesky": lambda la, mt, x: la.cholesky(positive(mt, x)),
    "eigvalsh": lambda la, mt, x: la.eigvalsh(hermitian(mt, x)),
    "eigh": lambda la, mt, x: (
        energy(la.eigh(hermitian(mt, x))[1]) * la.eigh(hermitian(mt, x))[0][..., None, :]
    ),
    "eigvals": lambda la, mt, x: (la.eigvals(x) ** 3).sum(-1),
    "eig": lambda la, mt, x: (energy(la.eig(x)[1]) * la.eig(x)[0][..., None, :]).sum(-1),
    "qr": lambda la, mt, x: abs(la.qr(x)[0]) + abs(la.qr(x)[1]),
    "svdvals": lambda la, mt, x: la.svdvals(x),
    "svd": lambda la, mt, x: (
        energy(la.svd(x, full_matrices=False)[0])
        + energy(mt(la.svd(x, full_matrices=False)[2]))
        * la.svd(x, full_matrices=False)[1][..., None, :]
    ),
    "pinv": lambda la, mt, x: la.pinv(x),
    "matrix_power": lambda la, mt, x: la.matrix_power(x, -2),
    "cond": lambda la, mt, x: la.cond(x),
    "norm": lambda la, mt, x: la.norm(x),
    "matrix_norm": lambda la, mt, x: la.matrix_norm(x),
    "matrix_norm 1": lambda la, mt, x: la.matrix_norm(x, ord=1),
    "matrix_norm 2": lambda la, mt, x: la.matrix_norm(x, ord=2),
    "matrix_norm -2": lambda la, mt, x: la.matrix_norm(x, ord=-2),
    "matrix_norm inf": lambda la, mt, x: la.matrix_norm(x, ord=math.inf),
    "matrix_norm nuc": lambda la, mt, x: la.matrix_norm(x, ord="nuc"),
}
OBLONG = {
    "svdvals": MATRICES["svdvals"],
    "pinv": MATRICES["pinv"],
    "Q": lambda la, mt, x: energy(la.qr(x)[0]),
    "R": lambda la, mt, x: energy(la.qr(x)[1]),
    "U": lambda la, mt, x: energy(la.svd(x, full_matrices=False)[0]),
    "V": lambda la, mt, x: energy(la.svd(x, full_matrices=False)[2]),
    "nuclear norm": MATRICES["matrix_norm nuc"],
    "lstsq": lambda la, mt, x: la.lstsq(x, x[..., :, :1] * x[..., :, 1:2])[0],
}
SQUARE = {"real": apart(3, 3), "complex": complex_apart(3, 3), "stack": apart(2, 3, 3)}
RECTANGLES = [apart(4, 3), apart(3, 4), complex_apart(4, 3), complex_apart(3, 4)]
ROWS = [real(3, 4), imaginary(3, 4)]
LINALG_NEAR = {"rtol": 1e-9, "atol": 1e-10}


@pytest.mark.parametrize("kind", SQUARE)
@pytest.mark.parametrize("name", MATRICES)
def test_square_matrices(name, kind):
    agree(*both(MATRICES[name]), SQUARE[kind], **LINALG_NEAR)


@pytest.mark.parametrize("x", RECTANGLES, ids=lambda x: f"{x.dtype}{x.shape}")
@pytest.mark.parametrize("name", OBLONG)
def test_oblong_matrices(name, x):
    agree(*both(OBLONG[name]), x, **LINALG_NEAR)


@pytest.mark.parametrize("order", [0.5, 1, 2, 3, math.inf, -math.inf, -1])
@pytest.mark.parametrize("x", ROWS, ids=lambda x: str(x.dtype))
def test_norms(order, x):
    def norm(namespace):
        return lambda x: namespace.linalg.vector_norm(x, ord=order, **axis(namespace))

    def axis(namespace):
        return {"axis": 1} if namespace is tfr else {"dim": 1}

    agree(norm(tfr), norm(torch), x)


@pytest.mark.parametrize("name", MATRICES)
def test_second_derivatives_of_functions_of_matrices(name):
    agree(*slopes(*both(MATRICES[name])), SQUARE["real"], rtol=1e-8, atol=1e-9)


# --- transforms

TRANSFORMS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL_AXES = [
    *("fft2", "ifft2", "rfft2", "irfft2"),
    *("fftn", "ifftn", "rfftn", "irfftn", "fftshift", "ifftshift"),
]


REAL, IMAGINARY = real(2, 3, 6), imaginary(2, 3, 6)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, norm):
    x = REAL if name in ("rfft", "ihfft") else IMAGINARY
    for points in (None, 4, 7):
        functions = (getattr(namespace.fft, name) for namespace in (tfr, torch))
        agree(*[lambda x, f=one, n=points: f(x, n=n, norm=norm) for one in functions], x)


@pytest.mark.parametrize("name", SEVERAL_AXES)
def test_transforms_over_several_axes(name):
    x = REAL if name.startswith("rfft") else IMAGINARY
    agree(getattr(tfr.fft, name), getattr(torch.fft, name), x)
