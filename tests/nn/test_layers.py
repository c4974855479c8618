"""Layers: names and shapes of parameters, initial values, and results beside references in NumPy."""

import re

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import nn
from tensorframe.errors import ArgumentError, AxisError, DTypeError, IndexingError, ShapeError
from tensorframe.graph.node import reachable
from tensorframe.nn import functional
from tests.nn.layers import FUNCTIONS, LAYERS, WEIGHTED, WEIGHTS, X, tensors_of

ALL = pytest.mark.parametrize("name", LAYERS)


@pytest.fixture(autouse=True)
def _draws_are_the_same_in_every_run():
    tfr.random.seed(5)


def made(name):
    return LAYERS[name].make(nn)


def given(layer, device=None):
    return [tfr.asarray(array, device=device) for array in layer.arrays()]


@ALL
def test_parameters_and_statistics_have_these_names_and_shapes(name):
    state = made(name).state_dict()
    assert {key: tensor.shape for key, tensor in state.items()} == LAYERS[name].state
    assert not any(tensor.is_computed for tensor in state.values() if tensor.size > 4096)


@pytest.mark.sweep(2)
@ALL
def test_results_do_not_depend_on_jit_and_gradients_agree_with_differences(name):
    layer = LAYERS[name]
    model, inputs = made(name), given(layer)
    model.eval()
    eager = tensors_of(layer.call(model, *inputs))
    jitted = tensors_of(tfr.jit(layer.call)(model, *inputs))
    for own, other in zip(eager, jitted, strict=True):
        np.testing.assert_allclose(own.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)
    if not model.named_parameters():
        return
    model.train().astype("float64")
    wide = [one.astype("float64") if one.dtype.kind == "f" else one for one in inputs]

    def loss(model, *inputs):
        result = tensors_of(layer.call(model, *inputs))[0]
        return tfr.sum(result * tfr.cos(tfr.arange(result.size).reshape(result.shape)))

    gradient = tfr.grad(loss)(model, *wide)
    random = np.random.default_rng(3)
    step, slope = 1e-6, 0.0
    moved = [model.state_dict(), model.state_dict()]
    for key, parameter in model.named_parameters():
        along = random.standard_normal(parameter.shape)
        slope += float((dict(gradient.named_parameters())[key].numpy() * along).sum())
        moved[0][key] = parameter + step * along
        moved[1][key] = parameter - step * along
    values = []
    for state in moved:
        model.load_state_dict(state)
        values.append(loss(model, *wide).item())
    np.testing.assert_allclose((values[0] - values[1]) / (2 * step), slope, rtol=1e-5, atol=1e-6)


@ALL
def test_a_copy_in_another_dtype_is_made_of_that_dtype(name):
    model = made(name).astype("float16")
    kinds = {tensor.dtype.name for _, tensor in model.named_parameters()}
    assert kinds <= {"float16"}


def test_every_function_has_a_case():
    from tensorframe.nn.layers import activations, losses, pooling, resampling

    modules = (activations, losses, pooling, resampling)
    assert {name for module in modules for name in module.__all__} == set(FUNCTIONS)


# classes whose functions have other names
FUNCTION_NAMES = {
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "CTCLoss": "ctc_loss",
    "CrossEntropyLoss": "cross_entropy",
    "GaussianNLLLoss": "gaussian_nll_loss",
    "KLDivLoss": "kl_div",
    "L1Loss": "l1_loss",
    "LeakyReLU": "leaky_relu",
    "LogSoftmax": "log_softmax",
    "MSELoss": "mse_loss",
    "MultiLabelSoftMarginLoss": "multilabel_soft_margin_loss",
    "NLLLoss": "nll_loss",
    "PoissonNLLLoss": "poisson_nll_loss",
    "Fold": "fold",
    "LPPool1d": "lp_pool1d",
    "LPPool2d": "lp_pool2d",
    "LPPool3d": "lp_pool3d",
    "Unfold": "unfold",
    "ChannelShuffle": "channel_shuffle",
    "PixelShuffle": "pixel_shuffle",
    "PixelUnshuffle": "pixel_unshuffle",
    "Upsample": "interpolate",
    "SmoothL1Loss": "smooth_l1_loss",
}


