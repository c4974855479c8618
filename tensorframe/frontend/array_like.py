"""Types for annotations: what functions take where they say tensor or shape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from tensorframe.frontend.tensor import Tensor


class SupportsArray(Protocol):
    """Data that NumPy reads: columns of tables, images, arrays of other libraries."""

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray[Any, Any]:
        """Return the data as an array."""


class SupportsDLPack(Protocol):
    """Arrays of other libraries whose memory can be shared."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the memory in a capsule."""


ArrayLike = (
    Tensor
    | np.ndarray[Any, Any]
    | np.generic
    | bool
    | int
    | float
    | complex
    | list[Any]
    | tuple[Any, ...]
    | range
    | SupportsArray
    | SupportsDLPack
)
ShapeLike = int | Iterable[int]
