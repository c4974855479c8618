"""Gradients of functions: what they are for, and how transformations compose."""

import numpy as np
import pytest

import tensorframe as tfr
from tests.backends.devices import FOUND
from tests.gradient.differences import wide


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


def _sum_of_squares_of_elements(x):
    total = 0.0
    for element in x:
        total = total + element * element
    return total


def _of_a_computed_tensor(x):
    x.compute()
    return x[1] * x[2] + x[-1]


def _of_rows_of_what_is_computed(x):
    squares = (x * x).reshape((2, 2)).compute()
    first, second = squares
    return tfr.sum(first) + 2 * tfr.sum(second) + squares[1, 0]


@pytest.mark.parametrize("device", ["cpu", "numpy", *FOUND])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_sum_of_squares_of_elements, [2.0, 4.0, 6.0, 8.0]),
        (_of_a_computed_tensor, [0.0, 3.0, 2.0, 1.0]),
        (_of_rows_of_what_is_computed, [2.0, 4.0, 18.0, 16.0]),
    ],
)
def test_gradients_pass_through_elements_of_what_is_computed_on_the_way(function, expected, device):
    """Parts of a computed tensor are views outside of a gradient, where nothing has to be recorded."""
    x = tfr.asarray([1.0, 2.0, 3.0, 4.0], device=device)
    assert tfr.grad(function)(x).tolist() == expected


def test_a_derivative_along_a_direction():
    x, along = wide([0.3, 0.7]), wide([1.0, -2.0])
    value, slope = tfr.jvp(lambda x: tfr.sin(x) * tfr.exp(x), [x], [along])
    points = x.numpy()
    np.testing.assert_allclose(value.numpy(), np.sin(points) * np.exp(points), rtol=1e-15)
    wanted = (np.cos(points) + np.sin(points)) * np.exp(points) * along.numpy()
    np.testing.assert_allclose(slope.numpy(), wanted, rtol=1e-14)


def test_a_direction_computes_nothing_twice_and_nothing_in_vain():
    x = tfr.asarray(np.linspace(0.0, 1.0, 100_000))
    plan = tfr.jvp(lambda x: tfr.sin(x) * tfr.exp(x), [x], [tfr.ones_like(x)])[1].explain()
    (step,) = plan.steps
    names = [one.op.name for one in step.region.ops]
    assert sorted(names) == ["add", "cos", "exp", "multiply", "multiply", "sin"]


@pytest.mark.parametrize("shapes", [((4,), (2,)), ((2,), (4,)), ((2, 2), (3,)), ((0,), (2,))])
def test_jacobians_by_rows_and_by_columns(shapes):
    """<u, J v> = <J' u, v>, and J is what both are made of."""
    results, arguments = shapes
    random = np.random.default_rng(2)
    matrix = tfr.asarray(random.normal(size=(*results, *arguments)))

    def function(x):
        return tfr.tanh(tfr.tensordot(matrix, x, axes=len(arguments)))

    x, u, v = (tfr.asarray(random.normal(size=shape)) for shape in (arguments, results, arguments))
    whole = tfr.jacobian(function)(x)
    assert whole.shape == (*results, *arguments)
    along = tfr.jvp(function, [x], [v])[1]
    (back,) = tfr.vjp(function, x)[1](u)
    product = tfr.tensordot(whole, v, axes=len(arguments))
    np.testing.assert_allclose(product.numpy(), along.numpy(), rtol=1e-13)
    np.testing.assert_allclose(
        tfr.sum(u * along).item(), tfr.sum(back * v).item(), rtol=1e-13, atol=1e-15
    )


def test_jacobians_of_trees():
    def function(p, scale):
        return [p["w"] * scale, p["b"] @ p["b"]]

    found = tfr.jacobian(function)({"w": wide([1.0, 2.0]), "b": wide([3.0, 4.0])}, 5.0)
    assert found[0]["w"].tolist() == [[5.0, 0.0], [0.0, 5.0]]
    assert found[0]["b"].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert found[1]["b"].tolist() == [6.0, 8.0]


