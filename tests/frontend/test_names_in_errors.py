"""Errors name the function that was called, whichever functions it is made of."""

import re

import numpy as np
import pytest

import tensorframe as tfr

MATRIX, VECTOR, STACK = np.ones((3, 4)), np.ones(5), np.ones((2, 3, 4))

CALLS = {
    "matvec": lambda: tfr.matvec(MATRIX, VECTOR),
    "matvec stacks": lambda: tfr.matvec(STACK, np.ones((3, 4))),
    "matvec axes": lambda: tfr.matvec(MATRIX, VECTOR, axes=[1]),
    "vecmat": lambda: tfr.vecmat(VECTOR, MATRIX),
    "vecdot": lambda: tfr.vecdot(MATRIX, VECTOR),
    "tensordot": lambda: tfr.tensordot(MATRIX, VECTOR, axes=1),
    "dot": lambda: tfr.dot(MATRIX, MATRIX),
    "dot method": lambda: tfr.asarray(MATRIX).dot(VECTOR),
    "inner": lambda: tfr.inner(MATRIX, VECTOR),
    "inner by NumPy": lambda: np.inner(tfr.asarray(MATRIX), VECTOR),
    "vdot": lambda: tfr.vdot(MATRIX, VECTOR),
    "outer": lambda: tfr.outer(VECTOR, object()),
    "multi_dot": lambda: tfr.linalg.multi_dot((MATRIX, MATRIX, MATRIX)),
    "norm": lambda: tfr.linalg.norm(MATRIX, ord="bad"),
    "trace": lambda: tfr.trace(VECTOR),
    "diagonal": lambda: tfr.diagonal(VECTOR),
    "hstack": lambda: tfr.hstack((MATRIX, VECTOR)),
    "vstack": lambda: tfr.vstack((MATRIX, VECTOR)),
    "cov": lambda: tfr.cov(MATRIX, VECTOR),
    "ravel": lambda: tfr.ravel(MATRIX, "Q"),
    "transpose": lambda: tfr.transpose(MATRIX, (0,)),
    "cumsum": lambda: tfr.cumsum(MATRIX, axis=4),
    "tril": lambda: tfr.tril(MATRIX, k="s"),
    "matmul": lambda: tfr.asarray(MATRIX) @ VECTOR,
    "gcd": lambda: tfr.gcd(VECTOR, VECTOR, out=7),
    "ldexp": lambda: tfr.ldexp(VECTOR, 1, out=tfr.asarray(MATRIX)),
    "fabs": lambda: tfr.fabs(VECTOR, where=VECTOR),
    "hessian": lambda: tfr.hessian(5),
}


@pytest.mark.parametrize("case", CALLS)
def test_the_function_that_was_called_is_named(case):
    with pytest.raises(tfr.errors.TensorFrameError) as raised:
        CALLS[case]()
    assert raised.value.message.startswith(f"{case.split()[0]}: ")


def test_a_function_that_is_called_back_is_named_itself():
    def mistaken(row):
        return tfr.dot(row, VECTOR)

    with pytest.raises(tfr.errors.ShapeError, match=re.escape("dot: shapes (4,) and (5,)")):
        tfr.apply_along_axis(mistaken, 1, tfr.asarray(MATRIX))


def test_what_computes_names_what_was_recorded():
    singular = tfr.linalg.inv(tfr.zeros((2, 2)))
    with pytest.raises(tfr.errors.LinAlgError, match="inv"):
        tfr.unique(singular)


SEEN: list[object] = []


def remember(x):
    SEEN.append(x)
    return x


def test_functions_and_kernels_that_users_write_have_their_names():
    with pytest.raises(tfr.errors.ArgumentError, match=r"^remember: changes 'SEEN'"):
        tfr.elementwise(remember)
    with pytest.raises(tfr.errors.TensorFrameError, match=r"^my_kernel: "):
        tfr.raw_kernel(
            "my_kernel", {"x": "float32[n]"}, {"y": "float32[n]"}, source={"basic": "END"}
        )


def test_functions_of_ours_are_named_inside_transformations():
    rows, vector = tfr.asarray(STACK), tfr.asarray(VECTOR)
    with pytest.raises(tfr.errors.ShapeError, match=r"^matvec: "):
        tfr.jit(tfr.matvec)(rows, vector)
    with pytest.raises(tfr.errors.ShapeError, match=r"^matvec: "):
        tfr.vmap(tfr.matvec, in_axes=(0, None))(rows, vector)
