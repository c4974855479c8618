"""Nested sequences of numbers, arrays and tensors become Tensors: gathered by NumPy, or stacked without computing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from tensorframe import dtypes
from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import DType, as_dtype
from tensorframe.errors import ArgumentError, DTypeError, OutOfRangeError, TracingError
from tensorframe.frontend.conversion.convert import NUMBERS_BY_KIND, asarray, ragged, tensor_of
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.operand_nodes import placed
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.holding import default_on, holds
from tensorframe.graph.tracing import TracedNumber
from tensorframe.ops.movement import CONCAT, RESHAPE
from tensorframe.site import warn_user

Array = np.ndarray[Any, Any]

_NO_NUMBERS: Final = (str, bytes, type(None))


def from_sequence(obj: Sequence[Any], dtype: DType | None, device: Device | None) -> Tensor:
    try:
        leaves = set(_leaves(obj))
    except RecursionError:
        raise ArgumentError(
            "asarray: the sequence contains itself, or is nested deeper than any tensor has axes",
            suggestions=numbers_hint(),
        ) from None
    target = dtype or _dtype_of_leaves(leaves)
    if any(isinstance(leaf, Device) for leaf in leaves):
        first = next(leaf for leaf in leaves if isinstance(leaf, Device))
        return _stacked(obj, target, device or first)
    where = resolve_device(device)
    if TracedNumber in leaves:
        return _stacked(obj, dtype or default_on(where, target or dtypes.int64), where)
    if dtype is None and not any(isinstance(leaf, np.dtype) for leaf in leaves):
        target = _of_numbers(obj, target, where)
    return tensor_of(_gathered(obj, target), where)


def _of_numbers(obj: Sequence[Any], dtype: DType | None, device: Device) -> DType | None:
    """Return the dtype that Python numbers take on a device; None where their values decide, and it holds any."""
    if dtype is not None:
        return default_on(device, dtype)
    if holds(device, dtypes.int64):
        return None
    return default_on(device, as_dtype(_gathered(obj, None).dtype))


def _leaves(obj: Sequence[Any]) -> Iterator[Any]:
    """Yield what decides about a nested sequence: types of Python objects, dtypes of arrays, devices of Tensors."""
    # map and set run in C: a flat list of a million numbers costs 10 ms
    kinds = set(map(type, obj))
    if kinds.isdisjoint({list, tuple, Tensor, TracedNumber}) and not any(
        hasattr(kind, "dtype") for kind in kinds
    ):
        yield from kinds
        return
    for item in obj:
        if isinstance(item, list | tuple):
            yield from _leaves(item)
        elif hasattr(item, "dtype"):
            yield item.dtype
            if isinstance(item, Tensor):
                yield item.device
        else:
            yield type(item)
            if type(item) is TracedNumber:
                yield item.kind


def _dtype_of_leaves(leaves: set[Any]) -> DType | None:
    """Return what elements promote to, Python numbers being weak; None where their values decide, or there are none.

    None too where some are no numbers: with a dtype, NumPy would read text as numbers and None as NaN.
    """
    if any(isinstance(leaf, type) and issubclass(leaf, _NO_NUMBERS) for leaf in leaves):
        return None
    known = [as_dtype(leaf) for leaf in leaves if not isinstance(leaf, type | Device)]
    python = [kind for kind in NUMBERS_BY_KIND if kind in leaves]
    if known:
        dtype = dtypes.promote(*known)
        return dtypes.weak(python[-1](1), dtype) if python else dtype
    if not leaves:
        return dtypes.default_float()
    if python and python[-1] is not int:
        return dtypes.of_scalar(python[-1](1))
    return None


def _stacked(obj: Sequence[Any], dtype: DType | None, device: Device) -> Tensor:
    """Return a nested sequence with Tensors or numbers that are not known yet, stacked without computing them."""
    items = [
        _stacked(item, dtype, device)
        if isinstance(item, list | tuple)
        else asarray(item, dtype=dtype, device=None if isinstance(item, Tensor) else device)
        for item in obj
    ]
    if not items:
        return tensor_of(np.empty(0, dtype), device)
    shapes = [item.shape for item in items]
    if len(set(shapes)) > 1:
        raise ragged("asarray", f"shapes {' and '.join(map(str, shapes))}")
    if shapes[0]:  # one after the other, in C order, is the same as side by side
        joined = call(CONCAT, *items, attrs=(0,))
        stacked = call(RESHAPE, joined, attrs=((len(items), *shapes[0]),))
    else:
        stacked = call(CONCAT, *[call(RESHAPE, item, attrs=((1,),)) for item in items], attrs=(0,))
    return stacked if stacked.device is device else Tensor(placed(stacked.node, device))


def _tell_overflow(*_: Any) -> None:
    """Warn at the user's line of what NumPy would blame this module for."""
    message = "asarray: a number overflows the dtype and becomes infinite\n  try: dtype=tfr.float64"
    warn_user(message, RuntimeWarning)


def _gathered(obj: Sequence[Any], dtype: DType | None) -> Array:
    """Return a nested sequence of numbers and arrays as a NumPy array."""
    try:
        with np.errstate(over="call", call=_tell_overflow):
            values = np.array(obj, dtype=dtype)
    except OverflowError as error:
        raise OutOfRangeError(f"asarray: {error}") from error
    except TracingError:
        raise
    except TypeError as error:
        raise DTypeError(f"asarray: {error}", suggestions=numbers_hint()) from error
    except ValueError as error:
        if "inhomogeneous" in str(error) or "sequence" in str(error):
            raise ragged("asarray", str(error)) from error
        raise DTypeError(f"asarray: {error}", suggestions=numbers_hint()) from error
    return numeric(values)


def numbers_hint() -> tuple[str, ...]:
    return ("numbers, or sequences of numbers of equal lengths",)


def numeric(values: Array) -> Array:
    """Return the values with a native dtype; DTypeError if they are strings or other objects."""
    if values.dtype.kind not in "biufcV" or values.dtype.names:
        as_numpys = f'tfr.array(values, dtype="{values.dtype}"), which makes an array of NumPy\'s'
        raise DTypeError(
            f"asarray: tensors hold numbers, these are {values.dtype}",
            suggestions=(*numbers_hint(), as_numpys),
        )
    return values.astype(as_dtype(values.dtype), copy=False)
