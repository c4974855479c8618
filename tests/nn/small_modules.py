"""A module with parameters at every depth, tied ones and statistics, and the same computation of a dict."""

import numpy as np

import tensorframe as tfr
from tensorframe import nn


class Layer(nn.Module):
    def __init__(self, size, seed=0):
        first, second = tfr.random.split(tfr.random.key(seed))
        self.weight = tfr.random.normal((size, size), key=first)
        self.bias = tfr.random.normal(size, key=second)
        self.calls = nn.Buffer(tfr.zeros(()))
        self.function = tfr.tanh
        self.scale = 0.5

    def forward(self, x):
        self.calls = self.calls + 1
        return self.function(x @ self.weight.T + self.bias) * self.scale


class Net(nn.Module):
    """Has lists, dicts and tuples, a tied weight, statistics, integers, and a private tensor."""

    def __init__(self, size=3):
        self.layers = [Layer(size, 1), Layer(size, 2)]
        self.heads = {"a": Layer(size, 3), "b": (Layer(size, 4),)}
        self.heads["a"].weight = self.layers[0].weight
        self.scales = [tfr.ones(size), tfr.ones(size)]
        self.order = tfr.asarray([0, 1])
        self._mask = tfr.ones(size)

    def forward(self, x):
        for layer, scale in zip(self.layers, self.scales, strict=True):
            x = layer(x) * scale * self._mask
        return self.heads["b"][0](self.heads["a"](x))


def loss(model, x):
    return tfr.mean(model(x) ** 2)


X = tfr.asarray(np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(4, 3))
PARAMETERS = [
    "layers.0.weight",
    "layers.0.bias",
    "layers.1.weight",
    "layers.1.bias",
    "heads.a.bias",
    "heads.b.0.weight",
    "heads.b.0.bias",
    "scales.0",
    "scales.1",
]


def names(pairs):
    return [name for name, _ in pairs]


def by_dict(model):
    """The same computation without modules: of a dict of parameters."""

    def function(p, x):
        for index in range(2):
            x = tfr.tanh(x @ p[f"layers.{index}.weight"].T + p[f"layers.{index}.bias"]) * 0.5
            x = x * p[f"scales.{index}"]
        x = tfr.tanh(x @ p["layers.0.weight"].T + p["heads.a.bias"]) * 0.5
        x = tfr.tanh(x @ p["heads.b.0.weight"].T + p["heads.b.0.bias"]) * 0.5
        return tfr.mean(x**2)

    return function, {name: tensor.copy() for name, tensor in model.named_parameters()}


def assert_equal(one, other):
    for (name, a), (other_name, b) in zip(one, other, strict=True):
        assert name == other_name
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=1e-7, err_msg=name)
