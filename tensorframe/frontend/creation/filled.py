"""Filled tensors: one value everywhere, which takes no memory before it is used."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from tensorframe import dtypes
from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import DType, DTypeLike, as_dtype
from tensorframe.errors import ShapeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.conversion.convert import (
    OnDevice,
    array,
    as_value,
    asarray,
    from_dlpack,
)
from tensorframe.frontend.dispatch import recorded
from tensorframe.frontend.fast_paths.memoization import memoized_of
from tensorframe.frontend.operand_nodes import PYTHON_NUMBERS
from tensorframe.frontend.operands import converted, expanded, filled, operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.holding import default_on, require
from tensorframe.graph.shape import as_shape, broadcast
from tensorframe.graph.tracing import TracedNumber
from tensorframe.ops.creation import FULL

__all__ = [
    "array",
    "asarray",
    "empty",
    "empty_like",
    "from_dlpack",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


Function = TypeVar("Function", bound=Callable[..., Any])

# An argument that was not given.
_ABSENT = object()


def default_real(name: str, dtype: DTypeLike | None, device: Device) -> DType:
    """Return the requested dtype, or that of Python floats on the device; DTypeError if it cannot hold it."""
    wanted = default_on(device, dtypes.default_float()) if dtype is None else as_dtype(dtype)
    require(name, device, wanted)
    return wanted


def full(
    shape: ShapeLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: OnDevice = None,
    like: ArrayLike | None = None,
) -> Tensor:
    """Return a tensor of `shape` with `fill_value` everywhere. It takes no memory until its elements are needed.

    The dtype of a Python number follows `asarray`: bool, int64, float32 or complex64. `fill_value` may be a tensor
    that broadcasts to `shape`. `order` and `like` are NumPy's and have no effect: elements are always in C order.

    >>> tfr.full((2, 2), 7).tolist()
    [[7, 7], [7, 7]]
    """
    del order, like
    sizes = as_shape(shape)
    wanted = None if dtype is None else as_dtype(dtype)
    value: Any = fill_value
    if isinstance(value, np.generic):
        wanted = wanted or as_dtype(value.dtype)
        value = value.item()
    if type(value) in PYTHON_NUMBERS and type(value) is not TracedNumber:
        target = resolve_device(device)
        number_dtype = wanted or default_on(target, dtypes.of_scalar(value))
        return filled(sizes, value, number_dtype, target)
    values = operand(value, dtype=dtype, device=device)
    if broadcast("full", values.shape, sizes) != sizes:
        raise ShapeError(f"full: a value of shape {values.shape} does not fill shape {sizes}")
    return expanded(values, sizes)


@memoized_of(0)
def zeros(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: OnDevice = None,
    like: ArrayLike | None = None,
) -> Tensor:
    """Return a tensor of `shape` with zeros, float32 unless `dtype` says otherwise.

    >>> tfr.zeros((2, 3)).shape
    (2, 3)
    """
    del order, like
    target = resolve_device(device)
    return filled(as_shape(shape), 0, default_real("zeros", dtype, target), target)


@memoized_of(0)
def ones(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: OnDevice = None,
    like: ArrayLike | None = None,
) -> Tensor:
    """Return a tensor of `shape` with ones, float32 unless `dtype` says otherwise.

    >>> tfr.ones(3, dtype="int64").tolist()
    [1, 1, 1]
    """
    del order, like
    target = resolve_device(device)
    return filled(as_shape(shape), 1, default_real("ones", dtype, target), target)


@memoized_of(0)
def empty(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: OnDevice = None,
    like: ArrayLike | None = None,
) -> Tensor:
    """Return a tensor of `shape` whose elements are not said; here they are zeros, at no cost.

    >>> tfr.empty((2, 3)).shape
    (2, 3)
    """
    return zeros(shape, dtype, order, device=device, like=like)


def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: OnDevice = None,
) -> Tensor:
    """Return a tensor with the shape, dtype and device of `a`, and `fill_value` everywhere.

    `shape`, here and in the functions below, takes the place of its shape.

    >>> tfr.full_like(tfr.asarray([1.0, 2.0]), 3).tolist()
    [3.0, 3.0]
    """
    del order, subok
    like = operand(a)
    wanted = like.dtype if dtype is None else as_dtype(dtype)
    target = like.device if device is None else resolve_device(device)
    if isinstance(fill_value, Tensor):
        fill_value = converted(fill_value, wanted)
    sizes = like.shape if shape is None else shape
    return full(sizes, fill_value, dtype=wanted, device=target)


def _like_tensors(value: int) -> Callable[[Function], Function]:
    """Return the decorator of functions that fill a tensor like another: calls with nothing beside it are short."""
    fills: dict[DType, tuple[Any]] = {}  # the attributes of tensors with this number everywhere

    def decorate(function: Function) -> Function:
        @wraps(function)
        def like(prototype: Any = _ABSENT, /, *values: Any, **options: Any) -> Any:
            if type(prototype) is not Tensor or values or options:
                given = values if prototype is _ABSENT else (prototype, *values)
                return function(*given, **options)
            source = prototype.node
            fill = fills.get(source.dtype)
            if fill is None:
                fill = fills[source.dtype] = (as_value("full", value, source.dtype),)
            return recorded(FULL, (), fill, source.shape, source.dtype, source.device)

        like.around = decorate  # type: ignore[attr-defined]  # see `numpy_only_dtypes`
        return like  # type: ignore[return-value]

    return decorate


@_like_tensors(0)
def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: OnDevice = None,
) -> Tensor:
    """Return a tensor with the shape, dtype and device of `a`, and zeros everywhere.

    >>> tfr.zeros_like(tfr.asarray([1, 2])).tolist()
    [0, 0]
    """
    return full_like(a, 0, dtype, order, subok, shape, device=device)


@_like_tensors(1)
def ones_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: OnDevice = None,
) -> Tensor:
    """Return a tensor with the shape, dtype and device of `a`, and ones everywhere.

    >>> tfr.ones_like(tfr.asarray([1, 2])).tolist()
    [1, 1]
    """
    return full_like(a, 1, dtype, order, subok, shape, device=device)


@_like_tensors(0)
def empty_like(
    prototype: ArrayLike,
    /,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: OnDevice = None,
) -> Tensor:
    """Return a tensor with the shape, dtype and device of `prototype`; its elements are not said.

    >>> tfr.empty_like(tfr.asarray([1, 2])).dtype
    dtype('int64')
    """
    return full_like(prototype, 0, dtype, order, subok, shape, device=device)
