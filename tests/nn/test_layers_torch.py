"""Layers beside PyTorch's: the same names and shapes, files both ways, equal results and statistics."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import nn
from tests.nn.layers import FUNCTIONS, LAYERS, WEIGHTED, WEIGHTS, tensors_of

torch = pytest.importorskip("torch")
from safetensors.torch import load_file, save_file  # noqa: E402 - beside torch

# what PyTorch says about its fast paths
pytestmark = [
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning"),
    pytest.mark.filterwarnings("ignore:LSTM with projections is not supported:UserWarning"),
]
ALL = pytest.mark.parametrize("name", LAYERS)


@pytest.fixture(autouse=True)
def _draws_are_the_same_in_every_run():
    tfr.random.seed(5)


def theirs(name):
    torch.manual_seed(0)
    return LAYERS[name].make(torch.nn)


def compare(name, ours, other):
    layer = LAYERS[name]
    arrays = layer.arrays()
    for mode in (True, False):
        ours.train(mode)
        other.train(mode)
        with torch.no_grad():
            wanted = tensors_of(layer.call(other, *map(torch.from_numpy, arrays)))
        found = tensors_of(layer.call(ours, *map(tfr.asarray, arrays)))
        for own, one in zip(found, wanted, strict=True):
            assert own.shape == tuple(one.shape)
            np.testing.assert_allclose(own.numpy(), one.numpy(), rtol=2e-4, atol=2e-5)
    for key, tensor in other.state_dict().items():
        np.testing.assert_allclose(
            ours.state_dict()[key].numpy(), tensor.numpy(), rtol=1e-5, atol=1e-6, err_msg=key
        )


@ALL
def test_the_names_and_shapes_are_pytorchs(name):
    state = theirs(name).state_dict()
    assert {key: tuple(tensor.shape) for key, tensor in state.items()} == LAYERS[name].state


@ALL
def test_a_file_of_pytorchs_gives_the_same_results(name, tmp_path):
    other, ours = theirs(name), LAYERS[name].make(nn)
    if other.state_dict():
        save_file(other.state_dict(), tmp_path / "model.safetensors")
        assert ours.load_state_dict(tfr.load(tmp_path / "model.safetensors")) == ([], [])
    compare(name, ours, other)


@ALL
def test_pytorch_reads_a_file_of_ours(name, tmp_path):
    other, ours = theirs(name), LAYERS[name].make(nn)
    if ours.state_dict():
        tfr.save(tmp_path / "model.safetensors", ours.state_dict())
        other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    compare(name, ours, other)


@pytest.mark.parametrize(
    "name", ["Linear", "Conv2d", "ConvTranspose1d", "Embedding", "GRU", "MultiheadAttention"]
)
def test_initial_values_have_pytorchs_range(name):
    make = {
        "Linear": lambda nn: nn.Linear(64, 256),
        "Conv2d": lambda nn: nn.Conv2d(8, 128, 3),
        "ConvTranspose1d": lambda nn: nn.ConvTranspose1d(64, 32, 5),
        "Embedding": lambda nn: nn.Embedding(300, 64),
        "GRU": lambda nn: nn.GRU(32, 64),
        "MultiheadAttention": lambda nn: nn.MultiheadAttention(64, 4),
    }[name]
    wanted = make(torch.nn).state_dict()
    for key, tensor in make(nn).state_dict().items():
        own, other = tensor.numpy(), wanted[key].numpy()
        if own.size > 1000:
            np.testing.assert_allclose(own.std(), other.std(), rtol=0.1, err_msg=key)
        if name != "Embedding":
            np.testing.assert_allclose(
                np.abs(own).max(), np.abs(other).max(), rtol=0.1, atol=1e-9, err_msg=key
            )


def test_tied_weights_of_pytorchs_stay_tied(tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            self.embedding = nn.Embedding(7, 4)
            self.head = nn.Linear(4, 7, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, ids):
            return self.head(self.embedding(ids))

    embedding, head = torch.nn.Embedding(7, 4), torch.nn.Linear(4, 7, bias=False)
    head.weight = embedding.weight
    # PyTorch's files name a shared tensor once
    save_file({"embedding.weight": embedding.weight.detach()}, tmp_path / "tied.safetensors")
    model = Tied()
    assert model.load_state_dict(tfr.load(tmp_path / "tied.safetensors")) == ([], [])
    ids = np.array([1, 2, 6])
    with torch.no_grad():
        wanted = head(embedding(torch.from_numpy(ids))).numpy()
    np.testing.assert_allclose(model(tfr.asarray(ids)).numpy(), wanted, rtol=1e-5, atol=1e-6)
    assert model.head.weight is model.embedding.weight


def test_tensors_of_pytorchs_are_taken_without_a_file():
    other, ours = torch.nn.Linear(3, 2), nn.Linear(3, 2)
    ours.load_state_dict({name: tensor.detach() for name, tensor in other.state_dict().items()})
    np.testing.assert_array_equal(ours.weight.numpy(), other.weight.detach().numpy())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_losses_take_pytorchs_options(name):
    for options, inputs in FUNCTIONS[name]:
        layer, other = getattr(nn, name)(**options), getattr(torch.nn, name)(**options)
        with torch.no_grad():
            wanted = tensors_of(other(*[torch.tensor(one.copy()) for one in inputs]))
        found = tensors_of(layer(*map(tfr.asarray, inputs)))
        for own, one in zip(found, wanted, strict=True):
            np.testing.assert_allclose(own.numpy(), one.numpy(), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", WEIGHTED)
def test_losses_take_pytorchs_weights_and_state(name):
    argument, inputs = WEIGHTED[name]
    layer = getattr(nn, name)(**{argument: tfr.ones(4)})
    other = getattr(torch.nn, name)(**{argument: torch.tensor(WEIGHTS)})
    layer.load_state_dict(other.state_dict())
    wanted = other(*[torch.tensor(one) for one in inputs]).item()
    assert layer(*map(tfr.asarray, inputs)).item() == pytest.approx(wanted, rel=1e-5)
