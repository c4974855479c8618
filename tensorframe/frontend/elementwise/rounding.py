"""Rounding to decimal places, and towards zero."""

from __future__ import annotations

from typing import Any

from tensorframe import dtypes
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import unary
from tensorframe.frontend.operands import converted, operand
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import integer
from tensorframe.frontend.tensor import Tensor
from tensorframe.ops.elementwise import ROUND

__all__ = ["around", "round"]


def round(a: ArrayLike, decimals: int = 0, out: Output = None) -> Tensor:
    """Nearest integers; halves go to the even one. Or the nearest numbers of `decimals` decimal places.

    Scaled, rounded and scaled back, as in NumPy, so a last binary digit may be off. Negative `decimals` round to tens,
    hundreds and so on. Integers stay integers, bools become floats. `out` receives the result.

    >>> tfr.round(tfr.asarray([0.5, 1.5, -2.5])).tolist()
    [0.0, 2.0, -2.0]
    >>> tfr.round(tfr.asarray([125, 3141]), -1).tolist()
    [120, 3140]
    """
    if decimals == 0 and out is None and type(a) is Tensor and a.node.dtype not in dtypes.BOOL:
        return unary(ROUND, a)
    return delivered("round", _rounded(operand(a), integer("round", "decimals", decimals)), out)


around = round


def _rounded(tensor: Tensor, decimals: int) -> Tensor:
    if tensor.dtype in dtypes.BOOL:
        tensor = converted(tensor, dtypes.float_of(tensor.dtype))
    if decimals == 0 or (decimals > 0 and tensor.dtype in dtypes.BITWISE):
        return unary(ROUND, tensor)
    scale = 10.0 ** abs(decimals)
    wide: Any = tensor if tensor.dtype in dtypes.FLOATING else converted(tensor, dtypes.float64)
    if decimals > 0:
        return converted(unary(ROUND, wide * scale) / scale, tensor.dtype)
    return converted(unary(ROUND, wide / scale) * scale, tensor.dtype)
