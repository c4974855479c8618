"""`autocast`: what takes half precision in a block, what gives float32, and that parameters stay."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DTypeError
from tensorframe.graph.op import Kind, Precision, rows
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it

DEVICES = [name for name in ("opencl", "wgpu", "cuda") if name in tfr.backends.available()]
LOW = ["bfloat16", "float16"]


def tensor(*shape, seed=0, dtype="float32", device=None):
    values = np.random.default_rng(seed).uniform(0.1, 1.0, shape)
    return tfr.asarray(values, dtype="float32", device=device).astype(dtype)


# what multiplies and sums products, of float32 operands
PRODUCTS = {
    "matmul": lambda: tfr.matmul(tensor(3, 4), tensor(4, 5, seed=1)),
    "@": lambda: tensor(3, 4) @ tensor(4, 5, seed=1),
    "dot": lambda: tfr.linalg.matmul(tensor(4), tensor(4, seed=1)),
    "einsum": lambda: tfr.einsum("abc,cd->abd", tensor(2, 3, 4), tensor(4, 5, seed=1)),
    "tensordot": lambda: tfr.tensordot(tensor(3, 4), tensor(4, 5, seed=1), axes=1),
    "linear": lambda: F.linear(tensor(3, 4), tensor(5, 4, seed=1), tensor(5, seed=2)),
    "conv2d": lambda: F.conv2d(tensor(1, 2, 5, 5), tensor(3, 2, 3, 3, seed=1), tensor(3, seed=2)),
}
# what gives float32, of half precision
FULL = {
    "exp": tfr.exp,
    "log": tfr.log,
    "log1p": tfr.log1p,
    "pow": lambda x: x**3,
    "logaddexp": lambda x: tfr.logaddexp(x, x),
    "sum": tfr.sum,
    "prod": tfr.prod,
    "mean": tfr.mean,
    "var": tfr.var,
    "std": tfr.std,
    "cumulative_sum": lambda x: tfr.cumulative_sum(x, axis=0),
    "softmax": tfr.softmax,
    "log_softmax": tfr.log_softmax,
    "logsumexp": tfr.logsumexp,
    "vector_norm": tfr.linalg.vector_norm,
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1]),
    "cross_entropy": lambda x: F.cross_entropy(x, tfr.asarray([0, 1, 2])),
    "mse_loss": lambda x: F.mse_loss(x, tfr.zeros_like(x)),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1], eps=1e-6),
}


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_recorded_in_half_precision(name, dtype):
    expected = PRODUCTS[name]()
    assert expected.dtype == tfr.float32
    with tfr.autocast(dtype):
        got = PRODUCTS[name]()
    assert got.dtype == dtype
    np.testing.assert_allclose(got.astype("float32").numpy(), expected.numpy(), rtol=0.03)


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("name", FULL)
def test_what_would_lose_digits_is_recorded_in_float32(name, dtype):
    x = tensor(3, 4, dtype=dtype)
    assert FULL[name](x).dtype == dtype
    with tfr.autocast(dtype):
        got = FULL[name](x)
    assert got.dtype == tfr.float32
    np.testing.assert_allclose(got.numpy(), FULL[name](x.astype("float32")).numpy(), rtol=1e-6)


def test_everything_else_computes_in_what_it_is_given():
    for row in rows(Kind.MAP):
        function = getattr(tfr, row.name, None)
        if row.precision is not None or function is None or row.arity not in (1, 2):
            continue
        for dtype in ("float32", "bfloat16", "int32", "bool"):
            operands = [tensor(3, dtype=dtype)] * row.arity
            try:
                expected = function(*operands).dtype
            except tfr.errors.TensorFrameError:
                continue
            with tfr.autocast("bfloat16"):
                assert function(*operands).dtype == expected, (row.name, dtype)


def test_different_dtypes_meet_in_the_widest():
    with tfr.autocast("bfloat16"):
        assert (tensor(3) @ tensor(3) + tensor(3)).dtype == tfr.float32


def test_float64_is_not_narrowed():
    x = tensor(3, 3, dtype="float64")
    with tfr.autocast("float16"):
        assert (x @ x).dtype == tfr.float64
        assert (x @ tensor(3, 3)).dtype == tfr.float64


def test_integers_stay_integers():
    x = tfr.arange(9).reshape(3, 3)
    with tfr.autocast():
        assert (x @ x).dtype == x.dtype
        assert tfr.sum(x).dtype == x.dtype


def test_every_contraction_is_low_and_every_formula_says_what_it_is():
    """A new row that contracts has to decide, and so has one that means exponentials and sums."""
    assert all(row.precision is Precision.LOW for row in rows(Kind.CONTRACT))
    assert all(row.precision is Precision.FULL for row in rows(Kind.SCAN))
    undecided = {row.name for row in rows(Kind.FORMULA) if row.precision is None}
    # these give some of the elements, or integers as float32, or are computed by a library that takes no half precision
    known = {"ptp", "nanmax", "nanmin", "pick", "max_pool", "pool_index", "pinv"}
    known |= {"count_nonzero", "interp"}
    assert undecided <= known | {"dequantized", "dequantized_with_zeros"}


def loss(params, x, y):
    hidden = F.linear(x, params["first"])
    hidden = tfr.maximum(hidden, 0)
    scores = F.linear(hidden, params["second"])
    return -tfr.mean(tfr.sum(tfr.log_softmax(scores) * y, axis=-1))


def parameters(device=None):
    return {"first": tensor(8, 6, device=device), "second": tensor(3, 8, seed=1, device=device)}


def batch(device=None):
    return tensor(5, 6, seed=2, device=device), tfr.eye(5, 3, device=device)


@pytest.mark.parametrize("device", DEVICES)
def test_on_a_device(device):
    """Where it has no such dtype, what needs it runs on the cpu."""
    expected = loss(parameters(), *batch()).item()
    with tfr.autocast("float16"):
        value = loss(parameters(device), *batch(device))
    assert value.dtype == tfr.float32
    assert value.item() == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("device", ["cpu", "numpy", "llvm"])
@pytest.mark.parametrize("whole", [True, False])
def test_parameters_and_gradients_are_float32(device, whole):
    """Whether the backward pass is recorded in the block or after it."""
    inside = loss if whole else tfr.autocast("bfloat16")(loss)
    gradient = tfr.value_and_grad(inside)
    with tfr.autocast("bfloat16" if whole else None):
        value, gradients = gradient(parameters(device), *batch(device))
    expected, others = tfr.value_and_grad(loss)(parameters(device), *batch(device))
    assert value.dtype == tfr.float32
    assert value.item() == pytest.approx(expected.item(), rel=0.02)
    for name, got in gradients.items():
        assert got.dtype == tfr.float32
        np.testing.assert_allclose(got.numpy(), others[name].numpy(), rtol=0.2, atol=0.03)


def test_a_weight_is_cast_once_for_a_plan():
    @tfr.jit
    def twice(weight, x):
        with tfr.autocast("bfloat16"):
            return x @ weight, (x + 1) @ weight, tfr.tanh(x) @ weight

    weight, x = tensor(64, 64), tensor(64, 64, seed=1)
    plan = twice.explain(weight, x)
    readers = [step for step in plan.steps if 0 in step.inputs]
    assert plan.slots[0].shape == (64, 64)
    assert len(readers) == 1
    assert "cast" in readers[0].name


def test_a_recorded_function_is_recorded_for_each_block():
    product = tfr.jit(lambda a, b: a @ b)
    a, b = tensor(3, 4), tensor(4, 5)
    for _ in range(2):
        assert product(a, b).dtype == tfr.float32
        with tfr.autocast("float16"):
            assert product(a, b).dtype == tfr.float16
        with tfr.autocast("bfloat16"):
            assert product(a, b).dtype == tfr.bfloat16
    assert product.cache_info().recorded == 3


def test_blocks_nest_and_end():
    a = tensor(3, 3)
    with tfr.autocast("float16"):
        with tfr.autocast(None):
            assert (a @ a).dtype == tfr.float32
        with pytest.raises(RuntimeError), tfr.autocast("bfloat16"):
            raise RuntimeError
        assert (a @ a).dtype == tfr.float16
    assert (a @ a).dtype == tfr.float32


def test_what_is_evaluated_inside_a_block_is_what_was_recorded_before():
    a = tensor(3, 3)
    pending = tfr.exp(a @ a) @ a
    with tfr.autocast("bfloat16"):
        inside = pending.numpy()
    np.testing.assert_array_equal(inside, (tfr.exp(a @ a) @ a).numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "complex64"])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(DTypeError, match="half precision"):
        tfr.autocast(dtype)
