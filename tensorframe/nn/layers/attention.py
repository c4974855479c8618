"""Attention of several heads, and layers of transformers made of it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tensorframe.dtypes import BOOL, FLOAT, DTypeLike
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.creation.filled import full
from tensorframe.frontend.creation.triangles import eye, tril
from tensorframe.frontend.elementwise import functions
from tensorframe.frontend.indexing.searching import where
from tensorframe.frontend.manipulation.joining import concat
from tensorframe.frontend.operands import expanded, filled, operand
from tensorframe.frontend.random.keys import Key, Source
from tensorframe.frontend.reductions.statistics import mean
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import functional, init
from tensorframe.nn.layers.dropout import Dropout
from tensorframe.nn.layers.keys import keys_for
from tensorframe.nn.layers.linear import Linear
from tensorframe.nn.layers.normalization import LayerNorm
from tensorframe.nn.module import Module

__all__ = ["MultiheadAttention", "TransformerEncoder", "TransformerEncoderLayer"]


class MultiheadAttention(Module):
    """Attention of `num_heads` heads, each to its own part of `embed_dim` features, with products before and after.

    Inputs are (L, N, embed_dim), (N, L, embed_dim) with `batch_first`, or (L, embed_dim) for one example; keys and
    values have `kdim` and `vdim` features if these are given. Parameters have PyTorch's names: `in_proj_weight` of
    shape (3 * embed_dim, embed_dim), `in_proj_bias`, and `out_proj`. With `add_bias_kv` one key and value follow those
    of the input, the parameters `bias_k` and `bias_v`, and with `add_zero_attn` one of zeros; every query sees both.
    Source: A. Vaswani et al., "Attention is all you need", arXiv 1706.03762.

    >>> x = tfr.ones((2, 5, 8))
    >>> output, weights = tfr.nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)
    >>> output.shape, weights.shape
    ((2, 5, 8), (2, 5, 5))
    """

    in_proj_weight: Tensor | None
    in_proj_bias: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
        *,
        key: Source = None,
    ) -> None:
        if num_heads < 1 or embed_dim % num_heads:
            raise ArgumentError(
                f"MultiheadAttention: num_heads={num_heads} does not divide embed_dim={embed_dim}"
            )
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.dropout, self.batch_first = dropout, batch_first
        self.add_zero_attn = add_zero_attn
        made: dict[str, Any] = {"dtype": dtype, "device": device}
        keys = keys_for(key, 6 if add_bias_kv else 4)
        inputs = (embed_dim, kdim or embed_dim, vdim or embed_dim)
        if inputs == (embed_dim,) * 3:
            shape = (3 * embed_dim, embed_dim)
            self.in_proj_weight = init.xavier_uniform(shape, key=next(keys), **made)
        else:
            for name, features in zip("qkv", inputs, strict=True):
                weight = init.xavier_uniform((embed_dim, features), key=next(keys), **made)
                setattr(self, f"{name}_proj_weight", weight)
            self.in_proj_weight = None
        self.in_proj_bias = init.zeros(3 * embed_dim, **made) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, key=next(keys), **made)
        if bias:
            self.out_proj.bias = init.zeros(embed_dim, **made)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            self.bias_k, self.bias_v = (
                init.xavier_normal((1, 1, embed_dim), key=next(keys), **made) for _ in "kv"
            )

    def forward(
        self,
        query: ArrayLike,
        key: ArrayLike,
        value: ArrayLike,
        key_padding_mask: ArrayLike | None = None,
        need_weights: bool = True,
        attn_mask: ArrayLike | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
        *,
        dropout_key: Source = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return what the heads see, and the weights that they give to keys.

        Masks are as in PyTorch's module: booleans are true where a key takes *no* part, numbers are added to scores.
        `key_padding_mask` has shape (N, S), `attn_mask` (L, S) or (N * num_heads, L, S). `is_causal` lets each position
        see those up to its own. Weights, of shape (N, L, S), with a column more for each added key, are averages over
        heads unless `average_attn_weights` is False; they cost nothing if nobody needs them, and have no dropout.
        """
        batched = [operand(given) for given in (query, key, value)]
        single = batched[0].ndim == 2
        if any(given.ndim != (2 if single else 3) for given in batched):
            shapes = ", ".join(str(given.shape) for given in batched)
            raise ShapeError(
                f"MultiheadAttention: takes three inputs of 2 axes, or of 3, got shapes {shapes}"
            )
        if single:
            batched = [given[None] for given in batched]
        elif not self.batch_first:
            batched = [given.transpose(1, 0, 2) for given in batched]
        same = query is key and key is value
        q, k, v = (self._heads(given) for given in self._extended(self._projected(batched, same)))
        shape = (*q.shape[:-1], batched[1].shape[1])
        mask = self._mask(key_padding_mask, attn_mask, q, shape, is_causal, k.shape[-2] - shape[-1])
        options: dict[str, Any] = {"attn_mask": mask, "is_causal": is_causal and mask is None}
        dropped: dict[str, Any] = {
            "dropout_p": self.dropout if self.training else 0.0,
            "dropout_key": dropout_key,
        }
        seen = functional.scaled_dot_product_attention(q, k, v, **options, **dropped)
        output = self.out_proj(seen.transpose(0, 2, 1, 3).reshape(batched[0].shape))
        weights = None
        if need_weights:
            # each key with a value of its own: the weights themselves
            own = eye(k.shape[-2], dtype=q.dtype, device=q.device)
            weights = functional.scaled_dot_product_attention(q, k, own, **options)
            weights = mean(weights, axis=1) if average_attn_weights else weights
        if single:
            return output[0], None if weights is None else weights[0]
        return (output if self.batch_first else output.transpose(1, 0, 2)), weights

    def _projected(self, given: list[Tensor], same: bool) -> list[Tensor]:
        size, biases = self.embed_dim, self.in_proj_bias
        parts = [slice(index * size, (index + 1) * size) for index in range(3)]
        if self.in_proj_weight is not None and same:
            joined = functional.linear(given[0], self.in_proj_weight, biases)
            return [joined[..., part] for part in parts]
        weights = (
            [getattr(self, f"{name}_proj_weight") for name in "qkv"]
            if self.in_proj_weight is None
            else [self.in_proj_weight[part] for part in parts]
        )
        return [
            functional.linear(projected, weight, None if biases is None else biases[part])
            for projected, weight, part in zip(given, weights, parts, strict=True)
        ]

    def _extended(self, projected: list[Tensor]) -> list[Tensor]:
        """Return queries, and keys and values with those behind them that every example has."""
        query, *others = projected
        zeros = filled((1, 1, self.embed_dim), 0.0, query.dtype, query.device)
        extended = []
        for given, own in zip(others, (self.bias_k, self.bias_v), strict=True):
            rows = [] if own is None else [own]
            rows += [zeros] if self.add_zero_attn else []
            shape = (given.shape[0], 1, self.embed_dim)
            added = [expanded(row, shape) for row in rows]
            extended.append(concat([given, *added], axis=1) if added else given)
        return [query, *extended]

    def _heads(self, projected: Tensor) -> Tensor:
        """Return (N, L, E) as (N, heads, L, E / heads)."""
        examples, length, _ = projected.shape
        split = projected.reshape((examples, length, self.num_heads, -1))
        return split.transpose(0, 2, 1, 3)

    def _mask(
        self,
        padding: Any,
        mask: Any,
        q: Tensor,
        shape: tuple[int, ...],
        is_causal: bool,
        extra: int,
    ) -> Tensor | None:
        """Return what is added to scores of a shape (N, heads, L, S), for all masks together; None if there are none.

        No mask hides the `extra` keys behind the others.
        """
        examples, heads, rows, columns = shape
        added = []
        if padding is not None:
            own = _as_added("key_padding_mask", padding, q)
            own = own[None] if own.ndim == 1 else own
            _need_shape("key_padding_mask", own, ((examples, columns),))
            added.append(own[:, None, None, :])
        if mask is not None:
            own = _as_added("attn_mask", mask, q)
            shapes = ((rows, columns), (examples * heads, rows, columns))
            _need_shape("attn_mask", own, shapes)
            added.append(own.reshape((examples, heads, rows, columns)) if own.ndim == 3 else own)
        if is_causal and (added or extra):
            below = tril(full((rows, columns), True, device=q.device))
            added.append(where(below, 0.0, float("-inf")).astype(q.dtype))
        if not added:
            return None
        total: Tensor = added[0]
        for other in added[1:]:
            total = total + other
        seen = filled((*total.shape[:-1], extra), 0.0, q.dtype, q.device)
        return concat([total, seen], axis=-1) if extra else total

    def extra_repr(self) -> str:
        """Return the sizes."""
        dropout = f", dropout={self.dropout}" if self.dropout else ""
        first = ", batch_first=True" if self.batch_first else ""
        return f"{self.embed_dim}, {self.num_heads}{dropout}{first}"


