"""What gradients cost: as many kernels as forward and backward written by hand, and the fewest nodes that will do."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.node import next_serial

RANDOM = np.random.default_rng(7)


def tensor(*shape):
    return tfr.asarray(RANDOM.normal(size=shape).astype(np.float32))


def of_product(w, x, t):
    error = x @ w - t
    return tfr.sum(error * error), [x.T @ (2 * error)]


def of_layers(v, w, x, t):
    hidden = tfr.relu(x @ v)
    error = hidden @ w - t
    slope = 2 * error
    inner = tfr.where(hidden > 0, slope @ w.T, 0)
    return tfr.sum(error * error), [x.T @ inner, hidden.T @ slope]


def of_softmax(x, t):
    y = tfr.log_softmax(x, axis=1)
    slope = -t / len(t)
    return -tfr.sum(t * y) / len(t), [slope - tfr.exp(y) * tfr.sum(slope, axis=1, keepdims=True)]


def of_norm(x, t):
    mean = tfr.mean(x, axis=1, keepdims=True)
    scale = tfr.sqrt(tfr.var(x, axis=1, keepdims=True) + 1e-5)
    y = (x - mean) / scale
    inner = t - tfr.mean(t, axis=1, keepdims=True) - y * tfr.mean(t * y, axis=1, keepdims=True)
    return tfr.sum(y * t), [inner / scale]


def of_layer_norm(x, w, b, t):
    mean = tfr.mean(x, axis=1, keepdims=True)
    scale = 1 / tfr.sqrt(tfr.var(x, axis=1, keepdims=True) + 1e-5)
    y = (x - mean) * scale
    slope = t * w
    means = [tfr.mean(part, axis=1, keepdims=True) for part in (slope, slope * y)]
    gradient = scale * (slope - means[0] - y * means[1])
    return tfr.sum((y * w + b) * t), [gradient, tfr.sum(t * y, axis=0), tfr.sum(t, axis=0)]


def of_differences(x):
    d = x[1:] - x[:-1]
    zero = tfr.zeros(1)
    return tfr.sum(d * d), [2 * (tfr.concat([zero, d]) - tfr.concat([d, zero]))]


def of_running_sum(x):
    y = tfr.cumulative_sum(x)
    return tfr.sum(y * y), [tfr.flip(tfr.cumulative_sum(tfr.flip(2 * y)))]


def of_table(w, i):
    y = w[i]
    return tfr.sum(y * y), [tfr.index_add(tfr.zeros_like(w), i, 2 * y)]


def of_maximum(x, t):
    y = tfr.max(x, axis=1, keepdims=True)
    is_largest = x == y
    share = t / tfr.sum(is_largest.astype(x.dtype), axis=1, keepdims=True)
    return tfr.sum(y * t), [tfr.where(is_largest, share, 0)]


INDICES = tfr.asarray(np.arange(500) % 7)

# a function, what it is written by hand as with its gradients, its arguments, and for how many of them
CASES = {
    "w1": (
        lambda a, b: tfr.sum(tfr.exp(-a * a) * tfr.sin(b) + a / (1 + b * b)),
        lambda a, b: (
            tfr.sum(tfr.exp(-a * a) * tfr.sin(b) + a / (1 + b * b)),
            [
                -2 * a * tfr.exp(-a * a) * tfr.sin(b) + 1 / (1 + b * b),
                tfr.exp(-a * a) * tfr.cos(b) - 2 * a * b / ((1 + b * b) * (1 + b * b)),
            ],
        ),
        (tensor(100_000), tensor(100_000)),
        2,
    ),
    "product": (
        lambda w, x, t: tfr.sum((x @ w - t) ** 2),
        of_product,
        (tensor(100, 64), tensor(256, 100), tensor(256, 64)),
        1,
    ),
    "two layers": (
        lambda v, w, x, t: tfr.sum((tfr.relu(x @ v) @ w - t) ** 2),
        of_layers,
        (tensor(100, 64), tensor(64, 10), tensor(256, 100), tensor(256, 10)),
        2,
    ),
    "softmax": (
        lambda x, t: -tfr.sum(t * tfr.log_softmax(x, axis=1)) / len(t),
        of_softmax,
        (tensor(256, 100), tensor(256, 100)),
        1,
    ),
    "normalised rows": (
        lambda x, t: tfr.sum(
            (x - tfr.mean(x, axis=1, keepdims=True))
            / tfr.sqrt(tfr.var(x, axis=1, keepdims=True) + 1e-5)
            * t
        ),
        of_norm,
        (tensor(256, 300), tensor(256, 300)),
        1,
    ),
    "layer norm": (
        lambda x, w, b, t: tfr.sum(
            (
                (x - tfr.mean(x, axis=1, keepdims=True))
                / tfr.sqrt(tfr.var(x, axis=1, keepdims=True) + 1e-5)
                * w
                + b
            )
            * t
        ),
        of_layer_norm,
        (tensor(256, 300), tensor(300), tensor(300), tensor(256, 300)),
        3,
    ),
    "differences": (lambda x: tfr.sum((x[1:] - x[:-1]) ** 2), of_differences, (tensor(50_000),), 1),
    "running sum": (
        lambda x: tfr.sum(tfr.cumulative_sum(x) ** 2),
        of_running_sum,
        (tensor(50_000),),
        1,
    ),
    "table": (
        lambda w, i: tfr.sum(w[i] ** 2),
        of_table,
        (tensor(1000, 64), INDICES),
        1,
    ),
    "maximum": (
        lambda x, t: tfr.sum(tfr.max(x, axis=1, keepdims=True) * t),
        of_maximum,
        (tensor(256, 100), tensor(256, 1)),
        1,
    ),
    "gelu": (
        lambda x: tfr.sum(tfr.gelu(x)),
        lambda x: (
            tfr.sum(tfr.gelu(x)),
            [0.5 * (1 + tfr.erf(x * 0.5**0.5)) + x * tfr.exp(-x * x / 2) * 0.3989422804],
        ),
        (tensor(50_000),),
        1,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_no_more_kernels_than_by_hand(name):
    function, by_hand, args, count = CASES[name]
    value, gradients = tfr.value_and_grad(function, range(count))(*args)
    own_value, own_gradients = by_hand(*args)
    plan = tfr.explain(value, *gradients)
    own = tfr.explain(own_value, *own_gradients)
    for found, wanted in zip(gradients, own_gradients, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(value.item(), own_value.item(), rtol=1e-4)
    assert plan.kernels <= own.kernels
    assert plan.library_calls <= own.library_calls


def test_the_gradient_of_w1_is_one_kernel():
    function = CASES["w1"][0]
    a, b = (tfr.asarray(np.ones(4_000_000, dtype=np.float32)) for _ in range(2))
    plan = tfr.explain(*tfr.grad(function, (0, 1))(a, b))
    assert (plan.kernels, plan.library_calls) == (1, 0)
    assert plan.bytes_read < 2 * a.nbytes + 100  # and a few numbers
    assert plan.bytes_written == 2 * a.nbytes
    operations = plan.flops / a.size
    value, gradients = tfr.value_and_grad(function, (0, 1))(a, b)
    plan = tfr.explain(value, *gradients)
    assert (plan.kernels, plan.library_calls) == (1, 0)
    assert plan.bytes_written == 2 * a.nbytes + value.nbytes
    # the sum, and the value that is summed: four, of which one is a quotient
    assert plan.flops / a.size <= operations + 7


def test_a_gradient_takes_few_operations():
    """One division for both operands of a quotient, one product for a square; none by the cotangent of the loss, 1."""

    def ops(function, *args):
        plan = tfr.explain(*tfr.grad(function, tuple(range(len(args))))(*args))
        return sorted(op.op.name for step in plan.steps for op in step.region.ops)

    x, y = tensor(5000), tensor(5000)
    assert ops(lambda x, y: tfr.sum(x / y), x, y) == ["divide", "multiply", "multiply", "negative"]
    assert ops(lambda x: tfr.sum(x * x), x) == ["add"]
    assert ops(lambda x, y: tfr.sum(x * x * y), x, y) == ["add", "multiply", "multiply"]


def test_a_quotient_of_half_precision_has_a_gradient_where_the_reciprocal_has_none():
    x, y = (tfr.asarray(np.full(3, 1e-5), dtype=tfr.float16) for _ in range(2))
    slopes = tfr.grad(lambda x, y: tfr.sum(x / y * 1e-3), (0, 1))(x, y)
    wanted = 1e-3 / y.numpy().astype(np.float64)
    np.testing.assert_allclose(slopes[0].numpy(), wanted, rtol=2e-3)
    np.testing.assert_allclose(slopes[1].numpy(), -wanted, rtol=2e-3)


def test_a_step_of_an_optimiser_runs_in_the_product_that_makes_its_gradient():
    """The gradient is never an array."""
    w, moment, x, t = tensor(100, 64), tensor(100, 64), tensor(256, 100), tensor(256, 64)
    # no variable refers to the gradient, which would have to be stored for it
    moment = 0.9 * moment + 0.1 * tfr.grad(lambda w: tfr.sum((x @ w - t) ** 2))(w)
    plan = tfr.explain(w - 0.01 * moment / (tfr.sqrt(tfr.abs(moment)) + 1e-8), moment)
    last = plan.steps[-1]
    assert last.region.ops[0].op.name == "matmul"
    assert len(last.region.ops) > 6
    assert plan.library_calls == 2


def test_steps_of_a_gradient_are_marked():
    w, x = tensor(100, 64), tensor(256, 100)
    value, gradient = tfr.value_and_grad(lambda w, x: tfr.sum((x @ w) ** 2))(w, x)
    text = str(tfr.explain(value, gradient))
    assert "library call on cpu: matmul(" in text
    assert "library call, backward, on cpu: matmul(" in text


def test_few_nodes_are_recorded():
    """Each product has two, and each sine one more; what nobody differentiates for has none."""

    def chain(x):
        for _ in range(100):
            x = tfr.sin(x) * 0.5
        return x

    first = next_serial()
    chain(tfr.asarray(1.0))
    forward = next_serial() - first
    first = next_serial()
    tfr.grad(chain)(tfr.asarray(1.0))
    backward = next_serial() - first - forward
    assert backward <= 100 * 3 + 10


def test_what_nothing_flows_to_is_not_recorded():
    first = next_serial()
    tfr.grad(lambda x: x ** tfr.asarray(2.5))(tfr.asarray(1.0))
    with_base = next_serial() - first
    first = next_serial()
    tfr.grad(lambda x, y: x**y, (0, 1))(tfr.asarray(1.0), tfr.asarray(2.5))
    assert with_base < next_serial() - first - 3
