"""vmap equals a loop over the examples: for every op row, for every choice of operands that differ, and composed."""

from itertools import product

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.dtypes import FLOAT
from tensorframe.errors import (
    ArgumentError,
    AxisError,
    DTypeError,
    IndexingError,
    ShapeError,
    TracingError,
)
from tensorframe.graph.op import Kind, find, rows
from tensorframe.testing.conformance.calls import CALLS, WITHOUT
from tensorframe.testing.conformance.operations import operand_sets
from tests.backends.devices import FOUND

COUNT = 3
DTYPES = ("float32", "complex64", "int32", "bool")

# what is recorded by a function of its own, rather than one call of CALLS for a matrix or two
ELEMENTWISE = [op for op in rows(Kind.MAP) if op.public and op.name not in CALLS]


def looped(function, axes, *operands):
    """The results of one example after the other, stacked."""
    results = []
    for index in range(COUNT):
        found = function(
            *[
                operand if axis is None else operand[index]
                for operand, axis in zip(operands, axes, strict=True)
            ]
        )
        results.append(found if isinstance(found, tuple) else (found,))
    return [np.stack([np.asarray(one) for one in column]) for column in zip(*results, strict=True)]


def check(function, *operands, axes=None):
    """Map a function over operands, of which those with an axis of None are the same in all examples."""
    axes = (0,) * len(operands) if axes is None else axes
    tensors = [tfr.asarray(operand) for operand in operands]
    found = tfr.vmap(function, in_axes=axes)(*tensors)
    found = found if isinstance(found, tuple) else (found,)
    for one, wanted in zip(found, looped(function, axes, *tensors), strict=True):
        assert (one.shape, one.dtype) == (wanted.shape, wanted.dtype)
        near = 2e-5 if one.dtype.kind in "fcV" else 0
        np.testing.assert_allclose(one.numpy(), wanted, rtol=near, atol=near)


def numbers(shape, dtype="float32", seed=0):
    found = np.random.default_rng(seed).integers(-4, 5, shape)
    return (found + 1j * found[..., ::-1] if dtype.startswith("complex") else found).astype(dtype)


def definite(count=COUNT, size=4):
    root = np.random.default_rng(0).standard_normal((count, size, size)).astype("float32")
    return root @ root.swapaxes(1, 2) / size + np.diag(np.arange(size) + 1.0).astype("float32")


CASES = [
    (name, dtype)
    for name in CALLS
    if name not in WITHOUT
    for dtype in DTYPES
    if np.dtype(dtype) in find(name).accepts
]


@pytest.mark.parametrize(("name", "dtype"), CASES, ids="-".join)
def test_every_row_equals_a_loop(name, dtype):
    matrices = numbers((COUNT, 4, 6), dtype)
    check(CALLS[name], matrices, definite().astype(dtype))


@pytest.mark.parametrize("op", ELEMENTWISE, ids=str)
def test_every_elementwise_row_equals_a_loop(op):
    dtype = next(iter(sorted(op.accepts & FLOAT, key=str)), np.dtype("int64"))
    for operands in operand_sets(op, np.dtype("float32") if dtype in FLOAT else dtype):
        function = getattr(tfr, op.name)
        wide = [np.stack([operand, operand[::-1], operand]) for operand in operands]
        check(function, *wide)
        if len(operands) > 1:  # an operand of lower rank that differs beside one that does not
            lower = [*operands[:-1], wide[-1][:, 0]]
            check(function, *lower, axes=(None,) * (len(operands) - 1) + (0,))


def test_no_row_is_without_a_test():
    tested = {*CALLS, *(op.name for op in ELEMENTWISE)}
    private = {op.name for op in rows() if not op.public}
    missing = {op.name for op in rows()} - tested - private - WITHOUT
    assert not missing, "add a call of each to tensorframe/testing/conformance/calls.py"


def index(*values):
    return np.array(values)


VECTOR, MATRIX, STACK = (
    numbers((COUNT, 4)),
    numbers((COUNT, 4, 4), seed=1),
    numbers((COUNT, 2, 4, 4)),
)
PLACES = np.array([[0, -1, 2], [3, 3, 0], [1, 0, -4]])


def scattered(x, values, places):
    y = tfr.asarray(x, copy=True)
    y[places] = values
    return y


def scattered_inside(x, values, places):
    y = tfr.asarray(x, copy=True)
    y[:, places] = values
    return y


