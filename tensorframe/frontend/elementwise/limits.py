"""Limits: elements kept within bounds, and NaN and infinities replaced."""

from __future__ import annotations

from typing import Any

from tensorframe import dtypes
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.operand_nodes import SEQUENCES, home_of
from tensorframe.frontend.operands import array_beside, operand
from tensorframe.frontend.outputs import Output
from tensorframe.frontend.parameters import is_number
from tensorframe.frontend.tensor import Tensor
from tensorframe.ops.elementwise import EQUAL, IMAG, ISNAN, MAXIMUM, MINIMUM, REAL_PART, WHERE

__all__ = ["clip", "nan_to_num"]


def clip(
    a: ArrayLike,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
    out: Output = None,
    *,
    a_min: ArrayLike | None = None,
    a_max: ArrayLike | None = None,
    **options: Any,
) -> Tensor:
    """Elements below `min` become `min`, those above `max` become `max`; None is no bound.

    Bounds are numbers or tensors that broadcast with `a`. The result has the dtype that all promote to: that of `a`,
    unless a bound is a tensor of a wider one, or floating beside an integer. NaN in `a` or in a bound gives NaN.
    Where `min` exceeds `max`, the result is `max`. A Python integer outside the range of an integer `a` is no bound
    at all, or one that nothing can pass. `a_min` and `a_max` are other names of the bounds; `out`, `where`, `dtype` and
    `casting` are those of elementwise functions.

    >>> tfr.clip(tfr.asarray([-2, 5, 12]), 0, 10).tolist()
    [0, 5, 10]
    """
    min, max = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if options or out is not None:
        from tensorframe.frontend.elementwise.options import clipped  # for few calls

        result: Tensor = clipped(_clipped, a, min, max, out, options)
        return result
    return _clipped(a, min, max)


def _clipped(a: Any, min: Any, max: Any) -> Tensor:
    result = operand(a) if type(a) is Tensor else array_beside(a, home_of((a, min, max)))
    if min is not None:
        result = apply(MAXIMUM, result, _bound(min, result))
    if max is not None:
        result = apply(MINIMUM, result, _bound(max, result))
    return result


def _bound(bound: Any, tensor: Tensor) -> Any:
    """Return a bound as an operand; Python integers outside the dtype's range become its limits."""
    dtype = tensor.dtype
    if type(bound) is int and dtype in dtypes.INTEGER:
        from tensorframe.frontend.dtypes.machine_limits import iinfo  # for few bounds

        info = iinfo(dtype)
        return sorted((info.min, bound, info.max))[1]
    return (
        bound
        if isinstance(bound, SEQUENCES) or is_number(bound)
        else array_beside(bound, tensor.device)
    )


def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """NaN replaced by `nan`, infinities by the dtype's largest and smallest numbers or by what is given.

    Complex elements are replaced part by part; integers have nothing to replace. `copy` is NumPy's; tensors are
    never changed in place.

    >>> tfr.nan_to_num(tfr.asarray([tfr.nan, 1.0, tfr.inf]), posinf=9.0).tolist()
    [0.0, 1.0, 9.0]
    """
    del copy
    tensor = operand(x)
    if tensor.dtype in dtypes.COMPLEX:
        real = nan_to_num(apply(REAL_PART, tensor), nan=nan, posinf=posinf, neginf=neginf)
        imag = nan_to_num(apply(IMAG, tensor), nan=nan, posinf=posinf, neginf=neginf)
        return real + imag * 1j
    if tensor.dtype not in dtypes.FLOAT:
        return tensor
    from tensorframe.frontend.dtypes.machine_limits import finfo  # as above

    info = finfo(tensor.dtype)
    top = info.max if posinf is None else posinf
    bottom = info.min if neginf is None else neginf
    result = apply(WHERE, apply(ISNAN, tensor), nan, tensor)
    result = apply(WHERE, apply(EQUAL, tensor, float("inf")), top, result)
    return apply(WHERE, apply(EQUAL, tensor, float("-inf")), bottom, result)
