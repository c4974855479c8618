"""Checkpoints: a run that is stopped and resumed has the bits of one that is not, and a file that does not fit changes
nothing."""

import json

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import nn, optim
from tensorframe.errors import ArgumentError, DTypeError, FileFormatError, ShapeError

F = nn.functional
DEVICES = ["cpu", "numpy", "llvm"] + [
    name for name in ("opencl", "wgpu", "cuda") if name in tfr.backends.available()
]


class Net(nn.Module):
    def __init__(self, key):
        first, second = tfr.random.split(key)
        self.layers = [nn.Linear(6, 16, key=first), nn.Linear(16, 3, key=second)]
        self.norm = nn.BatchNorm1d(16)

    def forward(self, x, key):
        hidden = tfr.tanh(self.norm(self.layers[0](x)))
        return self.layers[1](F.dropout(hidden, 0.2, key=key))


class Run:
    """All that training goes on from."""

    def __init__(self, device=None, seed=0):
        self.model = Net(tfr.random.key(seed))
        if device is not None:
            self.model.to_device(device)
        self.optimizer = optim.AdamW(optim.schedules.cosine(0.05, 20))
        self.optimizer.init(self.model)
        self.average = optim.ExponentialMovingAverage(self.model, 0.9)
        self.key = tfr.random.key(7)
        self.device = device

    @property
    def parts(self):
        return {"model": self.model, "optimizer": self.optimizer, "average": self.average}

    def train(self, steps):
        generator = np.random.default_rng(5)
        x = tfr.asarray(generator.standard_normal((12, 6)).astype(np.float32), device=self.device)
        y = tfr.asarray(generator.standard_normal((12, 3)).astype(np.float32), device=self.device)
        losses = []
        for _ in range(steps):
            self.key, order, drop = tfr.random.split(self.key, 3)
            for a, b in nn.batches(x, y, size=6, key=order):
                losses.append(step(self.model, self.optimizer, self.average, a, b, drop).numpy())
        return losses

    def arrays(self):
        tensors = {
            f"{name}.{key}": tensor
            for name, part in self.parts.items()
            for key, tensor in part.state_dict().items()
        }
        return {name: tensor.numpy() for name, tensor in tensors.items()}


@tfr.jit(updates=("model", "optimizer", "average"))
def step(model, optimizer, average, x, y, key):
    def loss(model):
        return tfr.mean((model(x, key) - y) ** 2)

    value, gradients = tfr.value_and_grad(loss)(model)
    optimizer.update(model, gradients)
    average.update(model)
    return value


def same_bits(one, other):
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


@pytest.mark.parametrize("device", DEVICES[:3])
def test_stopped_and_resumed_or_run_again_has_the_same_bits(device, tmp_path):
    path = tmp_path / "run.safetensors"
    whole, again = Run(device), Run(device)
    losses = whole.train(4)
    first = again.train(2)
    optim.save_checkpoint(path, **again.parts, key=again.key, epoch=2)
    resumed = Run(device, seed=1)
    state = optim.load_checkpoint(path, **resumed.parts)
    resumed.key = state["key"]
    assert state["epoch"] == 2
    np.testing.assert_array_equal(losses, first + resumed.train(2))
    same_bits(whole.arrays(), resumed.arrays())
    np.testing.assert_array_equal(losses[4:], again.train(2))
    same_bits(whole.arrays(), again.arrays())


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", DEVICES[3:])
def test_losses_on_devices_are_the_same_to_rounding(device):
    np.testing.assert_allclose(Run(device).train(1), Run("cpu").train(1), rtol=1e-4)


