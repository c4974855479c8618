"""The NumPy engine: every op as a NumPy call, regions of elementwise ops in cache-sized blocks.

Importing this package registers the spelling of every op that NumPy does not call by our name.
"""

from tensorframe.backends.numpy import (
    combining,
    contraction,
    convolution,
    creation,
    elementwise,
    formulas,
    fourier,
    indexing,
    linalg,
    movement,
    random,
    reduction,
    scans,
    signals,
    sorting,
    special,
)

__all__ = [
    "combining",
    "contraction",
    "convolution",
    "creation",
    "elementwise",
    "formulas",
    "fourier",
    "indexing",
    "linalg",
    "movement",
    "random",
    "reduction",
    "scans",
    "signals",
    "sorting",
    "special",
]
