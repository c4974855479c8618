"""Llama and its relatives: Llama 2 and 3, Mistral, Qwen 2 and 3, by their configuration and names in files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from tensorframe.dtypes import FLOAT, float32, int32
from tensorframe.errors import ArgumentError, ShapeError
from tensorframe.frontend.conversion.convert import OnDevice, asarray
from tensorframe.frontend.creation.ranges import counted
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.manipulation.joining import concat, stack
from tensorframe.frontend.operands import permuted, reshaped
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import functional
from tensorframe.nn.cache import KVCache, Stored
from tensorframe.nn.generation import CausalModel
from tensorframe.nn.layers.containers import ModuleList
from tensorframe.nn.layers.embedding import Embedding
from tensorframe.nn.layers.keys import keys_for
from tensorframe.nn.layers.linear import Linear
from tensorframe.nn.layers.normalization import RMSNorm
from tensorframe.nn.module import Buffer, Module
from tensorframe.nn.quantization import QuantizedTensor
from tensorframe.ops.elementwise import COS, GREATER, LESS_EQUAL, LOGICAL_AND, SIN, SUBTRACT

__all__ = ["Llama", "LlamaConfig"]

_GGUF_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_ARCHITECTURES = ("llama", "mistral", "qwen2", "qwen3")


def _unknown(kind: Any) -> ArgumentError:
    known = ", ".join(_ARCHITECTURES)
    return ArgumentError(f"Llama: the architecture is {kind!r}", suggestions=(f"one of {known}",))


class LlamaConfig(NamedTuple):
    """The sizes of a model, as its `config.json` says them."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    rope_scaling: Mapping[str, Any] | None = None
    sliding_window: int | None = None
    attention_bias: bool = False
    qk_norm: bool = False
    tie_word_embeddings: bool = False
    interleaved: bool = False  # pairs of rotary features are neighbours

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> LlamaConfig:
        """Return the sizes that a `config.json` has; ArgumentError for another architecture or missing sizes."""
        kind = config.get("model_type", "llama")
        if kind not in _ARCHITECTURES:
            raise _unknown(kind)
        needed = (
            "vocab_size",
            "hidden_size",
            "intermediate_size",
            "num_hidden_layers",
            "num_attention_heads",
        )
        missing = [name for name in needed if name not in config]
        if missing:
            raise ArgumentError(f"Llama: the configuration lacks {', '.join(missing)}")
        heads = config["num_attention_heads"]
        known = {name: config[name] for name in cls._fields if config.get(name) is not None}
        known.setdefault("num_key_value_heads", heads)
        known.setdefault("head_dim", config["hidden_size"] // max(heads, 1))
        if kind == "qwen2":
            known["attention_bias"] = True
        known["qk_norm"] = kind == "qwen3"
        if not config.get("use_sliding_window", True):
            known["sliding_window"] = None
        return cls(**known)

    def check(self) -> None:
        """Raise ArgumentError for sizes that no model has."""
        for name in self._fields[:8]:
            size = getattr(self, name)
            if not isinstance(size, int) or size < 1:
                raise ArgumentError(f"Llama: {name} is a positive integer, got {size!r}")
        heads, shared = self.num_attention_heads, self.num_key_value_heads
        if heads % shared:
            raise ArgumentError(
                f"Llama: {heads} heads of queries cannot share {shared} of keys evenly"
            )
        if self.head_dim % 2:
            raise ArgumentError(
                f"Llama: rotary positions turn pairs of features, and heads have {self.head_dim}"
            )

    def frequencies(self) -> np.ndarray[Any, Any]:
        """Return the rotary frequencies: the powers of `rope_theta`, scaled for long contexts.

        Source of the scaling: the models' `config.json`, "rope_type": "llama3" and "linear".
        """
        plain = self.rope_theta ** (-np.arange(0, self.head_dim, 2) / self.head_dim)
        scaling = self.rope_scaling
        if not scaling:
            return np.asarray(plain)
        kind = scaling.get("rope_type", scaling.get("type"))
        if kind == "linear":
            return np.asarray(plain / scaling["factor"])
        if kind != "llama3":
            raise ArgumentError(
                f"Llama: rotary positions are scaled by {kind!r}; known are 'linear' and 'llama3'"
            )
        factor, low, high = (
            scaling[name] for name in ("factor", "low_freq_factor", "high_freq_factor")
        )
        turns = scaling["original_max_position_embeddings"] * plain / (2 * math.pi)
        share = np.clip((turns - low) / (high - low), 0, 1)
        return np.asarray(plain * (share + (1 - share) / factor))


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

    def forward(self, x: Tensor, seen: _Seen, layer: int) -> Tensor:
        """Return the averages of values for `x` (batch, length, hidden_size)."""
        config = self._config
        batch, length, _ = x.shape

        def heads(projected: Tensor) -> Tensor:
            count = projected.shape[-1] // config.head_dim
            return reshaped(projected, (batch, length, count, config.head_dim))

        q, k, v = heads(self.q_proj(x)), heads(self.k_proj(x)), heads(self.v_proj(x))
        if config.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k = seen.turned(q), seen.turned(k)
        if seen.cache is None:
            keys, values = permuted(k, (0, 2, 1, 3)), permuted(v, (0, 2, 1, 3))
        else:
            seen.cache.write(layer, k, v, seen.rows, seen.positions)
            keys, values = seen.cache.read(layer, seen.reach)
        found = functional.scaled_dot_product_attention(
            permuted(q, (0, 2, 1, 3)), keys, values, seen.mask, enable_gqa=True
        )
        inner = config.num_attention_heads * config.head_dim
        mixed: Tensor = self.o_proj(reshaped(permuted(found, (0, 2, 1, 3)), (batch, length, inner)))
        return mixed


class _Seen(NamedTuple):
    """What all layers of a call share: where its tokens are, their angles, and which positions they see."""

    cache: KVCache | Stored | None
    rows: Tensor
    positions: Tensor
    reach: int
    mask: Tensor
    cosine: Tensor
    sine: Tensor
    interleaved: bool

    def turned(self, x: Tensor) -> Tensor:
        """Return features (batch, length, heads, head_dim) turned by their positions: see `functional.rope`."""
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
        features: Tensor = self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))
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

    def forward(self, x: Tensor, seen: _Seen, number: int) -> Tensor:
        """Return `x` with what attention and network add to it."""
        x = x + self.self_attn(self.input_layernorm(x), seen, number)
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
        dtype: Any = None,
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

    def new_cache(self, batch: int, capacity: int) -> KVCache:
        """Return an empty cache for so many sequences, where the weights are."""
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
        return KVCache(*sizes, device=norm.device, dtype=dtype)

    def forward(
        self,
        ids: Any,
        cache: KVCache | Stored | None = None,
        offsets: Any = None,
        reach: int = 0,
        last: Any = None,
    ) -> Tensor:
        """Return logits (batch, length, vocab_size) of token numbers (batch, length).

        With a `cache` keys and values are written from `offsets` (batch,) on, and the first `reach` positions are seen.
        With `last` (batch,) the result has the logits after these tokens alone: (batch, 1, vocab_size).
        """
        tokens = asarray(ids)
        if tokens.ndim != 2:
            raise ShapeError(f"Llama: token numbers have shape (batch, length), got {tokens.shape}")
        x = self.model.embed_tokens(tokens)
        seen = self._seen(tokens, cache, offsets, reach)
        for number, layer in enumerate(self.model.layers):
            x = layer(x, seen, number)
        x = self.model.norm(x)
        if last is not None:
            rows = counted(tokens.shape[0], 0, 1, int32, x.device)
            x = x[rows, last][:, None]
        logits: Tensor = self.lm_head(x)
        return logits

    def _seen(
        self, tokens: Tensor, cache: KVCache | Stored | None, offsets: Any, reach: int
    ) -> _Seen:
        config = self._config
        batch, length = tokens.shape
        device = tokens.device
        steps = reshaped(counted(length, 0, 1, int32, device), (1, length))
        positions = steps if offsets is None else steps + reshaped(asarray(offsets), (batch, 1))
        columns = counted(reach if cache is not None else length, 0, 1, int32, device)
        rows = reshaped(positions, (positions.shape[0], 1, length, 1))
        mask = apply(LESS_EQUAL, columns, rows)
        if config.sliding_window is not None:
            first = apply(SUBTRACT, rows, config.sliding_window)
            mask = apply(LOGICAL_AND, mask, apply(GREATER, columns, first))
        places = reshaped(positions, (positions.shape[0], length, 1, 1)).astype(float32)
        angles = places * self.frequencies
        lines = reshaped(counted(batch, 0, 1, int32, device), (batch, 1))
        cosine, sine = apply(COS, angles), apply(SIN, angles)
        return _Seen(cache, lines, positions, reach, mask, cosine, sine, config.interleaved)

    @classmethod
    def from_folder(cls, folder: str | Path, device: OnDevice = None) -> Self:
        """Return the model of a folder with `config.json` and safetensors files; weights are read when needed."""
        from tensorframe.frontend.files.loading import load

        place = Path(folder)
        config = json.loads((place / "config.json").read_text("utf-8"))
        index = place / "model.safetensors.index.json"
        state = load(index if index.exists() else place / "model.safetensors", device=device)
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
        config = _gguf_config(metadata, tensors)
        return cls._filled(config, dict(_renamed(tensors)), device)

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
            state["lm_head.weight"] = state.get("model.embed_tokens.weight")
        factors = state.pop("rope_freqs.weight", None)
        if factors is not None:
            plain = config.rope_theta ** (-np.arange(0, config.head_dim, 2) / config.head_dim)
            table = asarray((plain / factors.numpy()).astype(np.float32), device=device)
            model.frequencies = Buffer(table, persistent=False)
        _place_quantized(model, state)
        model.load_state_dict(state)
        return model


