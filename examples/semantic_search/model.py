"""The encoder all-MiniLM-L6-v2: texts in, unit vectors out, near each other where the meanings are.

Six layers of BERT (Devlin et al. 2018, arXiv:1810.04805), distilled to a width of 384 (Wang et al.
2020, arXiv:2002.10957); the mean over a text's word pieces is its vector (Reimers and Gurevych 2019,
arXiv:1908.10084). Shapes: B texts of N pieces, as vectors of E numbers.
"""

from __future__ import annotations

from pathlib import Path

import tensorframe as tfr
from tensorframe import Tensor
from tensorframe.nn.models import BertEncoder


class Encoder:
    """Word pieces (B, N) -> unit vectors (B, E); the mask is true on pieces, false on padding."""

    def __init__(self, model: BertEncoder) -> None:
        self.model = model

    def __call__(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.model.vectors(ids, mask)

    @property
    def width(self) -> int:
        return self.model.config.hidden_size

    @property
    def device(self) -> tfr.Device:
        norm = self.model.embeddings.LayerNorm.weight
        assert norm is not None
        return norm.device


def load_encoder(folder: Path, bits: int | None = None) -> Encoder:
    """The encoder with the weights in `folder`, in 4 or 8 bits if that is asked for."""
    model = BertEncoder.from_folder(folder)
    if bits is not None:
        # integers of 8 bits are fine enough to share a scale with many others, of 4 bits with few
        tfr.nn.quantize(model, bits=bits, group=128 if bits == 8 else 32)
    return Encoder(model)
