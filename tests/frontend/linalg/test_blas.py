"""gemm and gemv: BLAS's arguments, one library call, and gradients of every operand."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DTypeError, ShapeError
from tests.backends.devices import FOUND

RANDOM = np.random.default_rng(6)


def numbers(*shape, dtype="float32", device="cpu"):
    return tfr.asarray(RANDOM.standard_normal(shape).astype(dtype), device=device).compute()


@pytest.mark.parametrize("device", ["cpu", "numpy", "llvm", *FOUND])
def test_scaling_and_sum_are_the_step_of_the_matmul(device):
    a, b, c = (numbers(*s, device=device) for s in ((60, 50), (50, 70), (60, 70)))
    wanted = 2.0 * a.numpy() @ b.numpy() - 0.5 * c.numpy()
    result = tfr.linalg.gemm(2.0, a, b, -0.5, c)
    plan = tfr.explain(result)
    assert (plan.kernels, plan.library_calls, len(plan.steps)) == (0, 1, 1)
    np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-4, atol=1e-4)
    turned = tfr.linalg.gemm(2.0, b, a, -0.5, c.T, trans_a=True, trans_b=True)
    assert tfr.explain(turned).kernels == 0
    np.testing.assert_allclose(turned.numpy(), wanted.T, rtol=1e-4, atol=1e-4)
    x, y = numbers(50, device=device), numbers(60, device=device)
    result = tfr.linalg.gemv(3.0, a, x, 2.0, y)
    plan = tfr.explain(result)  # devices add a product with a vector up in a kernel
    assert (plan.kernels + plan.library_calls, len(plan.steps)) == (1, 1)
    np.testing.assert_allclose(
        result.numpy(), 3 * a.numpy() @ x.numpy() + 2 * y.numpy(), rtol=1e-4, atol=1e-4
    )
    turned = tfr.linalg.gemv(1.0, a, y, trans=True)
    np.testing.assert_allclose(turned.numpy(), a.numpy().T @ y.numpy(), rtol=1e-4, atol=1e-4)


def test_what_is_multiplied_by_zero_is_not_read():
    a, c = numbers(3, 3), tfr.full((3, 3), float("nan"))
    np.testing.assert_array_equal(tfr.linalg.gemm(1.0, a, a, 0.0, c).numpy(), (a @ a).numpy())
    np.testing.assert_array_equal(tfr.linalg.gemm(1.0, a, a).numpy(), (a @ a).numpy())


def test_stacks_integers_and_scalars_that_are_tensors():
    a, b = RANDOM.integers(-5, 5, (4, 2, 3)), RANDOM.integers(-5, 5, (3, 2))
    found = tfr.linalg.gemm(2, tfr.asarray(a), tfr.asarray(b), 3, tfr.ones(2, dtype="int64"))
    np.testing.assert_array_equal(found.numpy(), 2 * (a @ b) + 3)
    assert found.dtype == tfr.int64

    @tfr.jit
    def step(alpha, a, beta):
        return tfr.linalg.gemm(alpha, a, a, beta, a)

    m = numbers(3, 3)
    for alpha, beta in ((2.0, 3.0), (0.5, 0.0)):
        np.testing.assert_allclose(
            step(alpha, m, beta).numpy(), (alpha * (m @ m) + beta * m).numpy(), rtol=1e-5, atol=1e-5
        )
    given = tfr.linalg.gemm(tfr.asarray(2.0), m, m, tfr.asarray(3.0), m)
    np.testing.assert_allclose(given.numpy(), (2 * (m @ m) + 3 * m).numpy(), rtol=1e-5, atol=1e-5)


def test_every_operand_has_a_gradient():
    a, b, c = (numbers(*s, dtype="float64") for s in ((2, 3), (4, 3), (2, 4)))
    weight = numbers(2, 4, dtype="float64")
    tfr.check_gradient(
        lambda alpha, a, b, beta, c: tfr.sum(
            weight * tfr.linalg.gemm(alpha, a, b, beta, c, trans_b=True)
        ),
        tfr.asarray(2.0),
        a,
        b,
        tfr.asarray(0.5),
        c,
    )


WRONG = {
    "gemm: sums over 3 columns and 2 rows": lambda: tfr.linalg.gemm(
        1, tfr.ones((2, 3)), tfr.ones((2, 3))
    ),
    "gemm: c of shape (5, 2, 2) is larger than the product": lambda: tfr.linalg.gemm(
        1, tfr.ones((2, 3)), tfr.ones((3, 2)), 1, tfr.ones((5, 2, 2))
    ),
    "gemm: takes a matrix": lambda: tfr.linalg.gemm(1, tfr.ones(3), tfr.ones((3, 2))),
    "gemv: x is a vector, got shape (3, 1)": lambda: tfr.linalg.gemv(
        1, tfr.ones((2, 3)), tfr.ones((3, 1))
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_shapes_that_do_not_fit_are_named(message):
    with pytest.raises(ShapeError) as caught:
        WRONG[message]()
    assert message in str(caught.value)


def test_what_are_no_numbers():
    a = tfr.ones((2, 2))
    with pytest.raises(DTypeError, match="gemm: alpha is a number or a 0-d tensor, got str"):
        tfr.linalg.gemm("a", a, a)
    with pytest.raises(DTypeError, match="gemm: takes numbers, got bool"):
        tfr.linalg.gemm(1, a > 0, a > 0)
