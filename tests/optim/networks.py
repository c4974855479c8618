"""Networks that training steps are counted on: a perceptron, a small convolutional one, and a language model."""

from itertools import pairwise

import numpy as np

import tensorframe as tfr
from tensorframe import nn

F = nn.functional


class Perceptron(nn.Module):
    def __init__(self, sizes):
        self.layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class Block(nn.Module):
    def __init__(self, width, heads):
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.first, self.second = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.queries_keys_values(self.norm1(x))
        parts = parts.reshape((batch, length, 3, self.heads, width // self.heads))
        q, k, v = (tfr.permute_dims(parts[:, :, part], (0, 2, 1, 3)) for part in range(3))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        seen = tfr.permute_dims(seen, (0, 2, 1, 3)).reshape(x.shape)
        x = x + self.projection(seen)
        return x + self.second(F.gelu(self.first(self.norm2(x))))


class LanguageModel(nn.Module):
    """nanoGPT's shape; the embedding is the head's weight, too."""

    def __init__(self, letters=65, length=64, width=128, heads=4, layers=4):
        self.embedding = nn.Embedding(letters, width)
        self.places = nn.Embedding(length, width)
        self.blocks = [Block(width, heads) for _ in range(layers)]
        self.norm = nn.LayerNorm(width)

    def forward(self, letters):
        x = self.embedding(letters) + self.places.weight
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.embedding.weight.T


def train(model, optimizer, x, y):
    """One step of training with cross entropy; returns the loss."""

    def loss(model):
        scores = model(x)
        return F.cross_entropy(scores.reshape((-1, scores.shape[-1])), y.reshape(-1))

    value, gradients = tfr.value_and_grad(loss)(model)
    optimizer.update(model, gradients)
    return value


def text(batch, length, letters, device=None, seed=0):
    """Letters, and those that follow them."""
    drawn = np.random.default_rng(seed).integers(0, letters, (batch, length + 1))
    return tfr.asarray(drawn[:, :-1], device=device), tfr.asarray(drawn[:, 1:], device=device)