SEVERAL = {
    "vector @ matrix": (tfr.matmul, VECTOR, MATRIX),
    "matrix @ vector": (tfr.matmul, MATRIX, VECTOR),
    "vector @ vector": (tfr.matmul, VECTOR, VECTOR),
    "matrix @ column": (tfr.matmul, MATRIX, VECTOR[:, :, None]),
    "row @ matrix": (tfr.matmul, VECTOR[:, None, :], MATRIX),
    "stack @ matrix": (tfr.matmul, STACK, MATRIX),
    "matrix @ stack": (tfr.matmul, MATRIX, STACK),
    "stack @ vector": (tfr.matmul, STACK, VECTOR),
    "vector @ stack": (tfr.matmul, VECTOR, STACK),
    "einsum": (lambda x, y: tfr.einsum("ij,jk->ki", x, y), MATRIX, MATRIX),
    "einsum of a diagonal": (lambda x, y: tfr.einsum("ii,i->", x, y), MATRIX, VECTOR),
    "solve for a vector": (tfr.linalg.solve, definite(), VECTOR),
    "solve for columns": (tfr.linalg.solve, definite(), MATRIX),
    "solve for stacks": (tfr.linalg.solve, definite(), STACK),
    "lstsq": (lambda a, b: tuple(tfr.linalg.lstsq(a, b)), definite(), VECTOR),
    "gather": (lambda x, i: x[i], MATRIX, PLACES),
    "gather columns": (lambda x, i: x[:, i], MATRIX, PLACES),
    "gather pairs": (lambda x, i, j: x[i, j], MATRIX, PLACES, PLACES),
    "gather apart": (lambda x, i, j: x[i, :, j], STACK % 2, PLACES % 2, PLACES),
    "gather by tables": (lambda x, i, j: x[i[:, None], j], MATRIX, PLACES, PLACES),
    "gather one": (lambda x, i: x[i], VECTOR, PLACES[:, 0]),
    "take_along_axis": (
        lambda x, i: tfr.take_along_axis(x, i[:, None], axis=0),
        MATRIX,
        PLACES,
    ),
    "scatter": (scattered, MATRIX, MATRIX[:, :3], PLACES),
    "scatter columns": (scattered_inside, MATRIX, MATRIX[:, :, :3], PLACES),
    "scatter one number": (lambda x, i: scattered(x, 9, i), VECTOR, PLACES),
    "index_add": (lambda x, v, i: tfr.index_add(x, i, v), MATRIX, MATRIX[:, :3], PLACES),
    "index_add in columns": (
        lambda x, v, i: tfr.index_add(x, (slice(None), i), v),
        MATRIX,
        MATRIX[:, :, :3],
        PLACES,
    ),
    "segment_max": (lambda x, i: tfr.segment_max(x, i, 4), MATRIX[:, :3], PLACES),
    "concat": (lambda x, y: tfr.concat([x, y, x], axis=1), MATRIX, MATRIX),
    "set a slice": (lambda x, y: scattered(x, y, slice(1, 3)), MATRIX, VECTOR),
    "where": (lambda x, y, z: tfr.where(x > 0, y, z), VECTOR, MATRIX, STACK),
    "searchsorted": (lambda x, y: tfr.searchsorted(tfr.sort(x), y), VECTOR, MATRIX),
    "convolution": (
        lambda x, w: tfr.nn.functional.conv1d(x, w, padding=1),
        STACK,
        STACK[:, :, :, :3],
    ),
    "convolution in groups": (
        lambda x, w: tfr.nn.functional.conv1d(x[None], w[:, :2, :3], groups=2),
        MATRIX,
        STACK,
    ),
    "convolve": (tfr.convolve, VECTOR, VECTOR[:, :2]),
    "quantile": (lambda x, q: tfr.quantile(x, abs(q) / 4), MATRIX, VECTOR),
    "histogram": (
        lambda x, w: tfr.histogram(x, bins=3, range=(-4, 4), weights=w)[0],
        VECTOR,
        VECTOR,
    ),
    "mean and variance": (lambda x, y: (tfr.mean(x * y), tfr.var(x + y, axis=0)), MATRIX, VECTOR),
    "softmax": (lambda x, y: tfr.softmax(x + y, axis=0), MATRIX, VECTOR),
    "clip": (lambda x, y: tfr.clip(x, -1, y), MATRIX, VECTOR),
    "a function of the user's": (tfr.elementwise(lambda x, y: x * y + 1), MATRIX, VECTOR),
    "a loop": (lambda x, y: sum([x * y for _ in range(3)], x), MATRIX, VECTOR),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_any_choice_of_operands_may_differ(name):
    function, *operands = SEVERAL[name]
    for axes in product((0, None), repeat=len(operands)):
        if axes == (None,) * len(operands):
            continue
        given = [
            operand if axis == 0 else operand[0]
            for operand, axis in zip(operands, axes, strict=True)
        ]
        check(function, *given, axes=axes)


@pytest.mark.parametrize("device", FOUND)
def test_devices_run_what_is_mapped(device):
    x = tfr.asarray(numbers((COUNT, 4, 6)), device=device)
    places = tfr.asarray(PLACES.astype("int32"), device=device)

    def function(x, i):
        return tfr.softmax(x @ x.T)[i].sum(), tfr.index_add(x, i, 1.0)

    found = tfr.vmap(function)(x, places)
    assert {str(one.device) for one in found} == {device}
    for one, wanted in zip(found, looped(function, (0, 0), x, places), strict=True):
        np.testing.assert_allclose(one.numpy(), wanted, rtol=1e-5)


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


# --- what is refused


def test_values_of_examples_are_not_known():
    def branches(x, y):
        return x if y.sum() > 0 else -x

    with pytest.raises(
        TracingError, match=r"branches: values that depend on the argument y differ"
    ):
        tfr.vmap(branches)(tfr.asarray(VECTOR), tfr.asarray(VECTOR))
    with pytest.raises(TracingError, match=r"argument p\['w'\]"):
        tfr.vmap(lambda p: p["w"] * float(p["w"].sum()))({"w": tfr.asarray(VECTOR)})


def test_draws_that_all_examples_would_share():
    for draw in (
        lambda x: x + tfr.random.uniform(3),
        lambda x: x + tfr.random.default_rng().random(3),
    ):
        with pytest.raises(TracingError, match="would be the same for all examples"):
            tfr.vmap(draw)(tfr.ones(COUNT))


def test_tensors_from_outside_keep_their_values():
    outside = tfr.zeros(4)

    def adds(x):
        outside[:] = outside + x
        return x

    def fails(x):
        outside[:] = outside + x
        raise ZeroDivisionError

    with pytest.raises(TracingError, match="changes a tensor that is not among its arguments"):
        tfr.vmap(adds)(tfr.asarray(VECTOR))
    with pytest.raises(ZeroDivisionError):
        tfr.vmap(fails)(tfr.asarray(VECTOR))
    assert outside.tolist() == [0.0] * 4


def both(x, y):
    return x + y


@pytest.mark.parametrize(
    ("error", "words", "call"),
    [
        (
            ShapeError,
            "the argument x has 3 examples, y has 2",
            lambda: tfr.vmap(both)(tfr.ones(3), tfr.ones(2)),
        ),
        (
            AxisError,
            r"the argument y has shape \(3,\), and no axis 1",
            lambda: tfr.vmap(both, in_axes=(0, 1))(tfr.ones(3), tfr.ones(3)),
        ),
        (AxisError, "the argument y has no axes", lambda: tfr.vmap(both)(tfr.ones(3), 2.0)),
        (
            AxisError,
            r"argument x\.value has no axes(.|\n)*tfr\.random\.split\(x, n\)",
            lambda: tfr.vmap(both)(tfr.random.key(0), tfr.ones(3)),
        ),
        (
            AxisError,
            r"argument x\[0\] has no axes(.|\n)*tfr\.asarray\(\.\.\.\) of a list",
            lambda: tfr.vmap(both)([1.0, 2.0], tfr.ones(2)),
        ),
        (
            ArgumentError,
            "in_axes has 1 entries for 2 positional arguments",
            lambda: tfr.vmap(both, in_axes=(0,))(tfr.ones(3), 1.0),
        ),
        (
            ArgumentError,
            "no argument with an axis",
            lambda: tfr.vmap(both, in_axes=None)(tfr.ones(3), 1.0),
        ),
        (
            ArgumentError,
            "in_axes consists of integers and None, got 0.5 for x",
            lambda: tfr.vmap(both, in_axes=0.5)(tfr.ones(3), 1.0),
        ),
        (
            ArgumentError,
            "in_axes is a tree that x is not like",
            lambda: tfr.vmap(both, in_axes=([0, 0], None))([tfr.ones(3)], 1.0),
        ),
        (
            ArgumentError,
            "out_axes=None for result, which differs",
            lambda: tfr.vmap(both, out_axes=None)(tfr.ones(3), tfr.ones(3)),
        ),
        (
            AxisError,
            "result of all examples has 1 axes, and no axis 1",
            lambda: tfr.vmap(both, out_axes=1)(tfr.ones(3), tfr.ones(3)),
        ),
        (DTypeError, "vmap: takes a function, got int", lambda: tfr.vmap(3)),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_errors_name_the_argument(error, words, call):
    with pytest.raises(error, match=words):
        call()


def test_an_index_out_of_bounds_is_found():
    mapped = tfr.vmap(lambda x, i: x[i])(tfr.asarray(VECTOR), tfr.asarray([0, 1, 4]) + 0)
    with pytest.raises(IndexingError, match="index 4 is out of bounds"):
        mapped.compute()