def function_of(name):
    """The function of a class: its name in lower case, with underscores before capitals."""
    parted = re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()
    known = FUNCTION_NAMES.get(
        name, parted if name.endswith(("Loss", "1d", "2d", "3d")) else name.lower()
    )
    return getattr(functional, known)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_module_is_its_function_with_the_options(name):
    for options, inputs in FUNCTIONS[name]:
        layer = getattr(nn, name)(**options)
        assert all(f"{key}={value!r}" in repr(layer) for key, value in shown(name, options))
        given = dict(options)
        if name == "PReLU":
            count = given.pop("num_parameters", 1)
            given = {"weight": tfr.full(count, given.pop("init", 0.25))}
        given.pop("inplace", None)
        if "Pad" in name:
            check_padding(name, layer, given, *inputs)
            continue
        found = tensors_of(layer.eval()(*map(tfr.asarray, inputs)))
        wanted = tensors_of(function_of(name)(*map(tfr.asarray, inputs), **given))
        for own, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(own.numpy(), other.numpy())


MODES = {"Circular": "wrap", "Reflection": "reflect", "Replication": "edge"}


def check_padding(name, layer, options, values):
    """A padding is NumPy's, whose axes are in their own order."""
    mode = MODES.get(name[:-5], "constant")
    axes = int(name[-2])
    sizes = options["padding"]
    sizes = (sizes,) * (2 * axes) if isinstance(sizes, int) else sizes
    widths = [(0, 0), (0, 0), *[sizes[2 * axis : 2 * axis + 2] for axis in reversed(range(axes))]]
    constant = {"constant_values": options.get("value", 0.0)} if mode == "constant" else {}
    wanted = np.pad(values, widths, mode, **constant)
    np.testing.assert_array_equal(layer(tfr.asarray(values)).numpy(), wanted)


def instance_norm(features):
    return nn.InstanceNorm1d(features, track_running_stats=True)


def shown(name, options):
    return (
        []
        if name == "PReLU" or "Pad" in name
        else [pair for pair in options.items() if pair[0] != "inplace"]
    )


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_of_losses_are_in_files_and_have_no_gradient(name):
    argument, inputs = WEIGHTED[name]
    layer = getattr(nn, name)(**{argument: WEIGHTS})
    assert list(layer.state_dict()) == [argument]
    assert layer.parameters() == {}
    given = [tfr.asarray(one) for one in inputs]
    wanted = function_of(name)(*given, **{argument: tfr.asarray(WEIGHTS)})
    np.testing.assert_array_equal(layer(*given).numpy(), wanted.numpy())


def test_slopes_drawn_at_random_are_drawn_in_training_alone():
    layer = nn.RReLU(0.1, 0.5)
    x = tfr.asarray(-np.abs(X))
    slopes = (layer(x, key=tfr.random.key(0)) / x).numpy()
    assert slopes.min() >= 0.1
    assert slopes.max() <= 0.5
    assert np.ptp(slopes) > 0.1
    np.testing.assert_allclose((layer.eval()(x) / x).numpy(), 0.3, rtol=1e-6)


