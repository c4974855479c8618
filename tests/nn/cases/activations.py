"""Activations."""

import math

import numpy as np

from tests.nn.cases import case, real


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def normal(x):
    return 0.5 * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))


def elu(x, alpha=1.0, scale=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / scale))


def clipped(x):
    return np.clip(x + 3, 0, 6) / 6


def softmax(x, axis):
    exponentials = np.exp(x - x.max(axis, keepdims=True))
    return exponentials / exponentials.sum(axis, keepdims=True)


# of one tensor, each element by itself
ELEMENTWISE = {
    "relu": (lambda F, x: F.relu(x), lambda x: np.maximum(x, 0)),
    "relu6": (lambda F, x: F.relu6(x), lambda x: np.clip(x, 0, 6)),
    "leaky_relu": (lambda F, x: F.leaky_relu(x, 0.2), lambda x: np.where(x > 0, x, 0.2 * x)),
    "elu": (lambda F, x: F.elu(x, 0.7), lambda x: elu(x, 0.7)),
    "celu": (lambda F, x: F.celu(x, 0.7), lambda x: elu(x, 0.7, 0.7)),
    "selu": (lambda F, x: F.selu(x), lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772)),
    "gelu": (lambda F, x: F.gelu(x), lambda x: x * normal(x)),
    "gelu by tanh": (
        lambda F, x: F.gelu(x, approximate="tanh"),
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
    "silu": (lambda F, x: F.silu(x), lambda x: x * sigmoid(x)),
    "mish": (lambda F, x: F.mish(x), lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    "softplus": (
        lambda F, x: F.softplus(x, beta=2.0, threshold=6.0),
        lambda x: np.where(2 * x > 6, x, np.log1p(np.exp(2 * x)) / 2),
    ),
    "softsign": (lambda F, x: F.softsign(x), lambda x: x / (1 + np.abs(x))),
    "tanh": (lambda F, x: F.tanh(x), np.tanh),
    "sigmoid": (lambda F, x: F.sigmoid(x), sigmoid),
    "logsigmoid": (lambda F, x: F.logsigmoid(x), lambda x: -np.logaddexp(0, -x)),
    "hardtanh": (lambda F, x: F.hardtanh(x, -1.0, 0.5), lambda x: np.clip(x, -1, 0.5)),
    "hardsigmoid": (lambda F, x: F.hardsigmoid(x), clipped),
    "hardswish": (lambda F, x: F.hardswish(x), lambda x: x * clipped(x)),
    "tanhshrink": (lambda F, x: F.tanhshrink(x), lambda x: x - np.tanh(x)),
    "softshrink": (
        lambda F, x: F.softshrink(x, 0.6),
        lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.6, 0),
    ),
    "hardshrink": (lambda F, x: F.hardshrink(x, 0.6), lambda x: np.where(np.abs(x) > 0.6, x, 0)),
    "threshold": (lambda F, x: F.threshold(x, 0.6, -4.0), lambda x: np.where(x > 0.6, x, -4.0)),
}

CASES = {
    name: case(call, reference, real(4, 7, low=-5.0, high=5.0))
    for name, (call, reference) in ELEMENTWISE.items()
} | {
    "prelu": case(
        lambda F, x, w: F.prelu(x, w),
        lambda x, w: np.where(x > 0, x, x * w[:, None]),
        *(real(2, 3, 4), real(3)),
    ),
    "prelu with one slope": case(
        lambda F, x, w: F.prelu(x, w),
        lambda x, w: np.where(x > 0, x, x * w),
        *(real(5), real(1)),
    ),
    "rrelu": case(
        lambda F, x: F.rrelu(x, 0.1, 0.3), lambda x: np.where(x > 0, x, 0.2 * x), real(2, 3)
    ),
    "glu": case(
        lambda F, x: F.glu(x, dim=1), lambda x: x[:, :2] * sigmoid(x[:, 2:]), real(2, 4, 3)
    ),
    "swiglu": case(
        lambda F, x: F.swiglu(x),
        lambda x: x[:, :3] * sigmoid(x[:, :3]) * x[:, 3:],
        real(2, 6),
        in_torch=False,
    ),
    "softmax": case(lambda F, x: F.softmax(x, dim=1), lambda x: softmax(x, 1), real(2, 4, 3)),
    "softmin": case(lambda F, x: F.softmin(x, dim=0), lambda x: softmax(-x, 0), real(4, 3)),
    "log_softmax": case(
        lambda F, x: F.log_softmax(x, dim=-1), lambda x: np.log(softmax(x, -1)), real(4, 3)
    ),
}
