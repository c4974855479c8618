"""Reductions: elements combined along axes into sums, products, extremes, truth values, counts and positions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorframe import dtypes
from tensorframe.dtypes import FLOATING, DType, DTypeLike
from tensorframe.errors import DTypeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, handle_on, recorded
from tensorframe.frontend.indexing.few_elements import few_counted
from tensorframe.frontend.operands import accumulated, operand
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import flag
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.graph.precision import autocast_dtype, suited
from tensorframe.graph.record import record
from tensorframe.graph.shape import Shape, reduced_axes
from tensorframe.ops import reduction as row
from tensorframe.ops.elementwise import NOT_EQUAL
from tensorframe.ops.formulas import COUNT_NONZERO, PTP

__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "max", "min", "prod", "ptp", "sum"]

Axis = int | Iterable[int] | None

# Reductions along one axis or all, by op, axis, `keepdims` and operand: the attributes, shape and dtype of the result.
_known: dict[tuple[Any, ...], tuple[tuple[Any, ...], Shape, DType]] = {}
_KEPT = 1024


def reduced_by(op: Op, x: Tensor, axis: Axis, keepdims: Any) -> Tensor:
    """Return the reduction `op` of `x` along `axis`: an integer, several, or None for all."""
    node = x.node
    if (
        type(keepdims) is not bool
        or not (axis is None or type(axis) is int)
        or autocast_dtype.get() is not None
    ):
        return reduced_along(op, x, reduced_axes(op.name, axis, len(node.shape)), keepdims)
    # what it is of a shape and a dtype is worked out once: that takes half of the time of a small reduction
    key = (op, axis, keepdims, node.shape, node.dtype, node.device.number)
    same = _known.get(key)
    if same is None:
        return _first_of_its_kind(op, x, key)
    attrs, shape, dtype = same
    return recorded(op, (node,), attrs, shape, dtype, node.device)


def _first_of_its_kind(op: Op, x: Tensor, key: tuple[Any, ...]) -> Tensor:
    """Return the reduction that a key of `reduced_by` stands for, and remember it, unless it takes more than one op."""
    _, axis, keepdims, *_ = key
    result = reduced_along(op, x, reduced_axes(op.name, axis, len(x.node.shape)), keepdims)
    made = result.node
    if made.op is op and made.inputs == (x.node,) and made.device is x.node.device:
        if len(_known) >= _KEPT:
            _known.clear()
        _known[key] = (made.attrs, made.shape, made.dtype)
    return result


def reduced_along(op: Op, x: Tensor, axes: tuple[int, ...], keepdims: Any) -> Tensor:
    """Return the reduction `op` of `x` as `along` does, or that of the order of complex numbers."""
    try:
        return along(op, x, axes, keepdims)
    except DTypeError:
        from tensorframe.frontend.ordering import complex_order

        if not complex_order.has_order(op, x):
            raise
        return complex_order.reduced(op, x, axes, keepdims)


def _reduced(
    op: Op,
    x: Tensor,
    axis: Axis,
    keepdims: Any,
    out: Output,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Return a reduction that was asked for with options: in its own place, of selected elements, from a first one."""
    if initial is None and where is True:
        result = reduced_by(op, x, axis, keepdims)
    else:
        from tensorframe.frontend.reductions.selection import reduced_where  # few calls select

        result = reduced_where(op, x, axis, keepdims, initial, where)
    return result if out is None else delivered(op.name, result, out)


def along(op: Op, x: Tensor, axes: tuple[int, ...], keepdims: Any, *attrs: Any) -> Tensor:
    """Return the reduction `op` of `x` along axes that are counted from the front, in ascending order."""
    return handle_on(
        record(op, suited(op, (x.node,)), axes, flag(op.name, "keepdims", keepdims), *attrs)
    )


def sum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Output = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> Tensor:
    """Sum along `axis`: an axis, a tuple of axes, or None for all; 0 where there are no elements.

    The result has the dtype `dtype` if given, else int64 or uint64 for integers and bools, else that of `a`.
    float16 and bfloat16 accumulate in float32. `keepdims` keeps the axes with size 1. `out` receives the result;
    elements where `where` is false are left out; the sum begins with `initial`, if it is given.

    >>> tfr.sum(tfr.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [4, 6]
    """
    if out is None and initial is None and where is True:
        if dtype is None and type(a) is Tensor and a.node.dtype in FLOATING:
            return reduced_by(row.SUM, a, axis, keepdims)
        return reduced_by(row.SUM, accumulated(a, dtype), axis, keepdims)
    return _reduced(row.SUM, accumulated(a, dtype), axis, keepdims, out, initial, where)


def prod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Output = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> Tensor:
    """Product along `axis`: an axis, a tuple of axes, or None for all; 1 where there are no elements.

    Dtypes and options as for `sum`. Integers wrap around.

    >>> tfr.prod(tfr.asarray([2, 3, 4])).item()
    24
    >>> tfr.prod(tfr.asarray([[1, 2, 3], [4, 5, 6]]), axis=0).tolist()
    [4, 10, 18]
    """
    if out is None and initial is None and where is True:
        if dtype is None and type(a) is Tensor and a.node.dtype in FLOATING:
            return reduced_by(row.PROD, a, axis, keepdims)
        return reduced_by(row.PROD, accumulated(a, dtype), axis, keepdims)
    return _reduced(row.PROD, accumulated(a, dtype), axis, keepdims, out, initial, where)


