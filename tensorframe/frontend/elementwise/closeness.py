"""Comparisons up to a tolerance, and of whole tensors; the answers are 0-d bool tensors, as lazy as any other."""

from __future__ import annotations

from typing import Any

from tensorframe import dtypes
from tensorframe.errors import ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.operands import beside, comparable, converted, promoted
from tensorframe.frontend.parameters import flag, is_number
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.record import source
from tensorframe.graph.shape import broadcast
from tensorframe.ops.creation import FULL
from tensorframe.ops.elementwise import EQUAL, ISFINITE, ISNAN, LESS_EQUAL
from tensorframe.ops.reduction import ALL_TRUE

__all__ = ["allclose", "array_equal", "array_equiv", "isclose"]


def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Whether elements are within `atol + rtol * abs(b)` of each other: `b` is the reference, as in NumPy.

    Infinities are close to themselves only; NaN to NaN only with `equal_nan`. Integers are compared in float64.

    >>> tfr.isclose(tfr.asarray([1.0, 2.0]), tfr.asarray([1.000001, 2.1])).tolist()
    [True, False]
    """
    a, b = _comparable(a, b)
    # each a number, or a tensor of them
    tolerances: list[Any] = [
        tolerance if is_number(tolerance) else beside(a, tolerance) for tolerance in (rtol, atol)
    ]
    relative, absolute = tolerances
    near = apply(LESS_EQUAL, abs(a - b), absolute + relative * abs(b)) & apply(ISFINITE, b)
    close = near | apply(EQUAL, a, b)
    if flag("isclose", "equal_nan", equal_nan):
        return close | apply(ISNAN, a) & apply(ISNAN, b)
    return close


def _comparable(x1: Any, x2: Any) -> list[Tensor]:
    """Return both operands in a floating dtype that tolerances can be computed in."""
    pair = promoted(*comparable(x1, x2))
    dtype = pair[0].dtype
    if dtype in dtypes.BITWISE:
        dtype = dtypes.float64
    return [converted(array, dtypes.wide_of(dtype)) for array in pair]


def _everywhere(near: Tensor) -> Tensor:
    """Whether all elements are true, as a 0-d tensor."""
    return call(ALL_TRUE, near, attrs=(tuple(range(near.ndim)), False))


def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Whether `isclose` holds everywhere, as a 0-d tensor; the shapes must broadcast.

    NaN equals nothing unless `equal_nan` is True.

    >>> bool(tfr.allclose(tfr.asarray([1.0, 2.0]), tfr.asarray([1.0, 2.000001])))
    True
    """
    return _everywhere(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Tensor:
    """Whether the shapes are the same and all elements equal, as a 0-d tensor.

    >>> bool(tfr.array_equal(tfr.asarray([1, 2]), tfr.asarray([1, 2, 3])))
    False
    """
    a, b = promoted(*comparable(a1, a2))
    if a.shape != b.shape:
        return _false(a)
    return _all_equal(a, b, equal_nan=equal_nan)


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """Whether the shapes broadcast and all elements are then equal, as a 0-d tensor.

    >>> bool(tfr.array_equiv(tfr.asarray([1, 2]), tfr.asarray([[1, 2], [1, 2]])))
    True
    """
    a, b = promoted(*comparable(a1, a2))
    try:
        broadcast("array_equiv", a.shape, b.shape)
    except ShapeError:
        return _false(a)
    return _all_equal(a, b, equal_nan=False)


def _all_equal(a: Tensor, b: Tensor, *, equal_nan: bool) -> Tensor:
    equal = apply(EQUAL, a, b)
    if equal_nan and {a.dtype, b.dtype} <= dtypes.FLOATING:
        equal = equal | apply(ISNAN, a) & apply(ISNAN, b)
    return _everywhere(equal)


def _false(like: Tensor) -> Tensor:
    return Tensor(source(FULL, (), dtypes.bool_, like.device, False))
