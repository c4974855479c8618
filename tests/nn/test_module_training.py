"""Modules under gradients and optimisers: as dicts of their parameters, with statistics that move on."""

import copy

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import nn
from tensorframe.errors import ArgumentError
from tensorframe.graph.node import reachable
from tests.nn.small_modules import PARAMETERS, Net, X, assert_equal, by_dict, loss, names


class TestDifferentiated:
    def test_gradients_are_those_of_a_dict_and_come_as_a_module(self):
        model = Net()
        function, parameters = by_dict(model)
        value, gradient = tfr.value_and_grad(loss)(model, X)
        wanted, by_name = tfr.value_and_grad(function)(parameters, X)
        np.testing.assert_allclose(value.numpy(), wanted.numpy(), rtol=1e-6)
        assert isinstance(gradient, Net)
        assert_equal(gradient.named_parameters(), by_name.items())

    def test_a_tied_weight_has_one_gradient(self):
        model = Net()
        gradient = tfr.grad(loss)(model, X)
        assert gradient.heads["a"].weight is gradient.layers[0].weight

    def test_differences_agree(self):
        tfr.check_gradient(loss, Net(2), X[:2, :2])

    def test_statistics_and_integers_have_none_and_are_changed_outside(self):
        model = Net()
        gradient = tfr.grad(loss)(model, X)
        assert gradient.layers[0].calls is None
        assert gradient.order is None
        assert [layer.calls.item() for layer in model.layers] == [1.0, 1.0]

    def test_statistics_without_an_optimiser_keep_no_graphs(self):
        model = Net()
        sizes = []
        for _ in range(5):
            model(X).compute()
            sizes.append(len(reachable([model.layers[0].calls.node])))
        assert sizes[-1] == sizes[1]
        assert model.layers[0].calls.item() == 5.0

    def test_a_checkpointed_block_changes_statistics_once(self):
        model = Net()
        block = tfr.checkpoint(lambda layer, x: layer(x))
        gradient = tfr.grad(lambda layer, x: tfr.sum(block(layer, x)))(model.layers[0], X)
        plain = tfr.grad(lambda layer, x: tfr.sum(layer(x)))(copy.deepcopy(model.layers[0]), X)
        assert_equal(gradient.named_parameters(), plain.named_parameters())
        assert model.layers[0].calls.item() == 1.0

    def test_frozen_parameters_have_none_and_others_the_same(self):
        model = Net()
        full = dict(tfr.grad(loss)(model, X).named_parameters())
        model.layers[0].freeze()
        gradient = tfr.grad(loss)(model, X)
        left = [name for name in PARAMETERS if not name.startswith("layers.0")]
        # the head's weight is frozen as well: it is the same tensor
        assert gradient.heads["a"].weight is None
        assert_equal(gradient.named_parameters(), [(name, full[name]) for name in left])
        assert names(model.named_parameters(trainable=True)) == left
        assert names(model.named_parameters()) == PARAMETERS
        model.unfreeze()
        assert names(tfr.grad(loss)(model, X).named_parameters()) == PARAMETERS

    def test_freezing_by_name_and_an_unknown_one(self):
        model = Net()
        assert names(model.freeze("bias").named_parameters(trainable=True)) == [
            name for name in PARAMETERS if "bias" not in name
        ]
        with pytest.raises(ArgumentError, match="Net has no parameter 'wieght'"):
            model.freeze("weight", "wieght")
        assert len(model.named_parameters(trainable=True)) == 5  # nothing was frozen

    def test_a_gradient_is_a_direction_for_its_module(self):
        model = Net()
        function, parameters = by_dict(model)
        gradient, by_name = tfr.grad(loss)(model, X), tfr.grad(function)(parameters, X)
        along = tfr.jvp(lambda model: loss(model, X), [model], [gradient])[1]
        wanted = tfr.jvp(lambda p: function(p, X), [parameters], [by_name])[1]
        np.testing.assert_allclose(along.numpy(), wanted.numpy(), rtol=1e-5)
        curved = tfr.hvp(lambda model: loss(model, X), [model], [gradient])
        expected = tfr.hvp(lambda p: function(p, X), [parameters], [by_name])
        assert_equal(curved.named_parameters(), expected.items())

    def test_messages_call_a_module_by_its_class(self):
        model = nn.Sequential(nn.Linear(3, 3))
        with pytest.raises(tfr.errors.GradientError, match=r"^Sequential: gives a tensor of shape"):
            tfr.grad(model)(X)
        with pytest.raises(tfr.errors.AxisError, match=r"^Sequential: "):
            tfr.vmap(model, in_axes=3)(X)

    def test_one_example_each_by_vmap(self):
        class Pure(nn.Module):
            def __init__(self):
                self.layer = nn.Linear(3, 2, key=tfr.random.key(0))

            def forward(self, x):
                return tfr.tanh(self.layer(x))

        model = Pure()
        each = tfr.vmap(tfr.grad(loss), in_axes=(None, 0))(model, X)
        assert each.layer.weight.shape == (4, 2, 3)
        one = tfr.grad(loss)(model, X[2])
        np.testing.assert_allclose(
            each.layer.weight.numpy()[2], one.layer.weight.numpy(), rtol=1e-5
        )

    def test_descending_by_handles_lowers_the_loss(self):
        model = Net()
        losses = []
        for _ in range(5):
            value, gradient = tfr.value_and_grad(loss)(model, X)
            pairs = zip(model.named_parameters(), gradient.named_parameters(), strict=True)
            for (_, parameter), (_, slope) in pairs:
                parameter -= 0.5 * slope
            losses.append(value.item())
        assert losses == sorted(losses, reverse=True)
        assert model.heads["a"].weight is model.layers[0].weight


class TestTrained:
    @pytest.mark.parametrize("make", [tfr.optim.SGD, tfr.optim.AdamW], ids=["SGD", "AdamW"])
    def test_an_optimiser_does_with_a_module_what_it_does_with_a_dict(self, make):
        model = Net()
        model.layers[1].freeze()
        function, parameters = by_dict(model)
        frozen = {name: parameters.pop(name) for name in ("layers.1.weight", "layers.1.bias")}
        ours, theirs = make(0.1), make(0.1)
        for _ in range(3):
            ours.update(model, tfr.grad(loss)(model, X))
            theirs.update(parameters, tfr.grad(lambda p: function({**p, **frozen}, X))(parameters))
        assert_equal(model.named_parameters(trainable=True), parameters.items())
        assert model.layers[1].weight is not None
        assert list(ours.state) == list(parameters)
        assert model.heads["a"].weight is model.layers[0].weight

    def test_statistics_are_computed_with_the_update_and_keep_no_graph(self):
        model, optimizer = Net(), tfr.optim.SGD(0.1)
        for _ in range(3):
            optimizer.update(model, tfr.grad(loss)(model, X))
            assert model.layers[0].calls.is_computed
        assert model.layers[0].calls.item() == 3.0
