"""Modules in functions that `jit` records: their configuration, values, modes and methods."""

import copy
import gc
import weakref

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import nn
from tests.nn.small_modules import Layer, Net, X, assert_equal, loss


class TestRecorded:
    def test_one_recording_serves_all_values(self):
        model = Net()
        step = tfr.jit(tfr.value_and_grad(loss))
        for _ in range(3):
            value, gradient = step(model, X)
            wanted, slopes = tfr.value_and_grad(loss)(model, X)
            np.testing.assert_allclose(value.numpy(), wanted.numpy(), rtol=1e-5)
            assert_equal(gradient.named_parameters(), slopes.named_parameters())
            model.layers[0].weight -= gradient.layers[0].weight
            model.order += 1
        assert step.cache_info().recorded == 1
        assert step(Net(), X)[0].item() == step(copy.deepcopy(Net()), X)[0].item()
        assert step.cache_info().recorded == 1

    @pytest.mark.parametrize(
        "change",
        [
            lambda model: model.eval(),
            lambda model: model.freeze(),
            lambda model: setattr(model.layers[0], "scale", 0.25),
            lambda model: setattr(model.layers[0], "function", tfr.sin),
            lambda model: (model.layers.append(Layer(3)), model.scales.append(tfr.ones(3))),
            lambda model: setattr(model.layers[1], "bias", model.layers[0].bias),
        ],
        ids=["eval", "freeze", "number", "function", "list", "tied"],
    )
    def test_configuration_is_part_of_the_signature(self, change):
        model = Net()
        step = tfr.jit(loss)
        step(model, X)
        change(model)
        np.testing.assert_allclose(step(model, X).numpy(), loss(model, X).numpy(), rtol=1e-6)
        assert step.cache_info().recorded == 2

    def test_training_and_back_is_the_same_signature(self):
        model = Net()
        step = tfr.jit(loss)
        step(model, X)
        model.eval().train().freeze().unfreeze()
        step(model, X)
        assert step.cache_info().recorded == 1

    def test_a_recording_keeps_no_model(self):
        model = Net()
        step = tfr.jit(loss)
        step(model, X)
        watched = weakref.ref(model), weakref.ref(model.layers[0].weight)
        del model
        gc.collect()
        assert [reference() for reference in watched] == [None, None]
        assert step.cache_info().kept == 1

    @pytest.mark.parametrize(
        "jitted", [tfr.jit, lambda model: tfr.jit(model.forward)], ids=["module", "method"]
    )
    def test_a_jitted_module_follows_its_weights(self, jitted):
        model = Net().eval()
        fast = jitted(model)
        for _ in range(3):
            np.testing.assert_allclose(fast(X).numpy(), model(X).numpy(), rtol=1e-5, atol=1e-6)
            model.layers[0].weight *= 0.5
        assert fast.cache_info().recorded == 1
        assert fast.explain(model, X).library_calls == 4

    def test_static_arguments_of_a_jitted_module_are_counted_without_it(self):
        class Powers(nn.Module):
            def forward(self, x, times, other=1.0):
                return sum([x**power for power in range(times)], start=0.0) * other

        for options in (
            {"static_argnums": 1},
            {"static_argnums": -2},
            {"static_argnames": "times"},
        ):
            for function in (Powers(), Powers().forward):
                assert tfr.jit(function, **options)(tfr.asarray(2.0), 3).item() == 7.0

    def test_a_method_takes_its_module_as_an_argument(self):
        class Jitted(Layer):
            @tfr.jit
            def forward(self, x):
                return x @ self.weight.T

        model = Jitted(3)
        before = model(X).numpy()
        model.weight *= 2.0
        np.testing.assert_allclose(model(X).numpy(), 2 * before, rtol=1e-6)

    def test_errors_name_the_parameter_as_a_program_writes_it(self):
        def needs(model, x):
            return float(model.heads["b"][0].bias[0])

        with pytest.raises(tfr.errors.TracingError, match=r"model\.heads\['b'\]\[0\]\.bias"):
            tfr.jit(needs)(Net(), X)