def _place_quantized(model: Llama, state: dict[str, Any]) -> None:
    """Put quantised matrices in their places, and their parts in that of their names."""
    modules = dict(model.named_modules())
    for name in [name for name, part in state.items() if isinstance(part, QuantizedTensor)]:
        matrix = state.pop(name)
        owner, _, attribute = name.rpartition(".")
        layer = modules.get(owner)
        weight = None if layer is None else layer.__dict__.get(attribute)
        if not isinstance(weight, Tensor) or weight.shape != matrix.shape:
            wanted = "no such weight" if weight is None else f"a weight of shape {weight.shape}"
            raise ShapeError(f"Llama: {name} has shape {matrix.shape}, and the model has {wanted}")
        setattr(layer, attribute, matrix)
        for part, tensor in matrix.state_dict().items():
            state[f"{name}.{part}"] = tensor


def _renamed(tensors: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield tensors of a GGUF file by the names that they have in safetensors files."""
    for name, tensor in tensors.items():
        *before, last = name.split(".")
        prefix = ""
        if before and before[0] == "blk":
            prefix, before = f"model.layers.{before[1]}.", before[2:]
        inner = ".".join(before)
        if inner in _GGUF_NAMES:
            yield f"{prefix}{_GGUF_NAMES[inner]}.{last}", tensor
        elif name == "rope_freqs.weight":
            yield name, tensor


def _gguf_config(metadata: Mapping[str, Any], tensors: Mapping[str, Any]) -> LlamaConfig:
    kind = metadata.get("general.architecture")
    if kind not in _ARCHITECTURES:
        raise _unknown(kind)

    def said(name: str, otherwise: Any = None) -> Any:
        value = metadata.get(f"{kind}.{name}", otherwise)
        if value is None:
            raise ArgumentError(f"Llama: the file's metadata lacks {kind}.{name}")
        return value

    heads, size = said("attention.head_count"), said("embedding_length")
    words = tensors.get("token_embd.weight")
    if words is None:
        raise ArgumentError("Llama: the file has no token_embd.weight")
    return LlamaConfig(
        vocab_size=words.shape[0],
        hidden_size=size,
        intermediate_size=said("feed_forward_length"),
        num_hidden_layers=said("block_count"),
        num_attention_heads=heads,
        num_key_value_heads=said("attention.head_count_kv", heads),
        head_dim=said("attention.key_length", size // max(heads, 1)),
        max_position_embeddings=said("context_length"),
        rms_norm_eps=said("attention.layer_norm_rms_epsilon"),
        rope_theta=said("rope.freq_base", 10000.0),
        sliding_window=metadata.get(f"{kind}.attention.sliding_window"),
        qk_norm="blk.0.attn_q_norm.weight" in tensors,
        interleaved=kind == "llama",
    )
