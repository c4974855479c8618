"""Files of small language models, as llama.cpp writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, quants


def write_gguf(
    path: Any, state: dict[str, np.ndarray], config: dict[str, Any], quantized: bool
) -> None:
    """A file as llama.cpp writes it: rotary features of each head as neighbours."""
    heads, shared = config["num_attention_heads"], config["num_key_value_heads"]
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(shared)
    writer.add_layer_norm_rms_eps(1e-5)
    names = {
        new: old
        for old, new in {
            "token_embd": "model.embed_tokens",
            "output_norm": "model.norm",
            "output": "lm_head",
        }.items()
    }
    parts = {
        "input_layernorm": "attn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    for name, values in state.items():
        stem = name.removesuffix(".weight")
        count = {"q_proj": heads, "k_proj": shared}.get(stem.rpartition(".")[2])
        if count:
            halves = values.reshape(count, 2, values.shape[0] // count // 2, values.shape[1])
            values = halves.swapaxes(1, 2).reshape(values.shape)
        if stem.startswith("model.layers."):
            _, _, number, inner = stem.split(".", 3)
            target = f"blk.{number}.{parts[inner]}"
        else:
            target = names[stem]
        if quantized and values.ndim == 2:
            raw = quants.quantize(values, GGMLQuantizationType.Q8_0)
            writer.add_tensor(f"{target}.weight", raw, raw_dtype=GGMLQuantizationType.Q8_0)
        else:
            writer.add_tensor(f"{target}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
