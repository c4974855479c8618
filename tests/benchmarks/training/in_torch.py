"""Training in PyTorch: eager, with the update of all parameters as one operation, or (`plain`) one by one."""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody writes it

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


class Block(nn.Module):  # type: ignore[misc]
    """Attention and two layers, each behind a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.parts, self.projection = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.first, self.second = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        """Return what goes into the next block."""
        batch, length, _ = x.shape
        parts = self.parts(self.norm1(x)).split(WIDTH, dim=2)
        heads = (batch, length, HEADS, WIDTH // HEADS)
        q, k, v = (part.view(heads).transpose(1, 2) for part in parts)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(seen.transpose(1, 2).reshape(x.shape))
        return x + self.second(F.gelu(self.first(self.norm2(x))))


class LanguageModel(nn.Module):  # type: ignore[misc]
    """nanoGPT in its size for a CPU."""

    def __init__(self) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, letters: Any) -> Any:
        """Return scores for each letter that may follow."""
        x = self.blocks(self.letters(letters) + self.places.weight)
        return F.linear(self.norm(x), self.letters.weight)


def network_of(name: str) -> nn.Module:
    """Return a new network."""
    if name == "gpt":
        return LanguageModel()
    if name == "cnn":
        return nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(64 * 7 * 7, 10),
        )
    layers = nn.Linear(784, 512), nn.Linear(512, 512), nn.Linear(512, 10)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])


def prepare(network: str, x: Array, y: Array) -> Step:
    """Return the step of a network on a batch."""
    torch.set_num_threads(1)
    model = network_of(network)
    fused = os.environ.get("TRAINING_UPDATE") != "plain"
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=fused)
    given, labels = torch.from_numpy(x), torch.from_numpy(y)

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        scores = model(given)
        loss = F.cross_entropy(scores.reshape(-1, scores.shape[-1]), labels.reshape(-1))
        loss.backward()
        optimizer.step()
        return float(loss)

    return step


if __name__ == "__main__":
    measure(prepare)