class TestInitialValues:
    def test_uniform_ones_fill_their_bounds(self):
        for layer, bound in (
            (nn.Linear(100, 50), 0.1),
            (nn.Conv2d(4, 50, 5), 0.1),
            (nn.ConvTranspose2d(50, 4, 5), 0.1),
            (nn.LSTM(20, 100), 0.1),
        ):
            for _, parameter in layer.named_parameters():
                values = parameter.numpy()
                if values.size < 100:
                    continue
                assert 0.9 * bound < np.abs(values).max() <= bound
                assert abs(values.mean()) < 0.2 * bound

    def test_an_embedding_is_normal_with_a_row_of_zeros_for_padding(self):
        values = nn.Embedding(200, 50, padding_idx=-1).weight.numpy()
        assert not values[-1].any()
        np.testing.assert_allclose(values[:-1].std(), 1.0, atol=0.05)

    def test_attention_begins_with_zeros_for_biases(self):
        layer = nn.MultiheadAttention(8, 2)
        assert not layer.in_proj_bias.numpy().any()
        assert not layer.out_proj.bias.numpy().any()

    def test_a_key_makes_the_same_layer_and_parts_that_differ(self):
        key = tfr.random.key(7)
        for make in (lambda key: nn.Linear(3, 3, key=key), lambda key: nn.LSTM(3, 3, key=key)):
            one, other = make(key).state_dict(), make(key).state_dict()
            for name, tensor in one.items():
                np.testing.assert_array_equal(tensor.numpy(), other[name].numpy())
            first, second, *_ = [tensor.numpy().ravel() for tensor in one.values()]
            assert not np.isin(first, second).any()

    def test_a_large_layer_costs_nothing_until_it_is_used(self):
        layer = nn.Linear(100_000, 100_000)  # 40 GB
        assert layer.weight.nbytes == 4 * 10**10
        assert layer.weight[5, :3].numpy().shape == (3,)