def test_an_unfinished_file_leaves_the_one_before(tmp_path, monkeypatch):
    path = tmp_path / "run.safetensors"
    optim.save_checkpoint(path, w=tfr.ones(3))
    before = path.read_bytes()

    def failing(*_):
        raise OSError("no space left")

    monkeypatch.setattr("tensorframe.files.access._write", failing)
    with pytest.raises(OSError, match="no space left"):
        optim.save_checkpoint(path, w=tfr.zeros(3))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_may_be_written_again_while_what_it_held_is_used(tmp_path):
    path = tmp_path / "run.safetensors"
    w = {"w": tfr.zeros(2000)}
    optim.save_checkpoint(path, w={"w": tfr.ones(2000)})
    optim.load_checkpoint(path, w=w)
    optim.save_checkpoint(path, w={"w": tfr.zeros(2000)})
    assert w["w"].numpy().min() == 1


def test_tied_weights_stay_tied(tmp_path):
    path = tmp_path / "run.safetensors"
    weight = tfr.zeros(2)
    tied = {"a": weight, "b": [weight]}
    optim.save_checkpoint(path, tree={"a": tfr.ones(2), "b": [tfr.ones(2)]})
    with pytest.raises(ArgumentError, match=r"differ in b\.0"):
        optim.load_checkpoint(path, tree=tied)
    weight += 5
    optim.save_checkpoint(path, tree=tied)
    weight *= 0
    optim.load_checkpoint(path, tree=tied)
    assert tied["a"] is tied["b"][0] is weight
    assert weight.tolist() == [5.0, 5.0]


def saved(path, run):
    optim.save_checkpoint(path, **run.parts, key=run.key)


def test_a_part_that_does_not_fit_changes_no_other(tmp_path):
    path = tmp_path / "run.safetensors"
    saved(path, Run(seed=1))
    run = Run()
    before = run.arrays()
    other = optim.SGD(0.1, momentum=0.9)
    other.init(run.model)
    with pytest.raises(ArgumentError, match="the names differ"):
        optim.load_checkpoint(path, model=run.model, average=run.average, optimizer=other)
    same_bits(before, run.arrays())


@pytest.mark.parametrize(
    ("name", "text"),
    [("modle", "has no part modle.*try: model"), ("key", "no tensor, and comes back")],
)
def test_parts_that_the_file_does_not_have_are_named(name, text, tmp_path):
    path = tmp_path / "run.safetensors"
    saved(path, Run())
    with pytest.raises(ArgumentError, match=f"(?s){text}"):
        optim.load_checkpoint(path, **{name: tfr.zeros(2)})


def test_another_shape_is_refused(tmp_path):
    path = tmp_path / "run.safetensors"
    optim.save_checkpoint(path, w={"w": tfr.zeros(2)})
    with pytest.raises(ShapeError, match=r"w\.w has shape \(3,\), in the file \(2,\)"):
        optim.load_checkpoint(path, w={"w": tfr.zeros(3)})


def test_other_files_are_no_checkpoints(tmp_path):
    path = tmp_path / "weights.safetensors"
    tfr.save(path, {"w.w": tfr.zeros(2)})
    with pytest.raises(FileFormatError, match="not written by save_checkpoint"):
        optim.load_checkpoint(path, w={"w": tfr.zeros(2)})
    with pytest.raises(ArgumentError, match="no safetensors file"):
        optim.save_checkpoint(tmp_path / "run.npz", w={"w": tfr.zeros(2)})


def test_what_has_no_place_in_a_file_is_refused(tmp_path):
    with pytest.raises(DTypeError, match="no place for it, a object"):
        optim.save_checkpoint(tmp_path / "run.safetensors", it=object())
    assert not list(tmp_path.iterdir())


def test_numbers_strings_and_keys_come_back_as_they_are(tmp_path):
    path = tmp_path / "run.safetensors"
    given = {"epoch": 3, "best": 0.1, "name": "é", "done": False, "none": None}
    optim.save_checkpoint(path, **given, key=tfr.random.key(2**64 - 1))
    state = optim.load_checkpoint(path)
    assert state == given | {"key": tfr.random.key(2**64 - 1)}
    assert json.dumps(state["best"]) == "0.1"