def max(
    a: ArrayLike,
    axis: Axis = None,
    out: Output = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> Tensor:
    """Largest element along `axis`, NaN if any is NaN.

    Complex numbers are ordered by their real parts, equal ones by the imaginary parts; what holds no numbers
    raises DTypeError. Axes without elements raise ShapeError: there is no largest one.
    Unless `initial` is given, which counts as an element; `where` selects elements, and needs it.

    >>> tfr.max(tfr.asarray([[1, 5], [7, 3]]), axis=1).tolist()
    [5, 7]
    """
    tensor = a if type(a) is Tensor else operand(a)
    if out is None and initial is None and where is True:
        return reduced_by(row.MAX, tensor, axis, keepdims)
    return _reduced(row.MAX, tensor, axis, keepdims, out, initial, where)


def min(
    a: ArrayLike,
    axis: Axis = None,
    out: Output = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> Tensor:
    """Smallest element along `axis`, NaN if any is NaN.

    Complex numbers are ordered by their real parts, equal ones by the imaginary parts; what holds no numbers
    raises DTypeError. Axes without elements raise ShapeError: there is no smallest one.
    Unless `initial` is given, which counts as an element; `where` selects elements, and needs it.

    >>> tfr.min(tfr.asarray([[1, 5], [7, 3]]), axis=1).tolist()
    [1, 3]
    """
    tensor = a if type(a) is Tensor else operand(a)
    if out is None and initial is None and where is True:
        return reduced_by(row.MIN, tensor, axis, keepdims)
    return _reduced(row.MIN, tensor, axis, keepdims, out, initial, where)


def ptp(a: ArrayLike, axis: Axis = None, out: Output = None, keepdims: bool = False) -> Tensor:
    """Largest minus smallest element along `axis` (peak to peak), in the dtype of `a`.

    >>> tfr.ptp(tfr.asarray([3, 9, 4])).item()
    6
    >>> tfr.ptp(tfr.asarray([[3, 9, 4], [1, 1, 1]]), axis=1).tolist()
    [6, 0]
    """
    tensor = operand(a)
    if tensor.dtype in dtypes.BOOL | dtypes.NARROW | dtypes.COMPLEX:
        highest = max(tensor, axis, keepdims=keepdims)
        result = highest - min(tensor, axis, keepdims=keepdims)
        return result if out is None else delivered("ptp", result, out)
    return _reduced(PTP, tensor, axis, keepdims, out)


def any(
    a: ArrayLike,
    axis: Axis = None,
    out: Output = None,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
) -> Tensor:
    """Whether any element along `axis` is true, that is not zero (NaN is true); False where there are none.

    >>> tfr.any(tfr.asarray([[0, 2], [0, 0]]), axis=1).tolist()
    [True, False]
    """
    if out is None and where is True:
        return reduced_by(row.ANY_TRUE, operand(a), axis, keepdims)
    return _reduced(row.ANY_TRUE, operand(a), axis, keepdims, out, where=where)


def all(
    a: ArrayLike,
    axis: Axis = None,
    out: Output = None,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
) -> Tensor:
    """Whether all elements along `axis` are true, that is not zero (NaN is true); True where there are none.

    >>> tfr.all(tfr.asarray([[1, 2], [3, 0]]), axis=1).tolist()
    [True, False]
    """
    if out is None and where is True:
        return reduced_by(row.ALL_TRUE, operand(a), axis, keepdims)
    return _reduced(row.ALL_TRUE, operand(a), axis, keepdims, out, where=where)


def argmax(
    a: ArrayLike, axis: Axis = None, out: Output = None, *, keepdims: bool = False
) -> Tensor:
    """Position (int64) of the first largest element along `axis`, of the first NaN if there is one.

    None, or several axes, count positions in C order over these axes. Complex numbers have the order of `max`.
    Axes without elements raise ShapeError.

    >>> tfr.argmax(tfr.asarray([[1, 5], [7, 3]])).item()
    2
    """
    return _reduced(row.ARGMAX, operand(a), axis, keepdims, out)


def argmin(
    a: ArrayLike, axis: Axis = None, out: Output = None, *, keepdims: bool = False
) -> Tensor:
    """Position (int64) of the first smallest element along `axis`, of the first NaN if there is one.

    None, or several axes, count positions in C order over these axes. Complex numbers have the order of `max`.
    Axes without elements raise ShapeError.

    >>> tfr.argmin(tfr.asarray([[1, 5], [7, 3]]), axis=0).tolist()
    [0, 1]
    """
    return _reduced(row.ARGMIN, operand(a), axis, keepdims, out)


def count_nonzero(a: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """How many elements along `axis` (all axes for None) are not zero; NaN is not zero. The dtype is int64.

    >>> tfr.count_nonzero(tfr.asarray([[0, 1], [2, 3]]), axis=0).tolist()
    [1, 2]
    """
    if type(a) is Tensor and axis is None and keepdims is False:
        counted = few_counted(a.node)
        if counted is not None:
            return handle_on(counted)
    a = operand(a)
    countable = a if a.dtype in COUNT_NONZERO.accepts else apply(NOT_EQUAL, a, 0)
    return reduced_by(COUNT_NONZERO, countable, axis, keepdims)
