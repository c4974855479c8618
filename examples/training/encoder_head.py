"""A head on top of a sentence encoder learns which module of NumPy a function belongs to, from one sentence about it.

The encoder is all-MiniLM-L6-v2, which `tfr.nn.models.BertEncoder` reads as it was published. It is frozen:
sentences become vectors once, and the head learns from half of these in a second.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tensorframe as tfr
from examples.semantic_search.corpus import numpy_functions
from examples.semantic_search.tokens import batches, load_tokenizer
from examples.semantic_search.wheel import MissingModelError, model_folder
from tensorframe import nn
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tensorframe.nn.models import BertEncoder

MODULES = (
    "numpy.fft",
    "numpy.lib.recfunctions",
    "numpy.linalg",
    "numpy.polynomial.polynomial",
    "numpy.random",
    "numpy.strings",
)
STEPS = 300


class Head(nn.Module):
    """Scores of the modules for the vectors of sentences."""

    def __init__(self, width: int, classes: int, key: tfr.random.Key) -> None:
        first, second = tfr.random.split(key)
        self.hidden = nn.Linear(width, 64, key=first)
        self.dropout = nn.Dropout(0.2)
        self.scores = nn.Linear(64, classes, key=second)

    def forward(self, vectors: tfr.Tensor) -> tfr.Tensor:
        """Return a score for each module."""
        scores: tfr.Tensor = self.scores(self.dropout(tfr.gelu(self.hidden(vectors))))
        return scores


class Model(nn.Module):
    """An encoder that stays as it is, and a head that learns."""

    def __init__(self, encoder: BertEncoder, head: Head) -> None:
        self.encoder = encoder.eval().freeze()
        self.head = head

    def forward(self, ids: tfr.Tensor, mask: tfr.Tensor) -> tfr.Tensor:
        """Return a score for each module and text."""
        scores: tfr.Tensor = self.head(self.encoder.vectors(ids, mask))
        return scores


class Sentences(NamedTuple):
    """Vectors of sentences, and the number of the module that each is about."""

    vectors: tfr.Tensor
    modules: tfr.Tensor


def embedded(encoder: BertEncoder, folder: Path, size: int = 64) -> tuple[Sentences, Sentences]:
    """Return the sentences to learn from and those held out, as vectors."""
    entries = numpy_functions(MODULES)
    numbers = np.array([MODULES.index(entry.name.rpartition(".")[0]) for entry in entries])
    width = encoder.config.hidden_size
    vectors = np.empty((len(entries), width), np.float32)
    texts = [entry.summary for entry in entries]
    for batch in batches(texts, load_tokenizer(folder), size):
        embeddings = encoder.vectors(tfr.asarray(batch.ids), tfr.asarray(batch.mask))
        vectors[batch.rows] = embeddings.numpy()
    order = np.random.default_rng(0).permutation(len(entries))
    halves = np.array_split(order, 2)
    known, held_out = (
        Sentences(tfr.asarray(vectors[rows]), tfr.asarray(numbers[rows].astype(np.int32)))
        for rows in halves
    )
    return known, held_out


def loss(head: Head, sentences: Sentences) -> tfr.Tensor:
    """Return how surprised a head is by the modules."""
    return F.cross_entropy(head(sentences.vectors), sentences.modules, label_smoothing=0.1)


@tfr.jit(updates=("head", "optimizer"))
def step(head: Head, optimizer: tfr.optim.Optimizer, sentences: Sentences) -> tfr.Tensor:
    """Learn from all sentences, and return the loss before that."""
    value: tfr.Tensor
    value, gradients = tfr.value_and_grad(loss)(head, sentences)
    optimizer.update(head, gradients)
    return value


def train(head: Head, sentences: Sentences, steps: int = STEPS) -> list[float]:
    """Let a head learn, and return its losses."""
    optimizer = tfr.optim.AdamW(tfr.optim.schedules.cosine(3e-3, steps), weight_decay=0.1)
    optimizer.init(head)
    return [value.item() for value in [step(head, optimizer, sentences) for _ in range(steps)]]


def right(head: Head, sentences: Sentences) -> float:
    """Return the share of sentences that a head tells right."""
    told = tfr.argmax(head.eval()(sentences.vectors), axis=1)
    head.train()
    return float(tfr.mean((told == sentences.modules).astype(tfr.float32)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Learn, and show how well the sentences that were held out are told."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS)
    steps = parser.parse_args(arguments).steps
    try:
        folder = model_folder()
    except MissingModelError as error:
        print(error, file=sys.stderr)
        return 1
    tfr.random.seed(0)
    encoder = BertEncoder.from_folder(folder)
    known, held_out = embedded(encoder, folder)
    model = Model(encoder, Head(known.vectors.shape[1], len(MODULES), tfr.random.key(0)))
    print(nn.summary(model, tfr.zeros((1, 16), dtype=tfr.int32), tfr.ones((1, 16), dtype=bool)))
    before = right(model.head, held_out)
    losses = train(model.head, known, steps)
    print(f"\nloss, from {losses[0]:.2f} to {losses[-1]:.2f} in {len(losses)} steps")
    print(
        f"of {len(held_out.modules)} sentences that it never saw the head tells {before:.0%} right before, "
        f"and {right(model.head, held_out):.0%} after"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
