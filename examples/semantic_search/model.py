"""The encoder all-MiniLM-L6-v2: texts in, unit vectors out, near each other where the meanings are.

Six layers of BERT (Devlin et al. 2018, arXiv:1810.04805), distilled to a width of 384 (Wang et al.
2020, arXiv:2002.10957); the mean over a text's word pieces is its vector (Reimers and Gurevych 2019,
arXiv:1908.10084). Shapes: B texts of N pieces; H heads of width D; E = H * D.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import tensorframe as tfr
from examples.semantic_search.wheel import CONFIG, WEIGHTS
from tensorframe import Tensor


@dataclass(frozen=True)
class Linear:
    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        return x @ self.weight.T + self.bias


@dataclass(frozen=True)
class LayerNorm:
    scale: Tensor
    shift: Tensor
    epsilon: float

    def __call__(self, x: Tensor) -> Tensor:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / tfr.sqrt(variance + self.epsilon) * self.scale + self.shift


@dataclass(frozen=True)
class Attention:
    query: Linear
    key: Linear
    value: Linear
    output: Linear
    heads: int

    def __call__(self, x: Tensor, mask: Tensor) -> Tensor:
        """Each piece takes from all pieces of its text, as much as their keys fit its query."""
        query, key, value = (self.split(part(x)) for part in (self.query, self.key, self.value))
        scores = tfr.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(query.shape[-1])
        shares = tfr.softmax(tfr.where(mask[:, None, None, :], scores, -math.inf), axis=-1)
        mixture = tfr.einsum("bhqk,bkhd->bqhd", shares, value)
        return self.output(mixture.reshape(x.shape))

    def split(self, x: Tensor) -> Tensor:
        """(B, N, E) -> (B, N, H, D)."""
        return x.reshape((*x.shape[:-1], self.heads, -1))


@dataclass(frozen=True)
class Layer:
    attention: Attention
    attention_norm: LayerNorm
    widen: Linear
    narrow: Linear
    output_norm: LayerNorm

    def __call__(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.attention_norm(x + self.attention(x, mask))
        return self.output_norm(x + self.narrow(tfr.gelu(self.widen(x))))


@dataclass(frozen=True)
class Encoder:
    words: Tensor  # (vocabulary, E)
    positions: Tensor  # (longest text, E)
    segment: Tensor  # (E,): the first of two; the second marks the other text of a pair
    norm: LayerNorm
    layers: tuple[Layer, ...]

    @property
    def width(self) -> int:
        return self.words.shape[1]

    def __call__(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Word pieces (B, N) -> unit vectors (B, E); `mask` is true on pieces, false on padding."""
        x = tfr.take(self.words, ids, axis=0) + self.positions[: ids.shape[1]] + self.segment
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x, mask)
        x = mean_over_pieces(x, mask)
        return x / tfr.linalg.vector_norm(x, axis=-1, keepdims=True)


def mean_over_pieces(x: Tensor, mask: Tensor) -> Tensor:
    """(B, N, E) -> (B, E), leaving the padding out."""
    present = mask[:, :, None].astype(x.dtype)
    return (x * present).sum(axis=1) / present.sum(axis=1)


def load_encoder(folder: Path) -> Encoder:
    """The encoder with the weights in `folder`."""
    config = json.loads((folder / CONFIG).read_text())
    checkpoint = Checkpoint(tfr.load(folder / WEIGHTS), config["layer_norm_eps"])
    return Encoder(
        words=checkpoint.tensors["embeddings.word_embeddings.weight"],
        positions=checkpoint.tensors["embeddings.position_embeddings.weight"],
        segment=checkpoint.tensors["embeddings.token_type_embeddings.weight"][0],
        norm=checkpoint.norm("embeddings.LayerNorm"),
        layers=tuple(
            checkpoint.layer(f"encoder.layer.{number}", config["num_attention_heads"])
            for number in range(config["num_hidden_layers"])
        ),
    )


@dataclass(frozen=True)
class Checkpoint:
    """Weights under the names they were published with."""

    tensors: Mapping[str, Tensor]
    epsilon: float

    def linear(self, name: str) -> Linear:
        return Linear(self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"])

    def norm(self, name: str) -> LayerNorm:
        return LayerNorm(self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"], self.epsilon)

    def attention(self, name: str, heads: int) -> Attention:
        query, key, value = (
            self.linear(f"{name}.self.{part}") for part in ("query", "key", "value")
        )
        return Attention(query, key, value, self.linear(f"{name}.output.dense"), heads)

    def layer(self, name: str, heads: int) -> Layer:
        return Layer(
            attention=self.attention(f"{name}.attention", heads),
            attention_norm=self.norm(f"{name}.attention.output.LayerNorm"),
            widen=self.linear(f"{name}.intermediate.dense"),
            narrow=self.linear(f"{name}.output.dense"),
            output_norm=self.norm(f"{name}.output.LayerNorm"),
        )
