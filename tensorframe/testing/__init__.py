"""What proves a backend right, ours or anybody's, and what writes the stubs."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Return what NumPy's `testing` has by this name: it takes tensors, and programs for NumPy ask for it here."""
    import numpy as np

    if name[:2] == "__" or not hasattr(np.testing, name):
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(np.testing, name)