def test_hessians_and_their_products():
    def function(x):
        return tfr.sum(x**3) * x[0]

    x, v = wide([0.3, 0.7, -0.2]), wide([1.0, 2.0, 3.0])
    matrix = tfr.hessian(function)(x).numpy()
    a, b, c = x.numpy()
    wanted = [[12 * a**2, 3 * b**2, 3 * c**2], [3 * b**2, 6 * a * b, 0], [3 * c**2, 0, 6 * a * c]]
    np.testing.assert_allclose(matrix, wanted, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(tfr.hvp(function, [x], [v]).numpy(), matrix @ v.numpy(), rtol=1e-12)


def test_third_derivatives():
    function = tfr.sin
    for _ in range(3):
        function = tfr.grad(function)
    assert function(wide(0.5)).item() == -np.cos(0.5)


def test_hessian_of_two_arguments():
    found = tfr.hessian(lambda a, b: a * a * b, argnums=(0, 1))(wide(2.0), wide(3.0))
    assert [[one.item() for one in row] for row in found] == [[6.0, 4.0], [4.0, 0.0]]


@pytest.mark.parametrize(
    "turned",
    [
        lambda f: tfr.jit(tfr.hessian(f)),
        lambda f: tfr.hessian(tfr.jit(f)),
        lambda f: tfr.jacobian(tfr.jit(tfr.grad(f))),
        lambda f: tfr.jacobian(lambda x: tfr.vjp(f, x)[1](1.0)[0]),
        lambda f: lambda x: tfr.vmap(lambda v: tfr.hvp(f, [x], [v]))(tfr.eye(3, dtype=tfr.float64)),
    ],
    ids=["jit of hessian", "hessian of jit", "inner jit", "of vjp", "products of all directions"],
)
def test_transformations_compose(turned):
    def function(x):
        return tfr.sum(tfr.exp(x) * x[::-1])

    x = wide([0.1, 0.2, 0.3])
    e = np.exp(x.numpy())
    wanted = np.diag(e * x.numpy()[::-1]) + np.fliplr(np.diag(e + e[::-1]))
    wanted[1, 1] = e[1] * (0.2 + 2)
    np.testing.assert_allclose(turned(function)(x).numpy(), wanted, rtol=1e-12)


def test_what_is_stopped_counts_as_constant():
    x = wide([2.0, 3.0])
    assert tfr.grad(lambda x: tfr.sum(x * tfr.stop_gradient(x)))(x).tolist() == [2.0, 3.0]
    stopped = tfr.stop_gradient({"a": x})
    assert stopped["a"].tolist() == [2.0, 3.0]


def test_assignments_are_differentiated():
    def function(x):
        y = tfr.zeros(4, dtype=tfr.float64)
        y[1:3] = x * x
        y[0] = y[1] * 2
        y += y
        return tfr.sum(y)

    assert tfr.grad(function)(wide([1.0, 2.0])).tolist() == [12.0, 8.0]


def test_the_argument_of_the_caller_does_not_change():
    def function(x):
        x += 1
        x[0] = 0.0
        return tfr.sum(x * x)

    x = wide([1.0, 2.0])
    assert tfr.grad(function)(x).tolist() == [0.0, 6.0]
    assert x.tolist() == [1.0, 2.0]


class TestPendingGraphs:
    """`loss.gradient(...)`."""

    def test_of_several(self):
        w, b = wide([1.0, 2.0]), wide(3.0)
        loss = tfr.sum(w * w) * b
        for_w, for_b = loss.gradient(w, b)
        assert (for_w.tolist(), for_b.item()) == ([6.0, 12.0], 5.0)

    def test_of_what_lies_between(self):
        w = wide([1.0, 2.0])
        square = w * w
        loss = tfr.sum(square * square)
        assert loss.gradient(square).tolist() == [2.0, 8.0]

    def test_twice(self):
        w = wide([1.0, 2.0])
        first = tfr.sum(w**3).gradient(w)
        assert tfr.sum(first).gradient(w).tolist() == [6.0, 12.0]

    def test_of_what_has_been_computed(self):
        w = wide([1.0, 2.0])
        loss = tfr.sum(w * w)
        loss.compute()
        with pytest.raises(tfr.errors.GradientError, match="has been evaluated") as caught:
            loss.gradient(w)
        assert "loss = tfr.sum(w * w)" in caught.value.location

    def test_of_what_was_computed_between(self):
        w = wide([1.0, 2.0])
        square = (w * w).compute()
        with pytest.raises(tfr.errors.GradientError, match="what lies between has been computed"):
            tfr.sum(square).gradient(w)

    def test_of_integers(self):
        with pytest.raises(tfr.errors.GradientError, match="int64"):
            tfr.sum(wide([1.0])).gradient(tfr.asarray([1]))