class TestBehaviour:
    def test_batch_norm_follows_the_batches_and_stays_after_eval(self):
        layer = nn.BatchNorm1d(2)
        x = np.array([[1.0, 10.0], [3.0, 30.0]], np.float32)
        np.testing.assert_allclose(layer(x).numpy(), [[-1, -1], [1, 1]], atol=1e-4)
        np.testing.assert_allclose(layer.running_mean.numpy(), [0.2, 2.0], rtol=1e-6)
        np.testing.assert_allclose(layer.running_var.numpy(), [1.1, 20.9], rtol=1e-6)
        assert layer.num_batches_tracked.item() == 1
        layer.eval()
        expected = (x - [0.2, 2.0]) / np.sqrt(np.array([1.1, 20.9]) + 1e-5)
        np.testing.assert_allclose(layer(x).numpy(), expected, rtol=1e-5)
        assert layer.num_batches_tracked.item() == 1

    def test_without_a_momentum_statistics_are_means_of_all_batches(self):
        layer = nn.BatchNorm1d(1, momentum=None)
        for value in (1.0, 4.0, 10.0):
            layer(np.array([[value - 1], [value + 1]], np.float32))
        np.testing.assert_allclose(layer.running_mean.numpy(), [5.0], rtol=1e-6)

    @pytest.mark.parametrize("make", [nn.BatchNorm1d, instance_norm], ids=["batch", "instance"])
    def test_batches_without_an_optimiser_keep_no_graphs(self, make):
        model = nn.Sequential(nn.Linear(3, 3), make(3))
        sizes = []
        for seed in range(5):
            shape = (4, 3) if make is nn.BatchNorm1d else (4, 3, 3)
            x = tfr.asarray(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))
            tfr.grad(lambda model, x: tfr.sum(model(x) ** 3))(model, x)[0].weight.numpy()
            sizes.append(len(reachable([model[1].running_mean.node, model[1].running_var.node])))
        assert sizes[-1] == sizes[1]

    def test_statistics_come_out_of_a_recorded_step(self):
        model = nn.Sequential(nn.Linear(3, 4, key=tfr.random.key(1)), nn.BatchNorm1d(4))
        other = nn.Sequential(nn.Linear(3, 4, key=tfr.random.key(1)), nn.BatchNorm1d(4))
        optimizers = [tfr.optim.SGD(0.1), tfr.optim.SGD(0.1)]

        def step(model, optimizer, x):
            value, gradient = tfr.value_and_grad(lambda model: tfr.mean(model(x) ** 3))(model)
            optimizer.update(model, gradient)
            return value

        recorded = tfr.jit(step, updates=("model", "optimizer"))
        random = np.random.default_rng(0)
        optimizers[1].init(other)
        for _ in range(3):
            x = random.standard_normal((6, 3)).astype(np.float32)
            plain, fast = step(model, optimizers[0], x), recorded(other, optimizers[1], x)
            np.testing.assert_allclose(plain.numpy(), fast.numpy(), rtol=1e-4, atol=1e-5)
        assert other[1].num_batches_tracked.item() == 3
        for (name, one), (_, two) in zip(
            model.state_dict().items(), other.state_dict().items(), strict=True
        ):
            np.testing.assert_allclose(one.numpy(), two.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)

    def test_dropout_drops_in_training_alone(self):
        layer = nn.Dropout(0.25)
        key = tfr.random.key(3)
        dropped = layer(tfr.ones(10_000), key=key).numpy()
        assert set(np.unique(dropped)) == {np.float32(0.0), np.float32(1 / 0.75)}
        assert abs((dropped == 0).mean() - 0.25) < 0.02
        np.testing.assert_array_equal(layer.eval()(tfr.ones(4)).numpy(), np.ones(4))

    def test_masks_of_attention_hide_where_they_are_true(self):
        layer = nn.MultiheadAttention(4, 2, batch_first=True, key=tfr.random.key(0))
        x = tfr.random.normal((2, 3, 4), key=tfr.random.key(1))
        hidden = tfr.asarray([[False, False, True], [False, True, True]])
        _, weights = layer(x, x, x, key_padding_mask=hidden)
        assert not weights.numpy()[0, :, 2].any()
        assert not weights.numpy()[1, :, 1:].any()
        np.testing.assert_allclose(weights.numpy().sum(-1), 1.0, rtol=1e-5)
        _, causal = layer(x, x, x, is_causal=True)
        assert not np.triu(causal.numpy(), 1).any()
        _, both = layer(x, x, x, key_padding_mask=hidden, is_causal=True)
        assert not np.triu(both.numpy(), 1).any()
        assert not both.numpy()[0, :, 2].any()

    def test_sequential_is_a_row_that_can_be_indexed_cut_and_changed(self):
        model = nn.Sequential(nn.Linear(2, 3), tfr.tanh, nn.Linear(3, 4))
        assert len(model) == 3
        assert model[0] is next(iter(model))
        assert list(model[1:].state_dict()) == ["1.weight", "1.bias"]
        model[2] = nn.Linear(3, 1)
        model.append(tfr.sin)
        assert model(tfr.ones((5, 2))).shape == (5, 1)
        named = nn.Sequential({"first": nn.Linear(2, 3), "then": tfr.tanh})
        assert list(named.state_dict()) == ["first.weight", "first.bias"]
        assert named(tfr.ones((5, 2))).shape == (5, 3)

    def test_a_dict_of_modules_is_one(self):
        heads = nn.ModuleDict({"a": nn.Linear(2, 1)})
        heads["b"] = nn.Linear(2, 2)
        assert list(heads) == ["a", "b"]
        assert "b" in heads
        assert [head.out_features for head in heads.values()] == [1, 2]

    def test_embeddings_of_one_s_own_are_frozen(self):
        layer = nn.Embedding.from_pretrained(tfr.ones((3, 2)))
        assert layer.named_parameters(trainable=True) == []
        assert layer(tfr.asarray([1])).tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("device", ["numpy", "llvm", "opencl", "wgpu"])
def test_a_network_gives_the_same_on_every_device(device):
    if device not in tfr.backends.available():
        pytest.skip("no such device")
    tfr.random.seed(2)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), tfr.relu, nn.Flatten(), nn.Linear(64, 3)
    )
    x = np.random.default_rng(0).standard_normal((2, 1, 4, 4)).astype(np.float32)

    def loss(model, x):
        return tfr.mean(model(x) ** 2)

    wanted, slopes = tfr.value_and_grad(loss)(model, x)
    model.load_state_dict(model.state_dict())
    model.to_device(device)
    found, gradient = tfr.value_and_grad(loss)(model, tfr.asarray(x, device=device))
    assert found.device == tfr.Device(device)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-4)
    pairs = zip(gradient.named_parameters(), slopes.named_parameters(), strict=True)
    for (name, own), (_, other) in pairs:
        np.testing.assert_allclose(own.numpy(), other.numpy(), rtol=2e-3, atol=1e-5, err_msg=name)


