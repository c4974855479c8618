"""Training in tensorframe: modules, AdamW, and one plan for the whole step."""

from __future__ import annotations

from typing import Any

import tensorframe as tfr
from tensorframe import nn
from tests.benchmarks.training.measuring import (
    HEADS,
    LAYERS,
    LENGTH,
    LETTERS,
    WIDTH,
    Array,
    Step,
    measure,
)

F = nn.functional


class Block(nn.Module):
    """Attention and two layers, each behind a norm."""

    def __init__(self) -> None:
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.parts, self.projection = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.first, self.second = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        """Return what goes into the next block."""
        parts = self.parts(self.norm1(x)).reshape((*x.shape[:2], 3, HEADS, WIDTH // HEADS))
        q, k, v = (tfr.permute_dims(parts[:, :, part], (0, 2, 1, 3)) for part in range(3))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(tfr.permute_dims(seen, (0, 2, 1, 3)).reshape(x.shape))
        return x + self.second(F.gelu(self.first(self.norm2(x))))


class LanguageModel(nn.Module):
    """nanoGPT in its size for a CPU."""

    def __init__(self) -> None:
        self.letters, self.places = nn.Embedding(LETTERS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = [Block() for _ in range(LAYERS)]
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, letters: Any) -> Any:
        """Return scores for each letter that may follow."""
        x = self.letters(letters) + self.places.weight
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.letters.weight)


class Pictures(nn.Module):
    """Two convolutions, each behind a pooling, and a linear layer."""

    def __init__(self) -> None:
        self.first, self.second = nn.Conv2d(1, 32, 3, padding=1), nn.Conv2d(32, 64, 3, padding=1)
        self.last = nn.Linear(64 * 7 * 7, 10)

    def forward(self, x: Any) -> Any:
        """Return scores for each class."""
        x = F.max_pool2d(F.relu(self.first(x)), 2)
        x = F.max_pool2d(F.relu(self.second(x)), 2)
        return self.last(x.reshape((x.shape[0], -1)))


class Rows(nn.Module):
    """Three linear layers."""

    def __init__(self) -> None:
        self.first, self.second = nn.Linear(784, 512), nn.Linear(512, 512)
        self.last = nn.Linear(512, 10)

    def forward(self, x: Any) -> Any:
        """Return scores for each class."""
        return self.last(F.relu(self.second(F.relu(self.first(x)))))


NETWORKS = {"mlp": Rows, "cnn": Pictures, "gpt": LanguageModel}


@tfr.jit(updates=("model", "optimizer"))
def train(model: nn.Module, optimizer: tfr.optim.Optimizer, x: Any, y: Any) -> Any:
    """Do one step; return the loss."""

    def loss(model: nn.Module) -> Any:
        scores = model(x)
        return F.cross_entropy(scores.reshape((-1, scores.shape[-1])), y.reshape(-1))

    value, gradients = tfr.value_and_grad(loss)(model)
    optimizer.update(model, gradients)
    return value


def prepare(network: str, x: Array, y: Array) -> Step:
    """Return the step of a network on a batch."""
    tfr.config.configure(threads=1)
    model, optimizer = NETWORKS[network](), tfr.optim.AdamW(1e-3)
    optimizer.init(model)
    batch = (tfr.asarray(x), tfr.asarray(y))
    return lambda: train(model, optimizer, *batch).item()


if __name__ == "__main__":
    measure(prepare)
