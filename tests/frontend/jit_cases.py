"""Functions under `jit`, and how their results are compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import tensorframe as tfr


def rng(*shape, seed=0, dtype=np.float32):
    return tfr.asarray(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def formula(a, b):
    return tfr.exp(-a * a) * tfr.sin(b) + a / (1 + b * b)


def same(got, wanted):
    """Compare tensors and numbers at any depth; kernels may round otherwise than NumPy, which runs at first."""
    if isinstance(wanted, tfr.Tensor):
        assert isinstance(got, tfr.Tensor)
        assert got.dtype == wanted.dtype
        assert got.device == wanted.device
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
    elif isinstance(wanted, dict):
        assert type(got) is type(wanted)
        assert list(got) == list(wanted)
        for name in wanted:
            same(got[name], wanted[name])
    elif isinstance(wanted, list | tuple):
        assert type(got) is type(wanted)
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            same(one, other)
    else:
        assert type(got) is type(wanted)
        assert got == wanted


# a function, and calls of it
FUNCTIONS = {
    "elementwise": (formula, [(rng(16), rng(16, seed=1)), (rng(16, seed=2), rng(16, seed=3))]),
    "large": (formula, [(rng(300, 200), rng(300, 200, seed=1)), (rng(300, 200, seed=2), rng(1))]),
    "reduction": (
        lambda x: x - tfr.mean(x, axis=1, keepdims=True),
        [(rng(40, 30),), (rng(40, 30, seed=1),)],
    ),
    "softmax": (lambda x: tfr.softmax(x, axis=-1), [(rng(5, 7),), (rng(5, 7, seed=1),)]),
    "product": (lambda x, w: tfr.maximum(x @ w, 0), [(rng(8, 4), rng(4, 3)), (rng(2, 4), rng(4))]),
    "views": (lambda x: (x.T[1:], x[::-1, None], x.reshape(-1)), [(rng(3, 4),), (rng(3, 4),)]),
    "gather": (
        lambda x, i: x[i] + tfr.take(x, i),
        [(rng(9), tfr.asarray([1, 3])), (rng(9), tfr.asarray([8, 0]))],
    ),
    "sorting": (lambda x: (tfr.sort(x), tfr.argsort(x)), [(rng(20),), (rng(20, seed=1),)]),
    "library": (lambda x: tfr.linalg.svd(x @ x.T).S, [(rng(4, 4),), (rng(4, 4, seed=1),)]),
    "sources": (lambda x: tfr.arange(x.shape[0]) * x + tfr.ones(4) + tfr.eye(4), [(rng(4),)]),
    "casts": (lambda x: x.astype("int32") + 1, [(rng(6),), (rng(6, seed=3),)]),
    "no arguments": (lambda: tfr.arange(5) * 2, [(), ()]),
    "argument itself": (lambda x: x, [(rng(3),), (rng(3, seed=1),)]),
    "argument twice": (lambda x, y: x * y, [(rng(3), rng(3)), (rng(3, seed=1), rng(3))]),
    "unused": (lambda x, y: y + 1, [(rng(3), rng(2)), (rng(3), rng(2, seed=1))]),
    "nothing": (lambda x: None, [(rng(3),)]),
    "constants": (lambda x: (1, 2.5, None, True, "name", x + 1), [(rng(3),), (rng(3, seed=1),)]),
    "constant tensor": (lambda x: tfr.asarray([1.0, 2.0]), [(rng(3),)]),
    "same twice": (lambda x: (x + 1, [x + 1], {"a": x}), [(rng(3),)]),
    "complex": (lambda x: tfr.fft.fft(x).real, [(rng(8),), (rng(8, seed=1),)]),
    "empty": (lambda x: x.sum() + x.size, [(rng(0, 3),), (rng(0, 3),)]),
    "scalars": (lambda x: x * 2 + 1, [(rng(),), (rng(seed=1),)]),
    "bool": (lambda x: (x > 0) & (x < 1), [(rng(9),), (rng(9, seed=1),)]),
    "mask": (lambda x: tfr.where(x > 0, x, 0.5), [(rng(9),), (rng(9, seed=1),)]),
}


@dataclass
class Layer:
    weight: tfr.Tensor
    bias: tfr.Tensor
    name: str = "layer"
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Frozen:
    value: Any
    extra: Any = field(default=None, compare=False)


class Pair(NamedTuple):
    left: Any
    right: Any


@tfr.jit
def module_level(x):
    return x + 1
