"""Options of matrix products: `out=`, `dtype=`, `casting=`, `axes=` and `keepdims=`, as NumPy's functions take them.

Loaded by the first call that has one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.dtypes import as_dtype
from tensorframe.errors import ArgumentError
from tensorframe.frontend.dtypes.casting import CASTINGS, raise_unless_allowed
from tensorframe.frontend.manipulation.views import expand_dims, moveaxis
from tensorframe.frontend.operands import converted, weakly
from tensorframe.frontend.outputs import delivered
from tensorframe.frontend.parameters import choice, flag, integers, items
from tensorframe.frontend.tensor import Tensor


def with_options(
    name: str,
    function: Callable[..., Tensor],
    operands: tuple[Any, Any],
    out: Any,
    *,
    casting: Any = "same_kind",
    order: Any = "K",
    dtype: Any = None,
    subok: Any = True,
    signature: Any = None,
    axes: Any = None,
    axis: int = -1,
    keepdims: Any = False,
) -> Tensor:
    """Return a product of two operands with options; `order`, `subok` and `signature` change nothing."""
    del order, subok, signature
    choice(name, "casting", casting, CASTINGS)
    left, right = weakly(operands)
    if dtype is not None:
        target = as_dtype(dtype)
        for tensor in (left, right):
            raise_unless_allowed(name, tensor.dtype, target, casting)
        left, right = converted(left, target), converted(right, target)
    places = None
    if axes is not None:
        given = [integers(name, "axes", entry) for entry in items(name, "axes", axes)]
        if not 2 <= len(given) <= 3:
            raise ArgumentError(
                f"{name}: axes names those of both operands, and of the result or not; got {axes}"
            )
        left, right = (
            moveaxis(tensor, entry, range(-len(entry), 0))
            for tensor, entry in zip((left, right), given, strict=False)
        )
        places = given[2] if len(given) > 2 else None
    result = function(left, right, axis=axis) if name == "vecdot" else function(left, right)
    if name == "vecdot" and flag(name, "keepdims", keepdims):
        result = expand_dims(result, axis)
    if places:
        result = moveaxis(result, range(-len(places), 0), places)
    return delivered(name, result, out)
