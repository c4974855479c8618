"""Copies: tensors of tensors, and of bytes, iterators and text, by NumPy's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tensorframe.dtypes import DTypeLike, default_float
from tensorframe.errors import ArgumentError, DTypeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice, array, asarray
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.parameters import integer
from tensorframe.frontend.reductions.elementary import all as all_true
from tensorframe.frontend.tensor import Tensor
from tensorframe.ops.elementwise import ISFINITE

__all__ = [
    "asanyarray",
    "asarray_chkfinite",
    "ascontiguousarray",
    "asfortranarray",
    "copy",
    "frombuffer",
    "fromiter",
    "fromstring",
]


def copy(a: ArrayLike, order: str = "K", subok: bool = False) -> Tensor:
    """Return a tensor of its own with the elements of `a`; assignments to one do not change the other.

    `order` and `subok`, here and in the functions below, are NumPy's and change nothing.

    >>> x = tfr.asarray([1, 2])
    >>> y = tfr.copy(x)
    >>> y[0] = 9
    >>> x.tolist(), y.tolist()
    ([1, 2], [9, 2])
    """
    del order, subok
    return array(a)


def asanyarray(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    device: OnDevice = None,
    copy: bool | None = None,
    like: ArrayLike | None = None,
) -> Tensor:
    """Return `a` as a tensor: `asarray`, since tensors have no subclasses.

    It is there so that programs written for NumPy run unchanged.

    >>> tfr.asanyarray([1, 2]).tolist()
    [1, 2]
    """
    return asarray(a, dtype, order, device=device, copy=copy, like=like)


def ascontiguousarray(
    a: ArrayLike, dtype: DTypeLike | None = None, *, like: ArrayLike | None = None
) -> Tensor:
    """Return `a` as a tensor with one axis at least; a tensor that has one is returned itself.

    How elements lie in memory is not for users to say.

    >>> tfr.ascontiguousarray(1).shape
    (1,)
    """
    if type(a) is Tensor and dtype is None and a.node.shape:
        return a
    tensor = asarray(a, dtype, like=like)
    return tensor if tensor.ndim else tensor.reshape((1,))


def asfortranarray(
    a: ArrayLike, dtype: DTypeLike | None = None, *, like: ArrayLike | None = None
) -> Tensor:
    """Return `a` as a tensor, as `ascontiguousarray` does.

    Tensors have no memory order of their own: the values, shape and dtype are the same whatever the
    name asks for.

    >>> tfr.asfortranarray([1, 2]).shape
    (2,)
    """
    return ascontiguousarray(a, dtype, like=like)


def asarray_chkfinite(
    a: ArrayLike, dtype: DTypeLike | None = None, order: str | None = None
) -> Tensor:
    """Return `a` as a tensor; ArgumentError if an element is infinite or NaN. Computes the elements.

    >>> tfr.asarray_chkfinite([1.0, 2.0]).shape
    (2,)
    """
    tensor = asarray(a, dtype, order)
    if not bool(all_true(apply(ISFINITE, tensor))):
        raise ArgumentError("asarray_chkfinite: elements must not be infinite or NaN")
    return tensor


def _made(name: str, function: Any, *arguments: Any) -> Tensor:
    """Return the array that NumPy makes as a tensor, and its errors as ours."""
    try:
        values = function(*arguments)
    except (TypeError, ValueError, AttributeError, OverflowError, BufferError) as error:
        raise ArgumentError(f"{name}: {error}") from error
    return asarray(values)


def _dtype(dtype: DTypeLike) -> Any:
    try:
        return np.dtype(default_float() if dtype is None else dtype)
    except TypeError as error:
        raise DTypeError(f"{dtype!r} is no dtype") from error


def frombuffer(
    buffer: Any,
    dtype: DTypeLike = float,
    count: int = -1,
    offset: int = 0,
    *,
    like: ArrayLike | None = None,
) -> Tensor:
    """Return the numbers that the bytes of an object are, from `offset` on, `count` of them (-1: all).

    >>> tfr.frombuffer(b"ab", "uint8").tolist()
    [97, 98]
    """
    del like
    most, first = integer("frombuffer", "count", count), integer("frombuffer", "offset", offset)
    return _made("frombuffer", np.frombuffer, buffer, _dtype(dtype), most, first)


def fromiter(
    iter: Iterable[Any], dtype: DTypeLike, count: int = -1, *, like: ArrayLike | None = None
) -> Tensor:
    """Return the numbers that an iterable yields, `count` of them (-1: all).

    The iterable is read at once, into a vector of the given `dtype`.

    >>> tfr.fromiter((x * x for x in range(3)), "int64").tolist()
    [0, 1, 4]
    """
    del like
    return _made("fromiter", np.fromiter, iter, _dtype(dtype), integer("fromiter", "count", count))


def fromstring(
    string: str,
    dtype: DTypeLike = float,
    count: int = -1,
    *,
    sep: str = " ",
    like: ArrayLike | None = None,
) -> Tensor:
    """Return the numbers of a text, which `sep` separates.

    The text is read at once, into a vector; white space counts as a separator too.

    >>> tfr.fromstring("1 2", "int64", sep=" ").tolist()
    [1, 2]
    """
    del like
    if not isinstance(sep, str) or not sep or not isinstance(string, str):
        raise ArgumentError("fromstring: takes text and a separator; frombuffer reads bytes")
    most = integer("fromstring", "count", count)

    def read() -> Any:
        return np.fromstring(string, _dtype(dtype), most, sep=sep)

    return _made("fromstring", read)
