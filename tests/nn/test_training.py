"""Training of modules: the same losses on every device, the same bits in every run, and nothing half done."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import nn
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it


class Network(nn.Module):
    """A little of everything: a convolution, statistics, an embedding, attention, a tied weight."""

    def __init__(self):
        tfr.random.seed(3)
        self.convolution = nn.Conv1d(4, 4, 3, padding=1)
        self.norm = nn.BatchNorm1d(4)
        self.letters = nn.Embedding(7, 4)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.scores = nn.Linear(4, 7)
        self.scores.weight = self.letters.weight

    def forward(self, ids):
        x = self.letters(ids)
        x = F.relu(self.norm(self.convolution(x.mT))).mT
        x = x + self.attention(x, x, x, need_weights=False, is_causal=True)[0]
        return self.scores(x)


IDS = np.array([[1, 2, 3, 4], [4, 0, 6, 5], [2, 2, 1, 0]], np.int32)


def loss(model, ids):
    return F.cross_entropy(model(ids[:, :-1]).reshape((-1, 7)), ids[:, 1:].reshape(-1))


def step(model, optimizer, ids):
    value, gradients = tfr.value_and_grad(loss)(model, ids)
    optimizer.update(model, gradients)
    return value


def trained(device="cpu", steps=3, recorded=True):
    model, optimizer = Network().to_device(device), tfr.optim.AdamW(1e-2)
    optimizer.init(model)
    run = tfr.jit(step, updates=("model", "optimizer")) if recorded else step
    ids = tfr.asarray(IDS, device=device)
    return [run(model, optimizer, ids).item() for _ in range(steps)], model


@pytest.mark.sweep(7)
@pytest.mark.parametrize("device", ["numpy", "llvm", "opencl", "wgpu"])
def test_losses_are_the_same_on_every_device(device):
    if device not in tfr.backends.available():
        pytest.skip("no such device")
    wanted, _ = trained()
    found, model = trained(device)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    assert {str(tensor.device) for _, tensor in model.named_parameters()} == {device}
    assert model.scores.weight is model.letters.weight


def test_recorded_and_not_it_is_the_same_training():
    (recorded, one), (plain, other) = trained(), trained(recorded=False)
    np.testing.assert_allclose(recorded, plain, rtol=1e-5)
    assert recorded[-1] < recorded[0]
    for (name, own), (_, tensor) in zip(
        one.state_dict().items(), other.state_dict().items(), strict=True
    ):
        np.testing.assert_allclose(own.numpy(), tensor.numpy(), rtol=1e-3, atol=1e-5, err_msg=name)


def test_the_same_run_gives_the_same_bits():
    (first, one), (second, other) = trained(), trained()
    assert first == second
    for (name, own), (_, tensor) in zip(
        one.state_dict().items(), other.state_dict().items(), strict=True
    ):
        np.testing.assert_array_equal(own.numpy(), tensor.numpy(), err_msg=name)


def test_a_step_that_fails_leaves_model_and_optimiser_as_they_were():
    model, optimizer = Network(), tfr.optim.AdamW(1e-2)
    optimizer.init(model)
    recorded = tfr.jit(step, updates=("model", "optimizer"))
    recorded(model, optimizer, IDS)
    before = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    wrong = IDS.copy()
    wrong[0, 0] = 7  # no such row
    with pytest.raises(tfr.errors.TensorFrameError, match="7"):
        recorded(model, optimizer, wrong)
    for name, tensor in model.state_dict().items():
        np.testing.assert_array_equal(tensor.numpy(), before[name], err_msg=name)
    assert optimizer.step.item() == 1
    recorded(model, optimizer, IDS)
    assert optimizer.step.item() == 2


def test_a_run_that_is_stopped_and_resumed_gives_the_bits_of_one_that_was_not(tmp_path):
    path = tmp_path / "run.safetensors"
    wanted, whole = trained(steps=4)
    model, optimizer = Network(), tfr.optim.AdamW(1e-2)
    optimizer.init(model)
    recorded = tfr.jit(step, updates=("model", "optimizer"))
    losses = [recorded(model, optimizer, IDS).item() for _ in range(2)]
    tfr.optim.save_checkpoint(path, model=model, optimizer=optimizer)
    model, optimizer = Network(), tfr.optim.AdamW(1e-2)
    optimizer.init(model)
    tfr.optim.load_checkpoint(path, model=model, optimizer=optimizer)
    losses += [recorded(model, optimizer, IDS).item() for _ in range(2)]
    assert losses == wanted
    for name, tensor in whole.state_dict().items():
        np.testing.assert_array_equal(
            tensor.numpy(), model.state_dict()[name].numpy(), err_msg=name
        )
    assert model.scores.weight is model.letters.weight
