"""Reductions: elements combined along axes into sums, products, extremes, truth values and positions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorframe import dtypes
from tensorframe.frontend.dispatch import handle_on
from tensorframe.frontend.operands import accumulated, operand
from tensorframe.frontend.parameters import flag
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.graph.precision import autocast_dtype, suited
from tensorframe.graph.record import record
from tensorframe.graph.shape import normalize_axes
from tensorframe.ops import reduction as row
from tensorframe.ops.formulas import PTP

__all__ = ["all", "any", "argmax", "argmin", "max", "min", "prod", "ptp", "sum"]

Axis = int | Iterable[int] | None


def reduced_by(op: Op, x: Tensor, axis: Axis, keepdims: Any) -> Tensor:
    """Return the reduction `op` of `x` along `axis`: an integer, several, or None for all."""
    node = x.node
    axes = normalize_axes(op.name, axis, len(node.shape))
    if keepdims is not False or autocast_dtype.get() is not None:
        return along(op, x, axes, keepdims)
    return handle_on(record(op, (node,), axes, False))  # without a call to make and two to check


def along(op: Op, x: Tensor, axes: tuple[int, ...], keepdims: Any, *attrs: Any) -> Tensor:
    """Return the reduction `op` of `x` along axes that are counted from the front, in ascending order."""
    return handle_on(
        record(op, suited(op, (x.node,)), axes, flag(op.name, "keepdims", keepdims), *attrs)
    )


def sum(x: Any, /, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Sum along `axis`: an axis, a tuple of axes, or None for all; 0 where there are no elements.

    The result has the dtype `dtype` if given, else int64 or uint64 for integers and bools, else that of `x`.
    float16 and bfloat16 accumulate in float32. `keepdims` keeps the axes with size 1.

    >>> tfr.sum(tfr.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [4, 6]
    """
    return reduced_by(row.SUM, accumulated(x, dtype), axis, keepdims)


def prod(x: Any, /, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Product along `axis`: an axis, a tuple of axes, or None for all; 1 where there are no elements.

    Dtypes as for `sum`. Integers wrap around.

    >>> tfr.prod(tfr.asarray([2, 3, 4])).item()
    24
    """
    return reduced_by(row.PROD, accumulated(x, dtype), axis, keepdims)


def max(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Largest element along `axis`, NaN if any is NaN.

    Real dtypes and bool; others raise DTypeError, and axes without elements ShapeError: there is no largest one.

    >>> tfr.max(tfr.asarray([[1, 5], [7, 3]]), axis=1).tolist()
    [5, 7]
    """
    return reduced_by(row.MAX, x if type(x) is Tensor else operand(x), axis, keepdims)


def min(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Smallest element along `axis`, NaN if any is NaN.

    Real dtypes and bool; others raise DTypeError, and axes without elements ShapeError: there is no smallest one.

    >>> tfr.min(tfr.asarray([[1, 5], [7, 3]]), axis=1).tolist()
    [1, 3]
    """
    return reduced_by(row.MIN, x if type(x) is Tensor else operand(x), axis, keepdims)


def ptp(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Largest minus smallest element along `axis` (peak to peak), in the dtype of `x`.

    >>> tfr.ptp(tfr.asarray([3, 9, 4])).item()
    6
    """
    tensor = operand(x)
    if tensor.dtype in dtypes.BOOL or tensor.dtype in dtypes.NARROW:
        return max(tensor, axis, keepdims) - min(tensor, axis, keepdims)
    return reduced_by(PTP, tensor, axis, keepdims)


def any(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether any element along `axis` is true, that is not zero (NaN is true); False where there are none.

    >>> tfr.any(tfr.asarray([[0, 2], [0, 0]]), axis=1).tolist()
    [True, False]
    """
    return reduced_by(row.ANY_TRUE, operand(x), axis, keepdims)


def all(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether all elements along `axis` are true, that is not zero (NaN is true); True where there are none.

    >>> tfr.all(tfr.asarray([[1, 2], [3, 0]]), axis=1).tolist()
    [True, False]
    """
    return reduced_by(row.ALL_TRUE, operand(x), axis, keepdims)


def argmax(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Position (int64) of the first largest element along `axis`, of the first NaN if there is one.

    None, or several axes, count positions in C order over these axes. Real dtypes and bool; axes without elements
    raise ShapeError.

    >>> tfr.argmax(tfr.asarray([[1, 5], [7, 3]])).item()
    2
    """
    return reduced_by(row.ARGMAX, operand(x), axis, keepdims)


def argmin(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Position (int64) of the first smallest element along `axis`, of the first NaN if there is one.

    None, or several axes, count positions in C order over these axes. Real dtypes and bool; axes without elements
    raise ShapeError.

    >>> tfr.argmin(tfr.asarray([[1, 5], [7, 3]]), axis=0).tolist()
    [0, 1]
    """
    return reduced_by(row.ARGMIN, operand(x), axis, keepdims)