class TestErrors:
    def test_a_batch_of_the_wrong_shape_names_the_layer_and_the_line(self):
        class Net(nn.Module):
            def __init__(self):
                self.body = [nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 4), nn.Linear(5, 1))]

            def forward(self, x):
                for part in self.body:
                    x = part(x)
                return x

        with pytest.raises(ShapeError) as caught:
            Net()(tfr.ones((2, 3)))
        message = str(caught.value)
        assert "has 4 features" in message
        assert "in body.1.1: Linear(5, 1)" in message
        assert "x = part(x)" in message

    @pytest.mark.parametrize(
        ("wrong", "kind", "said"),
        [
            (lambda: nn.Conv2d(3, 4, 3, groups=2), ArgumentError, "groups=2 does not divide in_ch"),
            (lambda: nn.Conv2d(2, 3, 3, groups=2), ArgumentError, "groups=2 does not divide out_c"),
            (lambda: nn.Conv2d(2, 3, (3, 3, 3)), ArgumentError, "one for each of 2 axes"),
            (lambda: nn.Conv1d(2, 3, 3, padding_mode="x"), ArgumentError, "padding_mode='x'"),
            (
                lambda: nn.ConvTranspose1d(2, 3, 3, padding_mode="reflect"),
                ArgumentError,
                "padding_mode is 'zeros'",
            ),
            (lambda: nn.GroupNorm(4, 6), ArgumentError, "does not divide num_channels=6"),
            (lambda: nn.MultiheadAttention(8, 3), ArgumentError, "does not divide embed_dim=8"),
            (lambda: nn.Embedding(3, 2, padding_idx=3), ArgumentError, "no row padding_idx=3"),
            (lambda: nn.RNN(3, 2, nonlinearity="sin"), ArgumentError, "'tanh' or 'relu'"),
            (lambda: nn.LSTM(3, 0), ArgumentError, "hidden_size is positive"),
            (lambda: nn.LSTM(3, 4, proj_size=4), ArgumentError, "less than hidden_size=4, or 0"),
            (
                lambda: nn.TransformerEncoderLayer(8, 2, activation="sine"),
                ArgumentError,
                "'relu', 'gelu' or a function",
            ),
            (lambda: nn.BatchNorm2d(3)(tfr.ones((2, 3))), ShapeError, "takes inputs of 4 axes"),
            (lambda: nn.ZeroPad2d((1, 2)), ArgumentError, "a number or 4 of them"),
            (lambda: nn.Flatten(3)(tfr.ones((2, 3))), AxisError, "no axis 3"),
            (lambda: nn.Unflatten(1, (2, 2))(tfr.ones((2, 3))), ShapeError, "of size 3 is not"),
            (lambda: nn.Sequential(3), DTypeError, "takes modules and functions, got int"),
            (lambda: nn.Sequential(tfr.sin)[4], IndexingError, "there is no module 4: it has 1"),
            (lambda: nn.ModuleDict({"a": tfr.sin})["b"], ArgumentError, "no module 'b'"),
            (lambda: nn.ModuleDict({"keys": tfr.sin}), ArgumentError, "'keys' cannot be the name"),
            (
                lambda: nn.MultiheadAttention(8, 2)(*[tfr.ones((4, 1, 8))] * 3, tfr.ones((1, 3))),
                ShapeError,
                r"key_padding_mask has shape \(1, 3\)",
            ),
        ],
    )
    def test_what_does_not_fit_is_said(self, wrong, kind, said):
        with pytest.raises(kind, match=said):
            wrong()
