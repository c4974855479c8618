"""Configurations and random weights of small language models, by NumPy alone: PyTorch is given the same ones."""

from __future__ import annotations

from typing import Any

import numpy as np

PROMPT = (5, 3, 60)
SIZES: dict[str, Any] = {
    "vocab_size": 61,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 300,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama 3": {**SIZES, "model_type": "llama", "rope_theta": 500000.0, "rope_scaling": LLAMA3},
    "qwen 2": {**SIZES, "model_type": "qwen2", "rms_norm_eps": 1e-6},
    "qwen 3": {**SIZES, "model_type": "qwen3", "head_dim": 16},
    "mistral": {
        **SIZES,
        "model_type": "mistral",
        "sliding_window": 7,
        "num_key_value_heads": 1,
    },
}
GPT_CONFIG: dict[str, Any] = {
    "model_type": "gpt2",
    "vocab_size": 61,
    "n_positions": 300,
    "n_embd": 48,
    "n_layer": 2,
    "n_head": 4,
}


def _random(shapes: dict[str, tuple[int, ...]], scale: float) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    found = {}
    for name, shape in shapes.items():
        values = generator.standard_normal(shape, np.float32)
        is_gain = ("norm" in name or "ln_" in name) and name.endswith("weight")
        found[name] = (1 + 0.1 * values if is_gain else scale * values).astype(np.float32)
    return found


def llama_weights(kind: str) -> dict[str, np.ndarray]:
    """The weights of a model of the Llama family, by the names that they have in files."""
    config = CONFIGS[kind]
    hidden, wide = config["hidden_size"], config["intermediate_size"]
    size = config.get("head_dim", hidden // config["num_attention_heads"])
    inner, shared = (config[name] * size for name in ("num_attention_heads", "num_key_value_heads"))
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (config["vocab_size"], hidden)
    }
    for number in range(config["num_hidden_layers"]):
        layer = f"model.layers.{number}"
        for name, rows in (("q", inner), ("k", shared), ("v", shared)):
            shapes[f"{layer}.self_attn.{name}_proj.weight"] = (rows, hidden)
            if config["model_type"] == "qwen2":
                shapes[f"{layer}.self_attn.{name}_proj.bias"] = (rows,)
        shapes[f"{layer}.self_attn.o_proj.weight"] = (hidden, inner)
        if config["model_type"] == "qwen3":
            shapes[f"{layer}.self_attn.q_norm.weight"] = (size,)
            shapes[f"{layer}.self_attn.k_norm.weight"] = (size,)
        shapes[f"{layer}.mlp.gate_proj.weight"] = (wide, hidden)
        shapes[f"{layer}.mlp.up_proj.weight"] = (wide, hidden)
        shapes[f"{layer}.mlp.down_proj.weight"] = (hidden, wide)
        shapes[f"{layer}.input_layernorm.weight"] = (hidden,)
        shapes[f"{layer}.post_attention_layernorm.weight"] = (hidden,)
    shapes["model.norm.weight"] = (hidden,)
    shapes["lm_head.weight"] = (config["vocab_size"], hidden)
    return _random(shapes, 0.3)


def gpt_weights() -> dict[str, np.ndarray]:
    """The weights of a model as GPT-2 is, by the names that they have in files."""
    width = GPT_CONFIG["n_embd"]
    shapes: dict[str, tuple[int, ...]] = {
        "wte.weight": (GPT_CONFIG["vocab_size"], width),
        "wpe.weight": (GPT_CONFIG["n_positions"], width),
    }
    for number in range(GPT_CONFIG["n_layer"]):
        layer = f"h.{number}"
        products = {
            "attn.c_attn": (width, 3 * width),
            "attn.c_proj": (width, width),
            "mlp.c_fc": (width, 4 * width),
            "mlp.c_proj": (4 * width, width),
        }
        for name, shape in products.items():
            shapes[f"{layer}.{name}.weight"] = shape
            shapes[f"{layer}.{name}.bias"] = shape[1:]
        for name in ("ln_1", "ln_2"):
            shapes[f"{layer}.{name}.weight"] = shapes[f"{layer}.{name}.bias"] = (width,)
    shapes["ln_f.weight"] = shapes["ln_f.bias"] = (width,)
    return _random(shapes, 0.3)
