"""Gradients of functions: what they are for, and how transformations compose."""

import numpy as np
import pytest

import tensorframe as tfr


def curve(x):
    return tfr.sum(tfr.exp(tfr.sin(x) * x * 0.5))


def slope(x):
    return np.exp(np.sin(x) * x * 0.5) * 0.5 * (np.cos(x) * x + np.sin(x))


POINTS = np.linspace(-2.0, 2.0, 7)


@pytest.mark.parametrize(
    "turned",
    [tfr.grad(curve), tfr.jit(tfr.grad(curve)), tfr.grad(tfr.jit(curve))],
    ids=["grad", "jit of grad", "grad of jit"],
)
def test_a_gradient_and_jit_compose_in_any_order(turned):
    np.testing.assert_allclose(turned(tfr.asarray(POINTS)).numpy(), slope(POINTS), rtol=1e-14)


def test_a_gradient_is_one_kernel():
    x = tfr.asarray(np.linspace(0.0, 1.0, 100_000, dtype=np.float32))
    assert tfr.grad(curve)(x).explain().kernels == 1


def test_values_may_be_looked_at_inside():
    def function(x):
        y = tfr.sin(x)
        if y.sum() > 100:
            return y.sum()
        assert len(repr(y)) > 3
        y = y * float(y[0])
        return tfr.sum(y * y)

    x = tfr.asarray([0.5, 1.0])
    expected = 2 * np.sin(x.numpy()) * np.cos(x.numpy()) * np.sin(0.5) ** 2
    np.testing.assert_allclose(tfr.grad(function)(x).numpy(), expected, rtol=1e-6)


def test_perturbations_are_not_confused():
    """Siskind and Pearlmutter: d/dx of x times d/dy of (x + y) is 1."""

    def inner(x):
        return tfr.grad(lambda y: x + y)(1.0)

    assert tfr.grad(lambda x: x * inner(x))(1.0).item() == 1.0


def test_trees_come_back_as_they_were():
    parameters = {"w": tfr.asarray([1.0, 2.0]), "b": [3.0, None]}
    found = tfr.grad(lambda p, s: (p["w"] * s).sum() + p["b"][0] ** 2)(parameters, 2)
    assert found["w"].tolist() == [2.0, 2.0]
    assert found["b"][0].item() == 6.0
    assert found["b"][1] is None


def test_what_does_not_matter_has_zeros():
    first, second = tfr.grad(lambda a, b: a.sum(), argnums=(0, 1))(tfr.ones(2), tfr.ones(3))
    assert (first.tolist(), second.tolist()) == ([1.0, 1.0], [0.0, 0.0, 0.0])


def test_a_pullback_outlives_what_is_computed_afterwards():
    x = tfr.asarray([0.5, 1.0])
    y, pullback = tfr.vjp(lambda x: tfr.exp(tfr.sin(x)), x)
    y.compute()
    (ct,) = pullback(tfr.ones(2))
    np.testing.assert_allclose(ct.numpy(), y.numpy() * np.cos(x.numpy()), rtol=1e-6)
