"""What proves a backend right, ours or anybody's, and what writes the stubs."""

from __future__ import annotations

from functools import wraps
from typing import Any


def __getattr__(name: str) -> Any:
    """Return what NumPy's `testing` has by this name: it takes tensors, and programs for NumPy ask for it here."""
    import numpy as np

    if name[:2] == "__" or not hasattr(np.testing, name):
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(np.testing, name)
    return _of_arrays(value) if name.startswith("assert_") else value


def _of_arrays(check: Any) -> Any:
    """Return a check of NumPy's that is given arrays in place of tensors, of which it knows nothing."""

    @wraps(check)
    def checked(*args: Any, **options: Any) -> Any:
        from tensorframe.frontend.protocols.ufuncs import through_numpy

        return through_numpy(check, args, options)

    return checked
