"""A small model of the Llama family that learns to write Python's language reference, character by character."""

from __future__ import annotations

import numpy as np

import tensorframe as tfr
from examples.training.character_gpt import Text, reference
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tensorframe.nn.models import Llama

# Characters that the model sees while it learns, and those that it may go on to.
WINDOW, CONTEXT = 64, 1024


def untrained(text: Text, *, layers: int = 2, width: int = 128) -> Llama:
    """Return a model of a text's characters."""
    config = {
        "vocab_size": len(text.alphabet),
        "hidden_size": width,
        "intermediate_size": 3 * width,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": CONTEXT,
    }
    model = Llama(config, key=tfr.random.key(0))
    for _, parameter in model.named_parameters():
        if parameter.ndim == 2:
            tfr.nn.init.normal_(parameter, std=0.05, key=tfr.random.key(parameter.shape[0]))
    return model


def loss(model: Llama, windows: tfr.Tensor) -> tfr.Tensor:
    """Return the surprise at each character after the first, in nats."""
    scores = model(windows[:, :-1])
    return F.cross_entropy(scores.reshape((-1, scores.shape[-1])), windows[:, 1:].reshape(-1))


@tfr.jit(updates=("model", "optimizer"))
def step(model: Llama, optimizer: tfr.optim.Optimizer, windows: tfr.Tensor) -> tfr.Tensor:
    """Learn from a batch of windows, and return the loss before that."""
    value: tfr.Tensor
    value, gradients = tfr.value_and_grad(loss)(model, windows)
    optimizer.update(model, gradients)
    return value


def trained(steps: int, *, layers: int = 2, width: int = 128) -> tuple[Llama, Text, list[float]]:
    """Return a model that has learned for some steps, its text, and its losses."""
    text = reference()
    model = untrained(text, layers=layers, width=width)
    optimizer = tfr.optim.AdamW(3e-3, betas=(0.9, 0.99))
    optimizer.init(model)
    random, places = np.random.default_rng(0), np.arange(WINDOW + 1)
    losses = []
    for _ in range(steps):
        starts = random.integers(0, len(text.numbers) - WINDOW, 16)
        losses.append(
            step(model, optimizer, tfr.asarray(text.numbers[starts[:, None] + places])).item()
        )
    return model, text, losses
