"""Gradients of sparse products: for stored elements and for dense factors, of first and second order."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, GradientError
from tests.backends.devices import FOUND
from tests.sparse.matrices import FORMATS, numbers, random_matrix


def some(format, dtype="float64", shape=(6, 5)):
    return tfr.sparse.from_scipy(
        random_matrix(np.random.default_rng(0), shape, 0.5, dtype)
    ).asformat(format)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("width", [(), (3,)])
def test_gradients_of_products_are_those_of_differences(format, dtype, width):
    rng, tensor = np.random.default_rng(1), some(format, dtype)
    x, y = numbers(rng, (5, *width), dtype), numbers(rng, (*width, 6), dtype)

    def right(data, x):
        return tfr.abs(tensor.with_data(data) @ x).sum()

    def left(data, y):
        return tfr.abs(y @ tensor.with_data(data)).sum()

    tfr.check_gradient(right, tensor.data, x)
    tfr.check_gradient(left, tensor.data, y)


@pytest.mark.parametrize("format", FORMATS)
def test_second_derivatives(format):
    rng, tensor = np.random.default_rng(2), some(format)
    x = tfr.asarray(rng.standard_normal(5))

    def loss(data, x):
        return ((tensor.with_data(data) @ x) ** 3).sum()

    def slope(data, x):
        return (tfr.grad(loss, argnums=(0, 1))(data, x)[1] ** 2).sum()

    tfr.check_gradient(slope, tensor.data, x)


@pytest.mark.parametrize("format", FORMATS)
def test_the_gradient_for_a_sparse_tensor_is_one_with_its_places(format):
    tensor, x = some(format), tfr.arange(5, dtype="float64")
    gradient = tfr.grad(lambda a: (a @ x).sum())(tensor)
    assert type(gradient) is type(tensor)
    dense = tfr.grad(lambda a: (a @ x).sum())(tensor.todense())
    stored = tensor.mapped(tfr.ones_like).todense()
    np.testing.assert_allclose(
        gradient.tocoo().todense().numpy(),
        (dense * tensor.with_data(tfr.ones(tensor.nnz)).todense()).numpy(),
    )
    assert stored.shape == dense.shape


@pytest.mark.parametrize("device", FOUND)
def test_gradients_on_devices(device):
    host = some("csr", "float32")
    tensor, x = host.to_device(device), tfr.arange(5, dtype="float32")

    def loss(a, x):
        return ((a @ x) ** 2).sum()

    got = tfr.grad(loss, argnums=(0, 1))(tensor, x.to_device(device))
    wanted = tfr.grad(loss, argnums=(0, 1))(host, x)
    np.testing.assert_allclose(got[0].data.numpy(), wanted[0].data.numpy(), rtol=1e-4)
    np.testing.assert_allclose(got[1].numpy(), wanted[1].numpy(), rtol=1e-4)


def test_gradients_pass_products_of_sparse_tensors_and_dense_ones_between_them():
    one, two = some("csr"), some("csc")

    def loss(data):
        a = one.with_data(data)
        return ((a @ two.T) * np.arange(6.0)).todense().sum() + (a + two * a).todense().max()

    tfr.check_gradient(loss, one.data)


@pytest.mark.parametrize("format", FORMATS)
def test_jit_takes_sparse_tensors(format):
    tensor, x = some(format), tfr.arange(5, dtype="float64")
    step = tfr.jit(lambda a, x: (a @ x, tfr.grad(lambda a: ((a @ x) ** 2).sum())(a), a * 2.0))
    for scale in (1.0, 3.0):
        scaled = tensor * scale
        product, gradient, doubled = step(scaled, x)
        np.testing.assert_allclose(product.numpy(), (scaled @ x).numpy())
        np.testing.assert_allclose(
            gradient.data.numpy(), tfr.grad(lambda a: ((a @ x) ** 2).sum())(scaled).data.numpy()
        )
        np.testing.assert_allclose(doubled.toarray(), 2 * scaled.toarray())


def test_vmap_over_dense_factors_and_elements():
    tensor = some("csr")
    xs = tfr.asarray(np.random.default_rng(3).standard_normal((4, 5)))
    wanted = (tensor @ xs.T).T
    np.testing.assert_allclose(tfr.vmap(lambda x: tensor @ x)(xs).numpy(), wanted.numpy())
    elements = tfr.stack([tensor.data * factor for factor in (1.0, 2.0)])
    mapped = tfr.vmap(lambda data: tensor.with_data(data) @ xs[0])(elements)
    np.testing.assert_allclose(mapped.numpy(), tfr.stack([wanted[0], 2 * wanted[0]]).numpy())
    back = tfr.vmap(lambda y: y @ tensor)(wanted)
    np.testing.assert_allclose(back.numpy(), (wanted @ tensor).numpy())


@pytest.mark.parametrize("format", FORMATS)
def test_elements_that_a_module_has_are_trained(format):
    class Links(tfr.nn.Module):
        def __init__(self, places):
            self.places, self.weights = places, places.data

        def forward(self, x):
            return self.places.with_data(self.weights) @ x

    model, x = Links(some(format).coalesce()), tfr.asarray(np.arange(1.0, 6.0))
    assert [name for name, _ in model.named_parameters()] == ["weights"]

    def loss(model):
        return tfr.sum(model(x) ** 2)

    dense, slope = model.places.toarray(), tfr.jit(tfr.grad(loss))(model)
    whole = 2 * np.outer(dense @ x.numpy(), x.numpy()) * (dense != 0)
    tfr.optim.SGD(0.01).update(model, slope)
    trained = model.places.with_data(model.weights).toarray()
    np.testing.assert_allclose(trained, dense - 0.01 * whole, rtol=1e-12)
    assert (model.places.toarray() == trained).all()  # they are the same tensor


@pytest.mark.parametrize(
    ("format", "device"),
    [*[(name, "cpu") for name in FORMATS], *[("csr", device) for device in FOUND]],
)
def test_sparse_tensors_in_a_tree_of_parameters_are_trained(format, device):
    matrix = some(format, "float32").coalesce().to_device(device)
    tree = {"layers": [matrix], "bias": tfr.zeros(6, device=device)}
    x = tfr.asarray(np.arange(1, 6, dtype=np.float32), device=device)

    def loss(tree):
        return ((tree["layers"][0] @ x + tree["bias"]) ** 2).sum()

    dense = matrix.toarray()
    product = dense @ x.numpy()
    gradients = tfr.grad(loss)(tree)
    optimizer = tfr.optim.SGD(0.01, momentum=0.5)
    optimizer.update(tree, gradients)
    wanted = dense - 0.02 * np.outer(product, x.numpy()) * (dense != 0)
    np.testing.assert_allclose(matrix.toarray(), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(tree["bias"].numpy(), -0.02 * product, rtol=1e-4, atol=1e-5)
    assert sorted(optimizer.state) == ["bias", "layers.0.data"]


def test_steps_of_training_sparse_tensors_are_jitted():
    tree, x = {"a": some("csr").coalesce()}, tfr.arange(5, dtype="float64")
    optimizer = tfr.optim.Adam(0.1)
    optimizer.init(tree)

    @tfr.jit(updates=("tree", "optimizer"))
    def step(tree, optimizer):
        loss, gradients = tfr.value_and_grad(lambda tree: ((tree["a"] @ x) ** 2).sum())(tree)
        optimizer.update(tree, gradients)
        return loss

    losses = [step(tree, optimizer).item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("format", FORMATS)
def test_tangents_and_gradients_of_another_pattern_are_refused(format):
    matrix, x = some(format).coalesce(), tfr.arange(5, dtype="float64")
    product, direction = tfr.jvp(lambda a: a @ x, (matrix,), (matrix * 3.0,))
    np.testing.assert_allclose(direction.numpy(), 3 * product.numpy())
    other = matrix[:5]
    with pytest.raises(GradientError, match="not trees like the arguments"):
        tfr.jvp(lambda a: a @ x, (matrix,), (other,))
    with pytest.raises(ArgumentError, match="not a tree like the parameters"):
        tfr.optim.SGD(0.1).update([matrix], [other])