def _as_added(name: str, mask: Any, like: Tensor) -> Tensor:
    given = operand(mask)
    if given.dtype in BOOL:
        return where(given, float("-inf"), 0.0).astype(like.dtype)
    if given.dtype not in FLOAT:
        raise DTypeError(
            f"MultiheadAttention: {name} has booleans or floating numbers, not {given.dtype.name}",
            suggestions=(f"{name} != 0, true where a key takes no part",),
        )
    return given.astype(like.dtype)


def _need_shape(name: str, mask: Tensor, shapes: tuple[tuple[int, ...], ...]) -> None:
    if mask.shape not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise ShapeError(f"MultiheadAttention: {name} has shape {mask.shape}, and {wanted} fits")


class TransformerEncoderLayer(Module):
    """Attention of all positions to each other, then a network for each position, both beside a way past them.

    Inputs are as for `MultiheadAttention`. Norms come after each part, or before it with `norm_first`. `activation` is
    "relu", "gelu" or a function.

    >>> layer = tfr.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> layer(tfr.ones((3, 5, 8))).shape
    (3, 5, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
        *,
        key: Source = None,
    ) -> None:
        made: dict[str, Any] = {"bias": bias, "dtype": dtype, "device": device}
        keys = keys_for(key, 3)
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, batch_first=batch_first, key=next(keys), **made
        )
        self.linear1 = Linear(d_model, dim_feedforward, key=next(keys), **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, key=next(keys), **made)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, **made)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, **made)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.norm_first = norm_first
        self.activation = _activation(activation)

    def forward(
        self,
        src: ArrayLike,
        src_mask: ArrayLike | None = None,
        src_key_padding_mask: ArrayLike | None = None,
        is_causal: bool = False,
        *,
        key: Source = None,
    ) -> Tensor:
        """Return new features for all positions; masks are those of `MultiheadAttention`."""
        keys = keys_for(key, 4)
        masks = (src_mask, src_key_padding_mask, is_causal)
        x = operand(src)
        if self.norm_first:
            x = x + self._attended(self.norm1(x), masks, next(keys), next(keys))
            return x + self._passed(self.norm2(x), next(keys), next(keys))
        x = self.norm1(x + self._attended(x, masks, next(keys), next(keys)))
        result: Tensor = self.norm2(x + self._passed(x, next(keys), next(keys)))
        return result

    def _attended(self, x: Tensor, masks: Any, first: Source, second: Source) -> Tensor:
        mask, padding, is_causal = masks
        seen, _ = self.self_attn(
            x, x, x, padding, False, mask, is_causal=is_causal, dropout_key=first
        )
        dropped: Tensor = self.dropout1(seen, key=second)
        return dropped

    def _passed(self, x: Tensor, first: Source, second: Source) -> Tensor:
        inside = self.dropout(self.activation(self.linear1(x)), key=first)
        passed: Tensor = self.dropout2(self.linear2(inside), key=second)
        return passed


def _activation(activation: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    if callable(activation):
        return activation
    if activation not in ("relu", "gelu"):
        raise ArgumentError(
            f"TransformerEncoderLayer: activation is 'relu', 'gelu' or a function, got {activation!r}"
        )
    function: Callable[[Tensor], Tensor] = getattr(functions, activation)
    return function


class TransformerEncoder(Module):
    """A layer copied `num_layers` times, one after the other, and a norm at the end if there is one.

    >>> encoder = tfr.nn.TransformerEncoder(tfr.nn.TransformerEncoderLayer(8, 2, 16), 3)
    >>> encoder(tfr.ones((5, 1, 8))).shape, len(encoder.layers)
    ((5, 1, 8), 3)
    """

    def __init__(
        self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        self.layers = [copy.deepcopy(encoder_layer) for _ in range(num_layers)]
        self.norm = norm

    def forward(
        self,
        src: ArrayLike,
        mask: ArrayLike | None = None,
        src_key_padding_mask: ArrayLike | None = None,
        is_causal: bool = False,
        *,
        key: Source = None,
    ) -> Any:
        """Return what the last layer gives."""
        keys = keys_for(key, max(len(self.layers), 2) if isinstance(key, Key) else len(self.layers))
        for layer, own in zip(self.layers, keys, strict=False):
            src = layer(src, mask, src_key_padding_mask, is_causal, key=own)
        return src if self.norm is None else self.norm(src)
