"""Op rows: one row of rules per op, no passes.

Importing this package defines every row. A new elementwise op is one row in `elementwise.py`.
"""

from tensorframe.ops import contraction, creation, elementwise, indexing, library, movement, reduction

__all__ = [
    "contraction",
    "creation",
    "elementwise",
    "indexing",
    "library",
    "movement",
    "reduction",
]
