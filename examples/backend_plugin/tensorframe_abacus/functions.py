"""Functions: the operations that the device has, by the names of tensorframe's rows.

Each takes the operands and the attributes of an operation. What is not here runs on the cpu, and the plan says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

# rows that NumPy has a function of the same name for
_SAME = (
    "add subtract multiply divide negative positive abs square sign floor ceil trunc maximum minimum copysign "
    "sqrt exp expm1 log log1p log2 log10 sin cos tan sinh cosh tanh hypot logaddexp asin acos atan "
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not "
    "bitwise_and bitwise_or bitwise_xor bitwise_invert isnan isinf isfinite signbit where"
)


def _slice(x: Array, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> Array:
    """Every step-th element from a start on; a step may be negative, and end before the first element."""
    places = [
        start + step * np.arange(size)
        for start, size, step in zip(starts, sizes, steps, strict=True)
    ]
    return x[np.ix_(*places)] if places else x


FUNCTIONS: dict[str, Function] = {
    **{name: getattr(np, name) for name in _SAME.split()},
    "cast": lambda x, dtype: x.astype(dtype),
    "reshape": np.reshape,
    "permute": np.transpose,
    "expand": np.broadcast_to,
    "slice": _slice,
    "concat": lambda *parts: np.concatenate(parts[:-1], axis=parts[-1]),
    "max": lambda x, axes, keepdims: np.max(x, axis=axes, keepdims=keepdims),
    "min": lambda x, axes, keepdims: np.min(x, axis=axes, keepdims=keepdims),
    "any": lambda x, axes, keepdims: np.any(x, axis=axes, keepdims=keepdims),
    "all": lambda x, axes, keepdims: np.all(x, axis=axes, keepdims=keepdims),
    # in the tensor's own dtype, which NumPy would widen
    "sum": lambda x, axes, keepdims: np.sum(x, axis=axes, keepdims=keepdims, dtype=x.dtype),
    "prod": lambda x, axes, keepdims: np.prod(x, axis=axes, keepdims=keepdims, dtype=x.dtype),
}
