"""Training in JAX: functions of trees, compiled as one, parameters and averages donated."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.benchmarks.training.measuring import (
    HEADS,
    LAYERS,
    LENGTH,
    LETTERS,
    WIDTH,
    Array,
    Step,
    measure,
)

_RANDOM = np.random.default_rng(1)


def weight(*shape: int) -> Any:
    """Return a weight of small numbers."""
    return jnp.asarray(0.02 * _RANDOM.standard_normal(shape).astype(np.float32))


def dense(features: int, out: int) -> Any:
    """Return the parameters of a linear layer."""
    return {"w": weight(features, out), "b": jnp.zeros(out)}


def norm() -> Any:
    """Return the parameters of a layer norm."""
    return {"w": jnp.ones(WIDTH), "b": jnp.zeros(WIDTH)}


def block() -> Any:
    """Return the parameters of a block."""
    return {
        "norm1": norm(),
        "norm2": norm(),
        "parts": dense(WIDTH, 3 * WIDTH),
        "projection": dense(WIDTH, WIDTH),
        "first": dense(WIDTH, 4 * WIDTH),
        "second": dense(4 * WIDTH, WIDTH),
    }


def linear(layer: Any, x: Any) -> Any:
    """Apply a linear layer."""
    return x @ layer["w"] + layer["b"]


def normalised(layer: Any, x: Any) -> Any:
    """Apply a layer norm."""
    mean, var = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * layer["w"] + layer["b"]


def through_block(layer: Any, x: Any) -> Any:
    """Apply a block."""
    parts = linear(layer["parts"], normalised(layer["norm1"], x))
    parts = parts.reshape(*x.shape[:2], 3, HEADS, WIDTH // HEADS).transpose(2, 0, 3, 1, 4)
    scores = parts[0] @ parts[1].swapaxes(-1, -2) / math.sqrt(WIDTH // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -jnp.inf)
    seen = (jax.nn.softmax(scores) @ parts[2]).transpose(0, 2, 1, 3).reshape(x.shape)
    x = x + linear(layer["projection"], seen)
    hidden = jax.nn.gelu(linear(layer["first"], normalised(layer["norm2"], x)), approximate=False)
    return x + linear(layer["second"], hidden)


def language_model(params: Any, letters: Any) -> Any:
    """Return scores for each letter that may follow."""
    x = params["letters"][letters] + params["places"]
    for layer in params["blocks"]:
        x = through_block(layer, x)
    return normalised(params["norm"], x) @ params["letters"].T


def pictures(params: Any, x: Any) -> Any:
    """Return scores for each class."""
    for layer in params["convolutions"]:
        x = jax.lax.conv(x, layer["w"], (1, 1), "SAME") + layer["b"][:, None, None]
        x = jax.lax.reduce_window(
            jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"
        )
    return linear(params["last"], x.reshape(x.shape[0], -1))


def rows(params: Any, x: Any) -> Any:
    """Return scores for each class."""
    first, second, last = params
    return linear(last, jax.nn.relu(linear(second, jax.nn.relu(linear(first, x)))))


def network_of(name: str) -> tuple[Any, Any]:
    """Return the function of a network, and its parameters."""
    if name == "gpt":
        blocks = [block() for _ in range(LAYERS)]
        tables = {"letters": weight(LETTERS, WIDTH), "places": weight(LENGTH, WIDTH)}
        return language_model, {**tables, "blocks": blocks, "norm": norm()}
    if name == "cnn":
        shapes = ((32, 1, 3, 3), (64, 32, 3, 3))
        convolutions = [{"w": weight(*shape), "b": jnp.zeros(shape[0])} for shape in shapes]
        return pictures, {"convolutions": convolutions, "last": dense(64 * 7 * 7, 10)}
    return rows, [dense(784, 512), dense(512, 512), dense(512, 10)]


def adamw(p: Any, g: Any, m: Any, v: Any, step: Any) -> Any:
    """Return the new value of a parameter, and its averages."""
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    scaled = m / (1 - 0.9**step) / (jnp.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return p * (1 - 1e-5) - 1e-3 * scaled, m, v


def prepare(network: str, x: Array, y: Array) -> Step:
    """Return the step of a network on a batch."""
    function, params = network_of(network)
    zeros = jax.tree.map(jnp.zeros_like, params)
    state = [params, zeros, jax.tree.map(jnp.copy, zeros), jnp.asarray(0.0)]

    def loss(params: Any) -> Any:
        scores = jax.nn.log_softmax(function(params, jnp.asarray(x)))
        return -jnp.mean(jnp.take_along_axis(scores, jnp.asarray(y)[..., None], -1))

    @partial(jax.jit, donate_argnums=(0, 1, 2, 3))
    def train(params: Any, m: Any, v: Any, step: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(params)
        trees = jax.tree.map(partial(adamw, step=step + 1), params, gradients, m, v)
        new = jax.tree.transpose(jax.tree.structure(params), jax.tree.structure((0, 0, 0)), trees)
        return value, (*new, step + 1)

    def step() -> float:
        value, state[:] = train(*state)
        return float(value)

    return step


if __name__ == "__main__":
    measure(prepare)
