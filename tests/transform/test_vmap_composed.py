"""vmap with trees and axes, and with other transformations, random numbers and assignments inside."""

import numpy as np
import pytest

import tensorframe as tfr
from tests.transform.vmap_cases import COUNT, MATRIX, VECTOR, check, definite, looped, numbers

# --- trees and axes


def test_axes_of_arguments_and_results():
    x = numbers((4, COUNT, 2))
    found = tfr.vmap(lambda x, y: (x * y, x.T), in_axes=(1, None), out_axes=(-1, 1))(x, 2.0)
    np.testing.assert_array_equal(found[0].numpy(), (x * 2).transpose(0, 2, 1))
    np.testing.assert_array_equal(found[1].numpy(), x.transpose(2, 1, 0))


def test_trees_with_axes_of_their_own():
    tree = {"w": tfr.asarray(numbers((2, COUNT))), "b": [tfr.asarray(numbers((COUNT,))), 3.0]}

    def function(p, t):
        return {"sum": p["w"].sum() + p["b"][0] * p["b"][1], "t": (t, None)}

    found = tfr.vmap(
        function, in_axes=({"w": 1, "b": [0, None]}, None), out_axes={"sum": 0, "t": None}
    )(tree, 7.0)
    wanted = numbers((2, COUNT)).sum(0) + numbers((COUNT,)) * 3
    np.testing.assert_array_equal(found["sum"].numpy(), wanted)
    assert (found["t"][0].item(), found["t"][1]) == (7.0, None)


def test_what_all_examples_share_is_computed_once_and_repeated():
    weights = tfr.asarray(numbers((4, 4)))
    x = tfr.asarray(VECTOR)
    found = tfr.vmap(lambda x: (x @ tfr.exp(weights), weights.sum()))(x)
    assert found[0].node.op.name == "matmul"  # one product, not one for each example
    assert [source.shape for source in found[0].node.inputs] == [(COUNT, 4), (4, 4)]
    np.testing.assert_allclose(found[0].numpy(), VECTOR @ np.exp(numbers((4, 4))), rtol=1e-5)
    assert found[1].shape == (COUNT,)


def test_matrix_times_vectors_is_one_product():
    found = tfr.vmap(tfr.matmul, in_axes=(None, 0))(tfr.ones((5, 4)), tfr.asarray(VECTOR))
    assert found.node.op.name == "matmul"
    assert found.node.inputs[0].shape == (COUNT, 4)


