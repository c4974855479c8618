"""Random programs have JAX's gradients, of first and second order."""

import numpy as np
import pytest

import tensorframe as tfr
from tests.gradient.programs import BINARY, SHAPE, UNARY, operands, program

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
special = pytest.importorskip("jax.scipy.special")

jax.config.update("jax_enable_x64", True)


def _in_two(x):
    return jnp.concatenate([jnp.sin(x[:1]), x[1:] * 2]) + x[::-1]


def _norm(x):
    return jnp.linalg.norm(x, axis=1, keepdims=True)


def _after(x):
    return jnp.pad(jnp.diff(x, axis=1), ((0, 0), (1, 0)))


def _set(x, y):
    return x.at[1:, ::2].set(y[:2, :2]).at[0].multiply(2)


SEEDS = range(530, 560)

# what the steps of random programs are in JAX
STEPS = {
    "sin": jnp.sin,
    "tanh": jnp.tanh,
    "exp": lambda x: jnp.exp(jnp.tanh(x)),
    "log": lambda x: jnp.log(x * x + 1),
    "sigmoid": jax.nn.sigmoid,
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "silu": jax.nn.silu,
    "softplus": jax.nn.softplus,
    "sqrt": lambda x: jnp.sqrt(x * x + 0.5),
    "divide": lambda x: x / (1 + jnp.square(x)),
    "pow": lambda x: (1.5 + jnp.sin(x)) ** 2.5,
    "atan": jnp.arctan,
    "erf": special.erf,
    "sinc": jnp.sinc,
    "flip": lambda x: x[:, ::-1],
    "transpose": lambda x: x.T.reshape(SHAPE),
    "roll": lambda x: jnp.roll(x, 1, axis=1),
    "softmax": lambda x: jax.nn.softmax(x, axis=1) * 3,
    "log_softmax": lambda x: jax.nn.log_softmax(x, axis=0),
    "center": lambda x: x - jnp.mean(x, axis=1, keepdims=True),
    "scale": lambda x: x / jnp.sqrt(jnp.var(x, axis=0, keepdims=True) + 0.5),
    "norm": lambda x: x / (1 + _norm(x)),
    "cumulative_sum": lambda x: jnp.cumsum(x, axis=1) * 0.4,
    "cumulative_prod": lambda x: jnp.cumprod(1 + 0.2 * jnp.sin(x), axis=0),
    "prod": lambda x: x * jnp.prod(1 + 0.2 * jnp.sin(x)),
    "logsumexp": lambda x: x - special.logsumexp(x, axis=1, keepdims=True),
    "gram": lambda x: (x @ x.T) @ x * 0.2,
    "einsum": lambda x: jnp.einsum("ij,kj,kl->il", x, x, x) * 0.1,
    "take": lambda x: x[jnp.array([0, 2, 2])] * jnp.take(x, jnp.array([3, 1, 0, 1]), axis=1),
    "in two": _in_two,
    "pad": lambda x: jnp.pad(x, ((1, 0), (0, 2)))[:3, 1:5],
    "diff": _after,
    "table": lambda x: x.at[jnp.array([1, 1, 2])].add(x * 0.5),
    "stopped": lambda x: x * jax.lax.stop_gradient(jnp.ones(SHAPE)),
    "checkpoint": jax.checkpoint(lambda x: jnp.sin(x) * x),
    "sorted": lambda x: jnp.sort(x + jnp.arange(12.0).reshape(SHAPE) * 9, axis=1) * 0.1,
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "quotient": lambda x, y: x / (2 + jnp.cos(y)),
    "hypot": lambda x, y: jnp.hypot(x, y + 3),
    "atan2": lambda x, y: jnp.arctan2(x, jnp.exp(y)),
    "logaddexp": jnp.logaddexp,
    "where": lambda x, y: jnp.where(jnp.arange(4) % 2 == 0, x, jnp.sin(y)),
    "product": lambda x, y: (x @ y.T) @ y * 0.2,
    "row": lambda x, y: x * y[0] + y[:, :1],
    "set": _set,
    "stack": lambda x, y: jnp.sum(jnp.stack([x, y, x * y]), axis=0) * 0.5,
}


def losses(seed):
    """The weighted sum of what a program gives: ours and JAX's, and its steps."""
    steps, ours = program(seed)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, SHAPE)

    def theirs(x, y):
        values = [x, y]
        for name, *places in steps:
            values.append(STEPS[name](*[values[at] for at in places]))
        return jnp.sum(values[-1] * weights)

    return lambda x, y: tfr.sum(ours(x, y) * tfr.asarray(weights)), theirs, steps


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed):
    ours, theirs, steps = losses(seed)
    x, y, along_x, along_y = operands(seed)
    given, along = [tfr.asarray(x), tfr.asarray(y)], [tfr.asarray(along_x), tfr.asarray(along_y)]
    wanted = jax.grad(theirs, (0, 1))
    for found, one in zip(tfr.grad(ours, (0, 1))(*given), wanted(x, y), strict=True):
        np.testing.assert_allclose(found.numpy(), one, rtol=1e-10, atol=1e-11, err_msg=str(steps))
    if seed % 5:  # JAX compiles each op of each order
        return
    _, products = jax.jvp(wanted, (x, y), (along_x, along_y))
    for found, one in zip(tfr.hvp(ours, given, along), products, strict=True):
        np.testing.assert_allclose(found.numpy(), one, rtol=1e-9, atol=1e-9, err_msg=str(steps))


def test_every_step_has_its_like():
    assert STEPS.keys() == UNARY.keys() | BINARY.keys()
    used = {name for seed in SEEDS for name, *_ in program(seed)[0]}
    assert used == STEPS.keys()


def test_a_network_with_normalised_rows_and_its_hessian():
    x, y, *_ = operands(5)

    def loss(xp, norm):
        def function(x, y):
            hidden = xp.tanh(x @ y.T) @ y
            scaled = (hidden - xp.mean(hidden, axis=1, keepdims=True)) / xp.sqrt(
                xp.var(hidden, axis=1, keepdims=True) + 1e-5
            )
            return xp.sum(xp.cumsum(scaled**3, axis=0) * xp.maximum(x, y)) / norm(x)

        return function

    ours, theirs = loss(tfr, tfr.linalg.vector_norm), loss(jnp, jnp.linalg.norm)
    found = tfr.grad(ours, (0, 1))(tfr.asarray(x), tfr.asarray(y))
    for one, wanted in zip(found, jax.grad(theirs, (0, 1))(x, y), strict=True):
        np.testing.assert_allclose(one.numpy(), wanted, rtol=1e-10)
    curvature = tfr.hessian(lambda x: ours(x, tfr.asarray(y)))(tfr.asarray(x))
    wanted = jax.hessian(lambda x: theirs(x, y))(x)
    np.testing.assert_allclose(curvature.numpy(), wanted, rtol=1e-8, atol=1e-10)
