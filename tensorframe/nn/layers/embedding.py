"""Embeddings: a vector for each of so many numbers."""

from __future__ import annotations

from typing import Self

from tensorframe.dtypes import DTypeLike
from tensorframe.errors import ArgumentError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.operands import operand
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import functional, init
from tensorframe.nn.module import Module

__all__ = ["Embedding"]


class Embedding(Module):
    """A row of `weight`, of shape (num_embeddings, embedding_dim), for each integer.

    Rows begin normal with standard deviation 1. That of `padding_idx` begins as zeros, and has no gradient. Rows of a
    norm larger than `max_norm` are scaled down when they are read; `weight` is not changed. These, `norm_type` and
    `scale_grad_by_freq` are those of `nn.functional.embedding`.

    >>> tfr.nn.Embedding(10, 4)(tfr.asarray([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    weight: Tensor

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
        *,
        key: Source = None,
    ) -> None:
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = _row(padding_idx, num_embeddings)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        shape = (num_embeddings, embedding_dim)
        self.weight = init.normal(shape, dtype=dtype, device=device, key=key)
        if self.padding_idx is not None:
            self.weight[self.padding_idx] = 0.0

    @classmethod
    def from_pretrained(
        cls,
        embeddings: ArrayLike,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
    ) -> Self:
        """Return a layer with these rows, frozen unless `freeze` is False."""
        rows = operand(embeddings)
        if rows.ndim != 2:
            raise ShapeError(f"from_pretrained: embeddings are rows of a matrix, got {rows.shape}")
        options = (padding_idx, max_norm, norm_type, scale_grad_by_freq)
        layer = cls(rows.shape[0], rows.shape[1], *options)
        layer.weight = rows
        return layer.freeze() if freeze else layer

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the rows for integers of shape (...): (..., embedding_dim)."""
        options = (self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)
        return functional.embedding(input, self.weight, *options)

    def extra_repr(self) -> str:
        """Return the sizes."""
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        parts += [] if self.padding_idx is None else [f"padding_idx={self.padding_idx}"]
        parts += [] if self.max_norm is None else [f"max_norm={self.max_norm}"]
        return ", ".join(parts)


def _row(padding_idx: int | None, rows: int) -> int | None:
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise ArgumentError(f"Embedding: there is no row padding_idx={padding_idx} of {rows}")
    return None if padding_idx is None else padding_idx % rows
