"""Makes language_model_tokens.json, what PyTorch says in float32 after a prompt.

    python -m tests.nn.make_language_model_tokens

Llama 3 (heads that share keys, scaled rotary positions), Qwen 2 (biases), Qwen 3 (norms of queries and keys), Mistral
(a sliding window) and GPT-2, written here once more in PyTorch's words, without a cache: every token is made of the
whole sequence before it. Weights are random, by NumPy; nothing of tensorframe takes part.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from tests.nn.language_model_weights import CONFIGS, GPT_CONFIG, PROMPT, gpt_weights, llama_weights

COUNT = 200
# scores of the first and the second token are never nearer than this part of the largest one
MARGIN = 1e-4


def frequencies(config: dict[str, Any], size: int) -> torch.Tensor:
    """The rotary frequencies, as transformers' `_compute_llama3_parameters` scales them."""
    plain = 1.0 / config["rope_theta"] ** (torch.arange(0, size, 2, dtype=torch.float32) / size)
    scaling = config.get("rope_scaling")
    if not scaling:
        return plain
    old = scaling["original_max_position_embeddings"]
    low, high = old / scaling["low_freq_factor"], old / scaling["high_freq_factor"]
    result = []
    for frequency in plain.tolist():
        wave = 2 * math.pi / frequency
        if wave < high:
            result.append(frequency)
        elif wave > low:
            result.append(frequency / scaling["factor"])
        else:
            span = scaling["high_freq_factor"] - scaling["low_freq_factor"]
            smooth = (old / wave - scaling["low_freq_factor"]) / span
            result.append((1 - smooth) * frequency / scaling["factor"] + smooth * frequency)
    return torch.tensor(result, dtype=torch.float32)


def rotate_half(x: torch.Tensor) -> torch.Tensor:
    """The second half of features, negated, before the first."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def visible(length: int, window: int | None) -> torch.Tensor:
    """Which positions each one sees."""
    seen = torch.ones(length, length, dtype=torch.bool).tril()
    return seen if window is None else seen & ~torch.ones_like(seen).tril(-window)


def llama(ids: list[int], w: dict[str, torch.Tensor], config: dict[str, Any]) -> torch.Tensor:
    """The scores of the token after a sequence."""
    heads, shared = config["num_attention_heads"], config["num_key_value_heads"]
    size = config.get("head_dim") or config["hidden_size"] // heads
    eps, length = config["rms_norm_eps"], len(ids)

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.rms_norm(x, x.shape[-1:], w[f"{name}.weight"], eps)

    def linear(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, w[f"{name}.weight"], w.get(f"{name}.bias"))

    angles = torch.arange(length)[:, None] * frequencies(config, size)
    cosine, sine = (torch.cat((part, part), -1) for part in (angles.cos(), angles.sin()))
    x = w["model.embed_tokens.weight"][torch.tensor(ids)]
    for number in range(config["num_hidden_layers"]):
        layer = f"model.layers.{number}"
        h = norm(x, f"{layer}.input_layernorm")
        q, k, v = (
            linear(h, f"{layer}.self_attn.{name}_proj").view(length, -1, size) for name in "qkv"
        )
        if config["model_type"] == "qwen3":
            q, k = norm(q, f"{layer}.self_attn.q_norm"), norm(k, f"{layer}.self_attn.k_norm")
        q, k, v = (part.transpose(0, 1) for part in (q, k, v))
        q, k = (part * cosine + rotate_half(part) * sine for part in (q, k))
        k, v = (part.repeat_interleave(heads // shared, 0) for part in (k, v))
        seen = visible(length, config.get("sliding_window"))
        mixed = F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=seen)[0]
        x = x + linear(mixed.transpose(0, 1).reshape(length, -1), f"{layer}.self_attn.o_proj")
        h = norm(x, f"{layer}.post_attention_layernorm")
        gated = F.silu(linear(h, f"{layer}.mlp.gate_proj")) * linear(h, f"{layer}.mlp.up_proj")
        x = x + linear(gated, f"{layer}.mlp.down_proj")
    return linear(norm(x[-1], "model.norm"), "lm_head")


def gpt(ids: list[int], w: dict[str, torch.Tensor], config: dict[str, Any]) -> torch.Tensor:
    """The scores of the token after a sequence."""
    length, width, heads = len(ids), config["n_embd"], config["n_head"]

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, (width,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-5)

    def conv1d(x: torch.Tensor, name: str) -> torch.Tensor:
        return torch.addmm(w[f"{name}.bias"], x, w[f"{name}.weight"])

    x = w["wte.weight"][torch.tensor(ids)] + w["wpe.weight"][:length]
    for number in range(config["n_layer"]):
        layer = f"h.{number}"
        parts = conv1d(norm(x, f"{layer}.ln_1"), f"{layer}.attn.c_attn").split(width, dim=-1)
        q, k, v = (part.view(length, heads, -1).transpose(0, 1)[None] for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)[0]
        x = x + conv1d(mixed.transpose(0, 1).reshape(length, width), f"{layer}.attn.c_proj")
        wide = F.gelu(conv1d(norm(x, f"{layer}.ln_2"), f"{layer}.mlp.c_fc"), approximate="tanh")
        x = x + conv1d(wide, f"{layer}.mlp.c_proj")
    return norm(x[-1], "ln_f") @ w["wte.weight"].T


def greedy(model: Any, weights: dict[str, Any], config: dict[str, Any]) -> list[int]:
    """The likeliest tokens after the prompt, one after the other."""
    tensors = {name: torch.from_numpy(values) for name, values in weights.items()}
    ids = list(PROMPT)
    for _ in range(COUNT):
        scores = model(ids, tensors, config)
        (first, second), places = scores.topk(2)
        if first - second < MARGIN * scores.abs().max():
            raise SystemExit(f"{config}: two tokens are as likely as each other; take another seed")
        ids.append(int(places[0]))
    return ids[len(PROMPT) :]


if __name__ == "__main__":
    with torch.no_grad():
        found = {
            kind: greedy(llama, llama_weights(kind), config) for kind, config in CONFIGS.items()
        }
        found["gpt2"] = greedy(gpt, gpt_weights(), GPT_CONFIG)
    target = Path(__file__).with_name("language_model_tokens.json")
    target.write_text(json.dumps(found) + "\n")
