"""Files of models: configurations, weights by name, quantised matrices in their places."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tensorframe.errors import ArgumentError, FileFormatError, MissingFileError, ShapeError
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn.module import Module
from tensorframe.nn.quantization import QuantizedTensor

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


def read_folder(
    name: str, folder: str | Path, device: OnDevice
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the configuration and the weights of a folder with `config.json` and safetensors files.

    Weights are read when they are needed. MissingFileError where a file is not there, FileFormatError for a
    configuration that is no mapping.
    """
    from tensorframe.frontend.files.loading import load

    place = Path(folder)
    path = place / "config.json"
    if not path.is_file():
        raise MissingFileError(f"{name}: {place} has no config.json")
    try:
        config = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise FileFormatError(f"{name}: {path} is no JSON: {error}") from error
    if not isinstance(config, dict):
        raise FileFormatError(f"{name}: {path} has no mapping of sizes")
    index = place / "model.safetensors.index.json"
    return config, load(index if index.exists() else place / "model.safetensors", device=device)


def positive_sizes(name: str, sizes: Mapping[str, Any], fields: Sequence[str]) -> None:
    """Raise ArgumentError for sizes that are no positive integers."""
    for field in fields:
        size = sizes[field]
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ArgumentError(f"{name}: {field} is a positive integer, got {size!r}")


def place_quantized(model: Module, state: dict[str, Any]) -> None:
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


def renamed(tensors: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
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
