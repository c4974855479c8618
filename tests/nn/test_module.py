"""Modules: attributes that are tensors are parameters, for transformations and files alike."""

import copy
import gc
import inspect
import pickle
import weakref
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import nn
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.graph.node import reachable


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


class TestStateDict:
    def test_names_and_both_places_of_a_tied_weight(self):
        model = Net()
        state = model.state_dict()
        assert set(PARAMETERS) < set(state)
        assert "heads.a.weight" in state
        assert "_mask" not in state

    def test_it_is_a_snapshot(self):
        model = Net()
        state = model.state_dict()
        before = state["layers.0.weight"].numpy()
        model.layers[0].weight += 1.0
        np.testing.assert_array_equal(state["layers.0.weight"].numpy(), before)

    @pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
    def test_a_file_gives_back_what_was_saved_and_keeps_ties(self, tmp_path, suffix):
        model, other = Net(), Net()
        for _, parameter in model.named_parameters():
            parameter += 1.0
        tfr.save(tmp_path / f"model{suffix}", model.state_dict())
        assert other.load_state_dict(tfr.load(tmp_path / f"model{suffix}")) == ([], [])
        assert_equal(other.named_parameters(), model.named_parameters())
        assert other.heads["a"].weight is other.layers[0].weight

    def test_a_tied_weight_may_be_given_by_either_name(self):
        model, state = Net(), Net().state_dict()
        state["heads.a.weight"] = state.pop("layers.0.weight") + 1
        assert model.load_state_dict(state) == ([], [])
        np.testing.assert_array_equal(
            model.layers[0].weight.numpy(), state["heads.a.weight"].numpy()
        )

    def test_arrays_are_taken_in_the_dtype_and_on_the_device_of_the_module(self):
        model = nn.Linear(3, 2, dtype="float16", device="numpy")
        model.load_state_dict({"weight": np.ones((2, 3)), "bias": np.arange(2)})
        assert (model.weight.dtype.name, str(model.weight.device)) == ("float16", "numpy")
        assert model.bias.tolist() == [0.0, 1.0]

    def test_initial_values_are_never_computed_nor_files_read_before(self, tmp_path):
        path = tmp_path / "model.safetensors"
        tfr.save(path, nn.Linear(64, 64).state_dict())
        model = nn.Linear(64, 64)
        initial = model.weight.copy()
        model.load_state_dict(tfr.load(path))
        assert not initial.is_computed
        assert not model.weight.is_computed

    def refused(self, model, state, kind=ArgumentError, **options):
        before = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
        with pytest.raises(kind) as caught:
            model.load_state_dict(state, **options)
        for name, tensor in model.state_dict().items():
            np.testing.assert_array_equal(tensor.numpy(), before[name])
        return str(caught.value)

    def test_missing_names_come_with_the_nearest_one(self):
        state = Net().state_dict()
        state["layers.1.wieght"] = state.pop("layers.1.weight")
        message = self.refused(Net(), state)
        assert "layers.1.weight (the nearest name given is layers.1.wieght)" in message
        assert "unexpected:\n    layers.1.wieght" in message
        assert "strict=False" in message

    @pytest.mark.parametrize("prefix", ["model.", "module.encoder."])
    def test_a_prefix_too_many_is_told_with_what_removes_it(self, prefix):
        state = {f"{prefix}{name}": tensor for name, tensor in Net().state_dict().items()}
        message = self.refused(Net(), state)
        assert f'name.removeprefix("{prefix}")' in message
        assert "and 7 more" in message

    def test_other_shapes_name_both_and_the_transposed_one(self):
        state = nn.Linear(2, 3).state_dict()
        state["weight"] = state["weight"].T
        message = self.refused(nn.Linear(2, 3), state, ShapeError)
        assert "weight is (2, 3), and (3, 2) in the module" in message
        assert "state['weight'].T" in message
        self.refused(nn.Linear(2, 3), state, ShapeError, strict=False)

    def test_what_is_not_strict_loads_what_fits_and_says_the_rest(self):
        model, state = Net(), Net().state_dict()
        del state["scales.0"]
        state["extra"] = tfr.ones(1)
        state["scales.1"] = tfr.zeros(3)
        found = model.load_state_dict(state, strict=False)
        assert found == (["scales.0"], ["extra"])
        assert found.missing_keys == ["scales.0"]
        assert model.scales[1].tolist() == [0.0, 0.0, 0.0]

    def test_what_is_no_mapping_is_refused(self):
        with pytest.raises(DTypeError, match="takes tensors by name, got list"):
            nn.Linear(2, 2).load_state_dict([1])


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
