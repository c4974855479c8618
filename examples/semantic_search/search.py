"""From texts to unit vectors, and from a question to the texts that lie nearest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import tensorframe as tfr
from examples.semantic_search.model import Encoder
from examples.semantic_search.tokens import batches

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class Embedder:
    """All that turns texts into vectors."""

    tokenizer: Tokenizer
    encoder: Encoder
    batch_size: int

    def __call__(self, texts: Sequence[str], *, progress: bool = False) -> tfr.Tensor:
        """The unit vectors (texts, E)."""
        from tqdm import tqdm

        vectors = np.empty((len(texts), self.encoder.width), np.float32)
        with tqdm(total=len(texts), unit=" texts", disable=not progress) as bar:
            for batch in batches(texts, self.tokenizer, self.batch_size):
                embeddings = self.encoder(tfr.asarray(batch.ids), tfr.asarray(batch.mask))
                vectors[batch.rows] = embeddings.numpy()
                bar.update(len(batch.rows))
        return tfr.asarray(vectors)


def nearest(
    questions: tfr.Tensor, texts: tfr.Tensor, count: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """For each question the cosines and rows of the `count` nearest texts, best first."""
    cosines = questions @ texts.T  # all vectors have length one
    scores, rows = tfr.compute(*tfr.topk(cosines, count))
    return scores.numpy(), rows.numpy()