def test_one_matrix_is_decomposed_once():
    matrix = tfr.asarray(definite()[0])
    for right in (VECTOR, MATRIX[:, :, :2]):
        found = tfr.vmap(tfr.linalg.solve, in_axes=(None, 0))(matrix, tfr.asarray(right))
        ops = [op for step in found.explain().steps for op in step.region.ops]
        assert [op.shape for op in ops if op.op.name == "solve"] == [(4, right.size // 4)]


def test_no_examples():
    found = tfr.vmap(lambda x: (x.sum(), tfr.convolve(x, [1.0, 2.0])))(tfr.zeros((0, 4)))
    assert [one.shape for one in found] == [(0,), (0, 5)]


# --- composed


def test_nested():
    x, y = tfr.asarray(numbers((2, 4))), tfr.asarray(numbers((COUNT, 4), seed=1))
    pairs = tfr.vmap(lambda a: tfr.vmap(lambda b: a @ b)(y))(x)
    np.testing.assert_allclose(pairs.numpy(), x.numpy() @ y.numpy().T)
    other = tfr.vmap(tfr.vmap(lambda a, b: a @ b, in_axes=(None, 0)), in_axes=(0, None))(x, y)
    np.testing.assert_array_equal(other.numpy(), pairs.numpy())


def loss(w, x):
    return tfr.sum(tfr.tanh(x @ w) ** 2)


def test_gradients_of_each_example():
    w, x = tfr.asarray(numbers((4, 2)) / 4), tfr.asarray(VECTOR)
    each = tfr.vmap(tfr.grad(loss), in_axes=(None, 0))(w, x)
    wanted = looped(tfr.grad(loss), (None, 0), w, x)[0]
    np.testing.assert_allclose(each.numpy(), wanted, rtol=1e-5, atol=1e-6)
    total = tfr.grad(lambda w: tfr.vmap(loss, in_axes=(None, 0))(w, x).sum())(w)
    np.testing.assert_allclose(total.numpy(), wanted.sum(0), rtol=1e-4, atol=1e-5)


@tfr.custom_gradient
def scaled(w, x):
    return tfr.sin(x) * w, w + 1


@scaled.vjp
def scaled_vjp(args, out, cts):
    w, x = args
    # twice what it is
    return 2 * tfr.sum(cts[0] * out[0] / w) + cts[1], 2 * cts[0] * w * tfr.cos(x)


@pytest.mark.parametrize("axes", [(None, 0), (0, None), (0, 0)], ids=str)
def test_rules_of_ones_own(axes):
    w, x = tfr.asarray([1.5, 2.0, 3.0]), tfr.asarray(VECTOR / 4)
    given = [one if axis == 0 else one[1] for one, axis in zip((w, x), axes, strict=True)]

    def loss(w, x):
        return tfr.sum(scaled(w, x)[0] ** 2) + scaled(w, x)[1]

    each = tfr.vmap(tfr.grad(loss, argnums=(0, 1)), in_axes=axes)(*given)
    wanted = looped(tfr.grad(loss, argnums=(0, 1)), axes, *given)
    for found, expected in zip(each, wanted, strict=True):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)
    total = tfr.grad(lambda w, x: tfr.vmap(loss, in_axes=axes)(w, x).sum(), argnums=(0, 1))(*given)
    for found, expected, axis in zip(total, wanted, axes, strict=True):
        expected = expected if axis == 0 else expected.sum(0)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


def test_stopped_gradients():
    def loss(x):
        return tfr.sum(x * tfr.stop_gradient(x))

    x = tfr.asarray(VECTOR)
    np.testing.assert_array_equal(tfr.vmap(tfr.grad(loss))(x).numpy(), VECTOR)
    np.testing.assert_array_equal(tfr.grad(lambda x: tfr.vmap(loss)(x).sum())(x).numpy(), VECTOR)


@pytest.mark.parametrize("of", ["jit of vmap", "vmap of jit"])
def test_jit(of):
    w, x = tfr.asarray(numbers((4, 2)) / 4), tfr.asarray(VECTOR)
    mapped = {
        "jit of vmap": lambda: tfr.jit(tfr.vmap(loss, in_axes=(None, 0))),
        "vmap of jit": lambda: tfr.vmap(tfr.jit(loss), in_axes=(None, 0)),
    }[of]()
    for scale in (1, 2):
        wanted = looped(loss, (None, 0), w, x * scale)[0]
        np.testing.assert_allclose(mapped(w, x * scale).numpy(), wanted, rtol=1e-5)


def test_a_mapped_elementwise_chain_is_one_kernel():
    x = tfr.asarray(np.linspace(0.0, 1.0, 120_000, dtype=np.float32).reshape(300, 400))
    assert tfr.vmap(lambda row: tfr.exp(row) * 2 + tfr.sin(row))(x).explain().kernels == 1


def test_a_key_for_each_example():
    keys = tfr.random.split(tfr.random.key(0), COUNT)

    def draw(x, key):
        return x + tfr.random.normal((5,), key=key), tfr.random.integers(0, 9, (4,), key=key)

    x = tfr.asarray(np.zeros(COUNT, "float32"))
    for mapped in (tfr.vmap(draw), tfr.jit(tfr.vmap(draw))):
        found = mapped(x, keys)
        for index, key in enumerate(keys):
            for one, wanted in zip(found, draw(x[index], key), strict=True):
                np.testing.assert_array_equal(one[index].numpy(), wanted.numpy())
    shared = tfr.vmap(draw, in_axes=(0, None))(x, keys[1])[0].numpy()
    np.testing.assert_array_equal(shared[0], shared[2])


def test_keys_are_split_inside():
    def draw(key):
        first, second = tfr.random.split(key)
        return tfr.random.uniform((3,), key=first) - tfr.random.uniform((3,), key=second)

    keys = tfr.random.split(tfr.random.key(0), COUNT)
    found = tfr.vmap(draw)(keys)
    np.testing.assert_array_equal(found.numpy(), np.stack([draw(key).numpy() for key in keys]))
    nested = tfr.vmap(lambda key: tfr.vmap(draw)(tfr.random.split(key, 2)))(keys).numpy()
    wanted = [[draw(one).numpy() for one in tfr.random.split(key)] for key in keys]
    np.testing.assert_array_equal(nested, wanted)


def test_one_key_of_one_example():
    (key,) = tfr.random.split(tfr.random.key(0), 1)
    found = tfr.vmap(lambda key: tfr.random.uniform((3,), key=key))([key])
    np.testing.assert_array_equal(found.numpy()[0], tfr.random.uniform((3,), key=key).numpy())


def test_generators_made_inside():
    def draw(x):
        return x + tfr.random.default_rng(7).random(3)

    check(draw, np.zeros(COUNT, "float32"))


def test_assignments_inside():
    def function(x, y):
        x[1:] += y
        x *= 2
        return x

    x = tfr.asarray(VECTOR)
    check(function, VECTOR.copy(), VECTOR[:, :3])
    tfr.vmap(function)(x, x[:, :3])
    np.testing.assert_array_equal(x.numpy(), VECTOR)
