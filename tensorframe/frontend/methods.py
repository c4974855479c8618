"""The base class of Tensor: empty here, while its stub shows every method that is attached at import.

`methods.pyi` is written by `python -m tensorframe.testing.stubs`.
"""

from __future__ import annotations


class TensorMethods:
    """What the modules of the frontend, and the op rows, attach to Tensor."""

    __slots__ = ()
