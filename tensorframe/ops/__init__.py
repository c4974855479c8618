"""Op rows: one row of rules per op, no passes.

Importing this package defines every row. A new elementwise op is one row in `elementwise.py`.
"""

from tensorframe.ops import (
    activations,
    contraction,
    convolution,
    creation,
    custom,
    elementwise,
    formulas,
    fourier,
    indexing,
    library,
    linalg,
    losses,
    movement,
    normalization,
    pooling,
    quantization,
    reduction,
    sorting,
    sparse,
)

__all__ = [
    "activations",
    "contraction",
    "convolution",
    "creation",
    "custom",
    "elementwise",
    "formulas",
    "fourier",
    "indexing",
    "library",
    "linalg",
    "losses",
    "movement",
    "normalization",
    "pooling",
    "quantization",
    "reduction",
    "sorting",
    "sparse",
]
