"""The sizes of the Llama family's models, as their files say them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tensorframe.errors import ArgumentError
from tensorframe.nn.models.files import positive_sizes
from tensorframe.quick_tuples import NamedTuple

_ARCHITECTURES = ("llama", "mistral", "qwen2", "qwen3")


def _unknown(kind: Any) -> ArgumentError:
    known = ", ".join(_ARCHITECTURES)
    return ArgumentError(f"Llama: the architecture is {kind!r}", suggestions=(f"one of {known}",))


class LlamaConfig(NamedTuple):
    """The sizes of a model, as its `config.json` says them.

    Names are those of the Transformers library, so that files made for it can be read.
    """

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
        positive_sizes("Llama", self._asdict(), self._fields[:8])
        if self.sliding_window is not None:
            positive_sizes("Llama", self._asdict(), ("sliding_window",))
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


def gguf_config(metadata: Mapping[str, Any], tensors: Mapping[str, Any]) -> LlamaConfig:
    """Return the sizes that a GGUF file says; ArgumentError for another architecture or missing ones."""
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
