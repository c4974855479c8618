"""Sorting and searching by CuPy, on unsigned integers in the order of our elements.

CuPy compiles its own kernels so that small numbers are zero, and knows neither a descending order nor bfloat16.
Integers it leaves alone; NaN is the largest of all, whichever the order.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from tensorframe.dtypes import FLOAT, DType, bool_

Array = Any

# of positive floats the bits grow with the value, of negative ones they fall
_FLOAT_KEYS = cupy.ElementwiseKernel(
    "T bits, T sign, T infinity, T flip, bool one_zero",
    "T key",
    """
    T size = bits & (T)~sign;
    T place = (bits & sign) ? (T)~bits : (T)(bits | sign);
    if (one_zero && size == 0) place = sign;
    key = size > infinity ? (T)~(T)0 : (T)(place ^ flip);
    """,
    "tensorframe_float_keys",
)
_FLOAT_BITS = cupy.ElementwiseKernel(
    "T key, T sign, T unknown, T flip",
    "T bits",
    """
    T place = key ^ flip;
    bits = key == (T)~(T)0 ? unknown : (place & sign) ? (T)(place ^ sign) : (T)~place;
    """,
    "tensorframe_float_bits",
)


class Order:
    """The keys of a dtype's elements, ascending or descending."""

    def __init__(self, dtype: DType, *, descending: bool = False) -> None:
        word = np.dtype(f"u{dtype.itemsize}")
        self._dtype = dtype
        self._word = word
        ones = 1 if dtype == bool_ else 2 ** (8 * word.itemsize) - 1
        has_sign = dtype in FLOAT or dtype.kind == "i"
        self._sign = word.type(2 ** (8 * word.itemsize - 1) if has_sign else 0)
        self._flip = word.type(ones if descending else 0)
        if dtype in FLOAT:
            infinity, unknown = np.array([np.inf, np.nan]).astype(dtype).view(word)
            self._infinity, self._unknown = infinity, unknown & ~self._sign

    def keys(self, x: Array, *, one_zero: bool) -> Array:
        """Return the keys; `one_zero` for those of -0.0 and 0.0 that are equal."""
        bits = cupy.ascontiguousarray(x).view(self._word)
        if self._dtype in FLOAT:
            return _FLOAT_KEYS(bits, self._sign, self._infinity, self._flip, one_zero)
        return bits ^ (self._sign ^ self._flip)

    def elements(self, keys: Array) -> Array:
        """Return the elements that have these keys."""
        if self._dtype in FLOAT:
            bits = _FLOAT_BITS(keys, self._sign, self._unknown, self._flip)
        else:
            bits = keys ^ (self._sign ^ self._flip)
        return bits.view(self._dtype)


def sort(x: Array, axis: int, descending: bool) -> Array:
    """Sort values."""
    order = Order(x.dtype, descending=descending)
    return order.elements(cupy.sort(order.keys(x, one_zero=False), axis=axis))


def argsort(x: Array, axis: int, descending: bool, _stable: bool) -> Array:
    """Sort positions; equal elements stay in their order whether that is asked for or not."""
    return cupy.argsort(Order(x.dtype, descending=descending).keys(x, one_zero=True), axis=axis)


def partition(x: Array, _kth: tuple[int, ...], axis: int) -> Array:
    """Sort all values: there is nothing faster here."""
    return sort(x, axis, descending=False)


def argpartition(x: Array, _kth: tuple[int, ...], axis: int) -> Array:
    """Sort all positions."""
    return argsort(x, axis, False, True)


def topk(x: Array, count: int, axis: int, largest: bool) -> tuple[Array, Array]:
    """Sort, and take from the beginning."""
    first = (*[slice(None)] * axis, slice(count))
    positions = argsort(x, axis, largest, True)[first]
    words = cupy.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")
    return cupy.take_along_axis(words, positions, axis).view(x.dtype), positions


def searchsorted(x: Array, values: Array, side: str) -> Array:
    """Search."""
    order = Order(x.dtype)
    keys, wanted = order.keys(x, one_zero=True), order.keys(values, one_zero=True)
    return cupy.searchsorted(keys, wanted, side)
