"""Graphs that tests draw: small ones, and some of 500 ops in the shapes that real ones have."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

import tensorframe as tfr


def values(*shape: int, seed: int = 0) -> tfr.Tensor:
    """Return a tensor too large for the small path."""
    return tfr.asarray(np.random.default_rng(seed).random(shape, dtype=np.float32) + 0.5)


def small() -> tfr.Tensor:
    """Return several kernels and a library call."""
    a, b, w = values(300, 100), values(300, 100, seed=1), values(100, 64, seed=2)
    h = tfr.exp(-a * a) * tfr.sin(b) + a / (1 + b * b)
    return tfr.sum(tfr.softmax(h @ w, axis=1), axis=0) - tfr.mean(h)


def layers() -> tfr.Tensor:
    """Return 166 layers of a product, a bias and a maximum."""
    x = values(256, 64)
    for index in range(166):
        x = tfr.maximum(x @ values(64, 64, seed=index) + values(64, seed=index), 0)
    return x


def residual() -> tfr.Tensor:
    """Return 60 layers each of which is added to what went in."""
    x = values(256, 64)
    for index in range(60):
        x = x + tfr.sort(tfr.softmax(x @ values(64, 64, seed=index), axis=1), axis=1) * 0.5
    return x


def chain() -> tfr.Tensor:
    """Return 500 ops, each of the one before."""
    x = values(300, 100)
    for _ in range(250):
        x = tfr.sqrt(x) * 1.5
    return x


def diamond() -> tfr.Tensor:
    """Return 249 branches that one op joins."""
    x = values(300, 100)
    return tfr.concat([tfr.sin(x * (index + 0.5)) for index in range(249)], axis=0)


def tangle() -> tfr.Tensor:
    """Return 500 ops that use any of the twelve before them."""
    choose = random.Random(0).choice
    pool = [values(300, 100, seed=index) for index in range(8)]
    for _ in range(500):
        a, b = choose(pool[-12:]), choose(pool[-12:])
        kind = choose("+*s")
        pool.append(
            a + b if kind == "+" else tfr.sin(a) * b if kind == "*" else tfr.sort(a, axis=1) - b
        )
    return pool[-1]


LARGE: dict[str, Callable[[], tfr.Tensor]] = {
    layer.__name__: layer for layer in (layers, residual, chain, diamond, tangle)
}
ALL = {"small": small} | LARGE


def there_and_back() -> tuple[tfr.Tensor, tfr.Tensor]:
    """A loss and its gradient: steps that go forward, backward, and both ways."""

    def loss(w: tfr.Tensor) -> tfr.Tensor:
        return tfr.mean(tfr.tanh(values(300, 100) @ w) ** 2)

    value, gradient = tfr.value_and_grad(loss)(values(100, 50, seed=1))
    return value, gradient
