"""Modules: attributes that are tensors are parameters, at any depth, on any device, and shown as a tree."""

import copy
import inspect
import pickle
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import nn
from tensorframe.errors import DTypeError
from tests.nn.small_modules import PARAMETERS, Layer, Net, X, loss, names


class TestWhatIsAParameter:
    def test_floating_attributes_at_any_depth_each_once(self):
        model = Net()
        assert names(model.named_parameters()) == PARAMETERS
        calls = [f"{place}.calls" for place in ("layers.0", "layers.1", "heads.a", "heads.b.0")]
        assert sorted(names(model.named_buffers())) == sorted([*calls, "order"])

    def test_the_tree_of_parameters_nests_as_the_module_does(self):
        model = Net()
        tree = model.parameters()
        assert list(tree) == ["layers", "heads", "scales"]
        assert tree["layers"][1]["weight"] is model.layers[1].weight
        assert list(tree["heads"]["a"]) == ["bias"]  # its weight is that of layers[0]
        assert tree["heads"]["b"][0]["bias"] is model.heads["b"][0].bias

    def test_what_begins_with_an_underscore_is_none(self):
        class Private(nn.Module):
            def __init__(self):
                self._layer = Layer(2)
                self._tensor = tfr.ones(2)

        assert Private().state_dict() == {}
        assert Private().parameters() == {}

    def test_a_buffer_that_is_not_persistent_is_in_no_file(self):
        class Angles(nn.Module):
            def __init__(self):
                self.angles = nn.Buffer(tfr.ones(2), persistent=False)

        model = Angles()
        assert model.state_dict() == {}
        assert names(model.named_buffers()) == ["angles"]

    def test_an_owner_may_be_an_attribute(self):
        owner, part = Layer(2), Layer(2)
        owner.part, part.owner = part, owner
        expected = ["weight", "bias", "part.weight", "part.bias"]
        assert names(owner.named_parameters()) == expected
        gradient = tfr.grad(loss)(owner, tfr.ones((1, 2)))
        assert gradient.part.owner is gradient
        assert list(owner.parameters()) == ["weight", "bias", "part"]
        assert list(owner.parameters()["part"]) == ["weight", "bias"]
        assert [line.split()[-2] for line in repr(owner).splitlines()] == ["Layer()"] * 3
        assert len(owner.state_dict()) == 6
        assert len(nn.summary(owner, (1, 2)).rows) == 2

    def test_containers_of_other_kinds_are_configuration_and_hide_no_tensors(self):
        @dataclass
        class Options:
            width: int
            extra: object = None

        class Net(nn.Module):
            def __init__(self, extra=None):
                self.options = Options(3, extra)
                self.parts = OrderedDict(a=nn.Linear(2, 2))

            def forward(self, x):
                return self.parts["a"](x) * self.options.width

        assert names(Net().named_parameters()) == ["parts.a.weight", "parts.a.bias"]
        assert tfr.jit(Net.forward)(Net(), tfr.ones((1, 2))).shape == (1, 2)
        for hidden in (tfr.ones(2), [nn.Linear(2, 2)]):
            model = Net(hidden)
            for use in (model.state_dict, lambda: tfr.jit(Net.forward)(model, tfr.ones((1, 2)))):  # noqa: B023
                with pytest.raises(DTypeError, match="modules look for tensors"):
                    use()

    def test_a_call_has_the_signature_of_forward_and_may_be_another(self):
        class Doubled(nn.Linear):
            def forward(self, input, factor=2.0):
                return super().forward(input) * factor

        class Logged(Doubled):
            def __call__(self, *args):
                return super().__call__(*args), "logged"

        class Last(Logged):
            def forward(self, input):
                return input

        assert str(inspect.signature(Doubled(1, 1))) == "(input, factor=2.0)"
        assert Doubled(1, 1)(tfr.ones((1, 1)), factor=0.0).tolist() == [[0.0]]
        assert Last(1, 1)(3) == (3, "logged")

    def test_what_has_no_forward_says_so(self):
        with pytest.raises(NotImplementedError, match="Module has no method forward"):
            nn.Module()(1)


class TestMode:
    def test_train_and_eval_reach_all(self):
        model = Net()
        assert all(module.training for module in model.modules())
        assert model.eval() is model
        assert not any(module.training for module in model.modules())
        model.layers[0].train()
        assert [module.training for module in model.layers] == [True, False]

    def test_apply_begins_inside(self):
        met = []
        model = Net()
        assert model.apply(met.append) is model
        assert met[-1] is model
        assert len(met) == 5


class TestMoved:
    def test_astype_converts_floating_tensors_and_keeps_ties(self):
        model = Net()
        assert model.astype("float16") is model
        assert {tensor.dtype.name for _, tensor in model.named_parameters()} == {"float16"}
        assert model.order.dtype == Net().order.dtype
        assert model.heads["a"].weight is model.layers[0].weight
        with pytest.raises(DTypeError, match="int32"):
            model.astype("int32")

    @pytest.mark.parametrize("device", ["numpy", "opencl", "wgpu"])
    def test_on_another_device_it_gives_the_same(self, device):
        if device not in tfr.backends.available():
            pytest.skip("no such device")
        model = Net()
        wanted = model(X).numpy()
        if device == "wgpu":
            model.order = tfr.asarray([0, 1], dtype="int32")
        model.to_device(device)
        assert {tensor.device for _, tensor in model.named_parameters()} == {tfr.Device(device)}
        found = model(X.to_device(device))
        assert found.device == tfr.Device(device)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)

    def test_one_that_cannot_move_leaves_all_where_they_are(self):
        model = Net()
        with pytest.raises(tfr.errors.DeviceError):
            model.to_device("nowhere")
        assert {str(tensor.device) for _, tensor in model.named_parameters()} == {"cpu"}

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
    def test_copies_are_independent_and_stay_tied(self, copied):
        model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
        model[1].weight = model[0].weight
        other = copied(model)
        assert other[1].weight is other[0].weight
        before = other(X).numpy()
        model[0].weight += 1.0
        np.testing.assert_array_equal(other(X).numpy(), before)


class TestShown:
    def test_as_a_tree_with_counts(self):
        model = nn.Sequential(nn.Linear(2, 8), tfr.tanh, nn.ModuleDict({"out": nn.Linear(8, 1)}))
        model[0].freeze()
        assert repr(model).splitlines() == [
            "Sequential()             33",
            "├─ 0: Linear(2, 8)       24 (frozen)",
            "├─ 1: tanh",
            "└─ 2: ModuleDict()        9",
            "   └─ out: Linear(8, 1)   9",
        ]

    def test_a_tied_weight_counts_once(self):
        assert repr(Net()).splitlines()[0].split() == ["Net()", "45"]

    def test_a_card(self):
        html = Net().freeze("bias")._repr_html_()
        for said in ("<b>Net</b>", "<b>45</b> parameters", "4 of 9 tensors frozen", "Layer()"):
            assert said in html
