"""Llama and its relatives: Llama 2 and 3, Mistral, Qwen 2 and 3, by their configuration and names in files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from tensorframe.dtypes import FLOAT, DTypeLike, float32
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice, asarray
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.manipulation.joining import concat, stack
from tensorframe.frontend.operands import expanded, reshaped
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import functional
from tensorframe.nn.cache import BLOCK, KVCache, Stored
from tensorframe.nn.generation import CausalModel
from tensorframe.nn.layers.containers import ModuleList
from tensorframe.nn.layers.embedding import Embedding
from tensorframe.nn.layers.keys import keys_for
from tensorframe.nn.layers.linear import Linear
from tensorframe.nn.layers.normalization import RMSNorm
from tensorframe.nn.models.decoding import Seen, after, apart, checked, joined, look
from tensorframe.nn.models.files import place_quantized, read_folder, renamed
from tensorframe.nn.models.llama_config import LlamaConfig, gguf_config
from tensorframe.nn.module import Buffer, Module
from tensorframe.ops.elementwise import COS, SIN
from tensorframe.quick_tuples import NamedTuple

__all__ = ["Llama"]


class Attention(Module):
    """Attention of rotated queries and keys, of which several heads of queries share one."""

    def __init__(self, config: LlamaConfig, device: OnDevice, dtype: Any, key: Source) -> None:
        self._config = config
        keys = keys_for(key, 4)
        size, inner = config.hidden_size, config.num_attention_heads * config.head_dim
        shared = config.num_key_value_heads * config.head_dim
        made = {"device": device, "dtype": dtype}
        self.q_proj = Linear(size, inner, config.attention_bias, key=next(keys), **made)
        self.k_proj = Linear(size, shared, config.attention_bias, key=next(keys), **made)
        self.v_proj = Linear(size, shared, config.attention_bias, key=next(keys), **made)
        self.o_proj = Linear(inner, size, False, key=next(keys), **made)
        if config.qk_norm:
            self.q_norm = RMSNorm(config.head_dim, config.rms_norm_eps, **made)
            self.k_norm = RMSNorm(config.head_dim, config.rms_norm_eps, **made)

    def forward(self, x: Tensor, seen: Seen, angles: _Angles, layer: int) -> Tensor:
        """Return the averages of values for `x` (batch, length, hidden_size)."""
        config = self._config
        heads, shared = config.num_attention_heads, config.num_key_value_heads
        features = joined(x, (self.q_proj, self.k_proj, self.v_proj), config.head_dim)
        turning, values = features[:, :, : heads + shared], features[:, :, heads + shared :]
        if config.qk_norm:
            # all heads at once: what is rounded of half precision is rounded before it is weighted, as in the original
            normal = functional.rms_norm(turning, config.head_dim, eps=config.rms_norm_eps)
            weights = []
            for norm, count in ((self.q_norm, heads), (self.k_norm, shared)):
                assert norm.weight is not None
                weights.append(expanded(norm.weight, (count, config.head_dim)))
            turning = normal * concat(weights, axis=0)
        features = concat([angles.turned(turning), values], axis=2)
        mixed = seen.attended(layer, features[:, :, :heads], features[:, :, heads:])
        result: Tensor = self.o_proj(mixed)
        return result


class _Angles(NamedTuple):
    """By how much pairs of features are turned at each position: see `functional.rope`."""

    cosine: Tensor
    sine: Tensor
    interleaved: bool

    def turned(self, x: Tensor) -> Tensor:
        """Return features (batch, length, heads, head_dim) turned by their positions."""
        half = x.shape[-1] // 2
        if self.interleaved:
            first, second = x[..., 0::2], x[..., 1::2]
        else:
            first, second = x[..., :half], x[..., half:]
        turned = [
            first * self.cosine - second * self.sine,
            second * self.cosine + first * self.sine,
        ]
        if self.interleaved:
            return reshaped(stack(turned, axis=-1), x.shape)
        return concat(turned, axis=-1)


class GatedMLP(Module):
    """`down(silu(gate(x)) * up(x))`."""

    def __init__(self, config: LlamaConfig, device: OnDevice, dtype: Any, key: Source) -> None:
        keys = keys_for(key, 3)
        size, inner = config.hidden_size, config.intermediate_size
        made = {"device": device, "dtype": dtype}
        self.gate_proj = Linear(size, inner, False, key=next(keys), **made)
        self.up_proj = Linear(size, inner, False, key=next(keys), **made)
        self.down_proj = Linear(inner, size, False, key=next(keys), **made)

    def forward(self, x: Tensor) -> Tensor:
        """Return the gated features, of the shape of `x`."""
        gate, up = apart(x, (self.gate_proj, self.up_proj))
        features: Tensor = self.down_proj(functional.silu(gate) * up)
        return features


class Layer(Module):
    """Attention and a gated network, each on what has been normalised, and added to it."""

    def __init__(self, config: LlamaConfig, device: OnDevice, dtype: Any, key: Source) -> None:
        keys = keys_for(key, 2)
        made = {"device": device, "dtype": dtype}
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps, **made)
        self.self_attn = Attention(config, device, dtype, next(keys))
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps, **made)
        self.mlp = GatedMLP(config, device, dtype, next(keys))

    def forward(self, x: Tensor, seen: Seen, angles: _Angles, number: int) -> Tensor:
        """Return `x` with what attention and network add to it."""
        x = x + self.self_attn(self.input_layernorm(x), seen, angles, number)
        result: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return result


class Body(Module):
    """All but the last product: embeddings, layers, and a norm."""

    def __init__(self, config: LlamaConfig, device: OnDevice, dtype: Any, key: Source) -> None:
        keys = keys_for(key, config.num_hidden_layers + 1)
        made = {"device": device, "dtype": dtype}
        self.embed_tokens = Embedding(config.vocab_size, config.hidden_size, key=next(keys), **made)
        layers = [Layer(config, device, dtype, next(keys)) for _ in range(config.num_hidden_layers)]
        self.layers = ModuleList(layers)
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps, **made)


class Llama(CausalModel):
    """A causal language model of the Llama family: Llama 2 and 3, Mistral, Qwen 2 and 3.

    `config` is a mapping as in the model's `config.json`. Parameters have the names that they have in its safetensors
    files, so `load_state_dict` takes what `tfr.load` gives; `from_folder` reads both, `from_gguf` a GGUF file.

    ArgumentError for another architecture, missing sizes, heads that do not divide, or an odd rotary size.

    >>> model = tfr.nn.models.Llama({"vocab_size": 32, "hidden_size": 64, "intermediate_size": 96,
    ...     "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}, key=tfr.random.key(0))
    >>> model(tfr.asarray([[1, 2, 3]])).shape
    (1, 3, 32)
    >>> len(list(model.generate([1, 2, 3], max_tokens=4)))
    4
    """

    def __init__(
        self,
        config: Mapping[str, Any] | LlamaConfig,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
        *,
        key: Source = None,
    ) -> None:
        self._config = config if isinstance(config, LlamaConfig) else LlamaConfig.of(config)
        self._config.check()
        keys = keys_for(key, 2)
        self.model = Body(self._config, device, dtype, next(keys))
        sizes = self._config.hidden_size, self._config.vocab_size
        self.lm_head = Linear(*sizes, bias=False, device=device, dtype=dtype, key=next(keys))
        if self._config.tie_word_embeddings:
            self.lm_head.weight = self.model.embed_tokens.weight
        table = asarray(self._config.frequencies().astype(np.float32), device=device)
        self.frequencies: Any = Buffer(table, persistent=False)

    @property
    def config(self) -> LlamaConfig:
        """The sizes."""
        return self._config

    @property
    def context(self) -> int:
        """The most positions that a sequence may have."""
        return self._config.max_position_embeddings

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return self._config.vocab_size

    def new_cache(self, batch: int, capacity: int, block: int = BLOCK) -> KVCache:
        """Return an empty cache for so many sequences, where the weights are; a step adds up to `block` positions."""
        config, norm = self._config, self.model.norm.weight
        assert norm is not None
        sizes = (
            config.num_hidden_layers,
            batch,
            config.num_key_value_heads,
            config.head_dim,
            capacity,
        )
        dtype = norm.dtype if norm.dtype in FLOAT else float32
        window = config.sliding_window
        return KVCache(*sizes, device=norm.device, dtype=dtype, window=window, block=block)

    def forward(
        self,
        ids: ArrayLike,
        cache: KVCache | Stored | None = None,
        offsets: ArrayLike | None = None,
        reach: int = 0,
        last: ArrayLike | None = None,
    ) -> Tensor:
        """Return logits (batch, length, vocab_size) of token numbers (batch, length).

        With a `cache` keys and values are written from `offsets` (batch,) on, and the first `reach` positions are seen.
        With `last` (batch,) the result has the logits after these tokens alone: (batch, 1, vocab_size).
        """
        tokens = checked("Llama", ids)
        x = self.model.embed_tokens(tokens)
        seen = look(tokens, cache, offsets, reach, self._config.sliding_window)
        angles = self._angles(seen.positions)
        for number, layer in enumerate(self.model.layers):
            x = layer(x, seen, angles, number)
        logits: Tensor = self.lm_head(after(self.model.norm(x), last))
        return logits

    def _angles(self, positions: Tensor) -> _Angles:
        """Return the angles of positions (batch, length), for all heads."""
        angles = reshaped(positions, (*positions.shape, 1, 1)).astype(float32) * self.frequencies
        return _Angles(apply(COS, angles), apply(SIN, angles), self._config.interleaved)

    @classmethod
    def from_folder(cls, folder: str | Path, device: OnDevice = None) -> Self:
        """Return the model of a folder with `config.json` and safetensors files; weights are read when needed."""
        config, state = read_folder("Llama", folder, device)
        return cls._filled(LlamaConfig.of(config), state, device)

    @classmethod
    def from_gguf(
        cls, path: str | Path, device: OnDevice = None, *, quantized: bool = True
    ) -> Self:
        """Return the model of a GGUF file; matrices of Q4_0 and Q8_0 stay as they are unless `quantized` is False."""
        from tensorframe.frontend.files.loading import load, load_metadata
        from tensorframe.nn.quantization import load as load_quantized

        metadata = load_metadata(path)
        tensors = (load_quantized if quantized else load)(path, device=device)
        config = gguf_config(metadata, tensors)
        return cls._filled(config, dict(renamed(tensors)), device)

    @classmethod
    def _filled(cls, config: LlamaConfig, state: dict[str, Any], device: OnDevice) -> Self:
        """Return a model with these weights: initial ones are never computed."""
        config = config._replace(
            tie_word_embeddings=config.tie_word_embeddings or "lm_head.weight" not in state,
            attention_bias="model.layers.0.self_attn.q_proj.bias" in state,
        )
        model = cls(config, device)
        if config.tie_word_embeddings:
            state = {name: part for name, part in state.items() if name != "lm_head.weight"}
            if "model.embed_tokens.weight" in state:
                state["lm_head.weight"] = state["model.embed_tokens.weight"]
        factors = state.pop("rope_freqs.weight", None)
        if factors is not None:
            plain = config.rope_theta ** (-np.arange(0, config.head_dim, 2) / config.head_dim)
            table = asarray((plain / factors.numpy()).astype(np.float32), device=device)
            model.frequencies = Buffer(table, persistent=False)
        place_quantized(model, state)
        model.load_state_dict(state)
        return model
