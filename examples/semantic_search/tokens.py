"""From texts to batches of word-piece numbers, each batch padded to its own length only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from examples.semantic_search.wheel import LIMITS, TOKENIZER

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class Batch:
    """Some of the texts: their rows, and (texts, pieces) numbers, with the mask true on pieces."""

    rows: list[int]
    ids: npt.NDArray[Any]
    mask: npt.NDArray[Any]


def load_tokenizer(folder: Path) -> Tokenizer:
    """The model's tokenizer; it cuts a text where the model was trained to read no further."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.enable_truncation(json.loads((folder / LIMITS).read_text())["max_seq_length"])
    tokenizer.no_padding()
    return tokenizer


def batches(texts: Sequence[str], tokenizer: Tokenizer, size: int) -> Iterator[Batch]:
    """All texts, `size` at a time and the longest first, so that neighbours need little padding."""
    pieces = [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
    order = sorted(range(len(texts)), key=lambda row: -len(pieces[row]))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        yield padded(rows, [pieces[row] for row in rows])


def padded(rows: list[int], pieces: Sequence[Sequence[int]]) -> Batch:
    """The batch of these texts, as wide as the longest of them."""
    lengths = np.array([len(ids) for ids in pieces])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.zeros(mask.shape, np.int64)  # 0 is the padding's own number
    ids[mask] = np.concatenate(pieces)
    return Batch(rows, ids, mask)
