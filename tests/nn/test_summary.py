"""Summaries: parameters, shapes, operations and memory of models, known before anything runs."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import nn
from tensorframe.errors import ArgumentError, DeviceError, GradientError, ShapeError


@pytest.fixture(autouse=True)
def _draws_are_the_same_in_every_run():
    tfr.random.seed(5)


class Block(nn.Module):
    def __init__(self):
        self.norm = nn.LayerNorm(8)
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return x + self.linear(tfr.relu(self.linear(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        self.embedding = nn.Embedding(100, 8)
        self.blocks = [Block(), Block()]
        self.unused = nn.Linear(3, 3)
        self.head = nn.Linear(8, 100, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def test_rows_have_names_depths_shapes_and_parameters():
    found = nn.summary(Net(), np.zeros((2, 5), np.int32))
    rows = {row.name: row for row in found.rows}
    assert [(row.label, row.depth) for row in found.rows] == [
        ("", 0),
        ("embedding", 1),
        ("blocks.0", 1),
        ("norm", 2),
        ("linear", 2),
        ("blocks.1", 1),
        ("norm", 2),
        ("linear", 2),
        ("unused", 1),
        ("head", 1),
    ]
    assert rows["head"].outputs == [(2, 5, 100)]
    assert rows["blocks.1"].outputs == [(2, 5, 8)]
    assert rows["blocks.0.linear"].calls == 2
    assert rows["unused"].calls == 0
    assert rows["blocks.0"].parameters == 16 + 72
    # the head's weight is the embedding's
    assert found.parameters == found.trainable == 800 + 2 * 88 + 12
    assert found.parameter_bytes == 4 * found.parameters


def test_operations_are_those_of_the_matmuls_and_add_up():
    model = nn.Sequential(nn.Linear(784, 64, bias=False), nn.Linear(64, 10, bias=False))
    found = nn.summary(model, (32, 784))
    first, second = 2 * 32 * 784 * 64, 2 * 32 * 64 * 10
    assert [row.flops for row in found.rows] == [first + second, first, second]
    assert found.flops == first + second
    twice = nn.summary(Net(), np.zeros((2, 5), np.int32)).rows
    assert twice[4].flops >= 2 * 2 * 10 * 8 * 8  # the same layer, called twice


def test_nothing_is_computed_and_nothing_changes():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    nn.summary(model, (8, 4))
    nn.estimate_memory(model, (8, 4), optimizer=tfr.optim.SGD(0.1, momentum=0.9))
    assert not model[0].weight.is_computed
    assert model[1].num_batches_tracked.item() == 0
    assert not model[1].running_mean.numpy().any()


def test_a_model_too_large_for_this_machine_is_summarised():
    model = nn.Sequential(*[nn.Linear(2**16, 2**16) for _ in range(4)])
    found = nn.summary(model, (1, 2**16))
    assert found.parameters == 4 * (2**32 + 2**16)
    assert found.peak[tfr.Device("cpu")] > 4 * 2**34


def test_the_peak_is_that_of_the_estimate():
    model = nn.Linear(256, 256)
    x = tfr.asarray(np.zeros((512, 256), np.float32))
    found = nn.summary(model, x)
    for _, parameter in model.named_parameters():
        parameter.compute()
    estimate = tfr.estimate(model(x))
    assert found.estimate == estimate
    # on the cpu a product takes memory for itself besides
    needed = 4 * (256 * 256 + 256 + 512 * 256 + 512 * 256)
    assert nn.summary(model, x, device="cuda").peak == {tfr.Device("cuda"): needed}
    assert max(estimate.peak.values()) >= needed


def test_trees_and_frozen_parameters():
    class Two(nn.Module):
        def __init__(self):
            self.linear = nn.Linear(3, 2).freeze("bias")

        def forward(self, pair, scale):
            return {"sum": self.linear(pair["a"]) * scale, "b": pair["b"]}

    found = nn.summary(Two(), {"a": tfr.ones((4, 3)), "b": tfr.ones(2)}, 3.0)
    assert found.rows[0].outputs == [(4, 2), (2,)]
    assert (found.parameters, found.trainable) == (8, 6)
    assert "8 parameters, 2 of them frozen" in repr(found)


def test_memory_of_training():
    model = nn.Sequential(nn.Linear(64, 128), tfr.tanh, nn.Linear(128, 1))
    count = 64 * 128 + 128 + 128 + 1
    plain = nn.estimate_memory(model, (256, 64))
    adam = nn.estimate_memory(model, (256, 64), optimizer=tfr.optim.Adam(1e-3))
    assert (plain.parameters, plain.gradients, plain.optimizer) == (4 * count, 4 * count, 0)
    assert adam.optimizer == 8 * count + 4
    cpu = tfr.Device("cpu")
    assert adam.peak[cpu] == plain.peak[cpu] + adam.optimizer
    # at least: parameters, input, and the tanh that the gradient needs
    assert plain.peak[cpu] >= 4 * (count + 256 * 64 + 256 * 128)
    model[0].freeze()
    assert nn.estimate_memory(model, (256, 64)).gradients == 4 * 129

    def loss(model, x, y):
        return tfr.mean((model(x) - y) ** 2)

    found = nn.estimate_memory(model, (256, 64), (256, 1), loss=loss)
    assert found.training.results[cpu] == 4 * (1 + 129)


def test_cards_say_what_the_text_says():
    found = nn.summary(Net(), np.zeros((2, 5), np.int32))
    html = found._repr_html_()
    for said in ("<b>988</b> parameters", "blocks.1", "(2, 5, 100)", "not called", "x2"):
        assert said in html
    memory = nn.estimate_memory(nn.Linear(3, 2), (1, 3))
    assert "a training step, at most" in memory._repr_html_()
    assert "optimiser" in repr(memory)


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        (lambda: nn.summary(tfr.relu, (1,)), ArgumentError, "takes a module"),
        (lambda: nn.summary(nn.Linear(2, 3), (4, 5)), ShapeError, "has 5 features"),
        (lambda: nn.summary(nn.Linear(2, 3), (4, 2), device="abacus"), DeviceError, "abacus"),
        (
            lambda: nn.estimate_memory(nn.Identity(), tfr.asarray([1, 2])),
            GradientError,
            "no floating-point tensor",
        ),
    ],
)
def test_what_does_not_fit_is_said(wrong, kind, said):
    with pytest.raises(kind, match=said):
        wrong()
