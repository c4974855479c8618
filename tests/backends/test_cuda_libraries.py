"""What is made of CuPy's functions, with NumPy's in their place: the NumPy engine's results."""

import numpy as np
import pytest

pytest.importorskip("cupy", reason="the backend speaks to GPUs through CuPy")

from tensorframe.backends.cuda import libraries
from tensorframe.backends.numpy import engine  # noqa: F401 - the spellings
from tensorframe.backends.numpy.functions import implementation
from tensorframe.graph.op import Kind, rows
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.fourier import FFTN, IFFTN, IRFFTN, RFFTN
from tensorframe.ops.linalg import CHOLESKY, EIG, QR, SOLVE, SVD, SVDVALS
from tensorframe.ops.sorting import HISTOGRAM, SEARCHSORTED

RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setattr(libraries, "cupy", np)


def drawn(*shape, dtype=np.float64):
    found = RNG.normal(size=shape)
    return (found + 1j * RNG.normal(size=shape) if np.dtype(dtype).kind == "c" else found).astype(
        dtype
    )


def definite(*shape):
    x = drawn(*shape, dtype=np.complex128)
    return x @ x.swapaxes(-1, -2).conj() + 5 * np.eye(shape[-1])


CASES = [
    (MATMUL, (drawn(3, 4), drawn(4, 5)), ()),
    (MATMUL, (drawn(2, 3, 4), drawn(4, 5)), ()),
    (MATMUL, (drawn(4, 3, 2).T, drawn(4, 5)), ()),
    (MATMUL, (drawn(2, 1, 3, 4), drawn(6, 4, 5)), ()),
    (MATMUL, (drawn(4), drawn(4, 5)), ()),
    (SOLVE, (drawn(3, 3), drawn(3)), ()),
    (SOLVE, (drawn(2, 3, 3), drawn(3)), ()),
    (SOLVE, (drawn(2, 3, 3), drawn(3, 2)), ()),
    (SOLVE, (drawn(3, 3), drawn(4, 3, 2)), ()),
    (CHOLESKY, (np.tril(definite(3, 3)),), (False,)),
    (CHOLESKY, (np.triu(definite(2, 3, 3)),), (True,)),
    (SVDVALS, (drawn(4, 3),), ()),
    (SVD, (drawn(2, 4, 3),), (False,)),
    (QR, (drawn(4, 3),), ("complete",)),
    (FFTN, (drawn(4, 3, dtype=np.float32),), ((6,), (0,), "ortho")),
    (IFFTN, (drawn(4, 3, dtype=np.complex64),), ((4, 2), (0, 1), "forward")),
    (RFFTN, (drawn(4, 3),), ((4, 3), (0, 1), "backward")),
    (IRFFTN, (drawn(4, 3, dtype=np.complex128),), ((4, 5), (0, 1), "backward")),
]


@pytest.mark.parametrize(
    ("op", "operands", "attrs"),
    CASES,
    ids=[f"{op.name} {index}" for index, (op, *_) in enumerate(CASES)],
)
def test_a_call_is_what_the_numpy_engine_computes(op, operands, attrs):
    found = libraries.CALLS[op].function(*operands, *attrs)
    wanted = implementation[op](*operands, *attrs)
    parts = [(found, wanted)] if not isinstance(wanted, tuple) else zip(found, wanted, strict=True)
    for one, expected in parts:
        assert one.dtype == expected.dtype
        np.testing.assert_allclose(one, expected, rtol=1e-5, atol=1e-6)


def test_a_transform_over_no_axes_is_complex_as_others_are():
    x = drawn(4, 3, dtype=np.float32)
    found = libraries.CALLS[FFTN].function(x, (), (), "backward")
    assert found.dtype == np.complex64
    np.testing.assert_array_equal(found, x)


def test_which_calls_there_are():
    calls = set(libraries.CALLS)
    assert calls < set(rows(Kind.LIBRARY, Kind.CONTRACT))
    assert not {EIG, HISTOGRAM} & calls  # left to the cpu


def test_a_call_takes_the_operands_that_it_is_written_for():
    assert libraries.has_call(SEARCHSORTED, [np.dtype("int8")] * 2)
    # with positions that sort, one out of bounds would go unnoticed
    assert not libraries.has_call(SEARCHSORTED, [*[np.dtype("int8")] * 2, np.dtype("int64")])
