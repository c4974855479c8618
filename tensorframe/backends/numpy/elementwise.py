"""Elementwise ops where NumPy's own function differs from the Array API standard or has another form."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import spells
from tensorframe.dtypes import COMPLEX, FLOAT, SIGNED, DType

Array = Any  # np.ndarray or a NumPy scalar: ufuncs give scalars for 0-d operands


@spells("cast")
def cast(x: Array, dtype: DType) -> Array:
    """Convert; complex to real drops the imaginary part without NumPy's warning."""
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    return x.astype(dtype)


@spells("real")
def real(x: Array) -> Array:
    """Real part."""
    return x.real


@spells("imag")
def imag(x: Array) -> Array:
    """Imaginary part."""
    return x.imag


@spells("where")
def where(condition: Array, x: Array, y: Array) -> Array:
    """Select by condition."""
    return np.where(condition, x, y)


@spells("floor_divide")
def floor_divide(x: Array, y: Array) -> Array:
    """Floor division; an infinite operand divides as `/` does, where NumPy follows Python instead."""
    result = np.floor_divide(x, y)
    if x.dtype not in FLOAT:
        return result
    infinite = np.isinf(x) | np.isinf(y)
    return np.where(infinite, x / y, result) if infinite.any() else result


@spells("pow")
def pow_(x: Array, y: Array) -> Array:
    """Power; a negative integer exponent gives the power rounded towards zero, where NumPy raises."""
    if y.dtype not in SIGNED or not (y < 0).any():
        return np.power(x, y)
    result = np.power(x, np.maximum(y, 0))
    # of the integers, only 1 and -1 have an inverse; their powers alternate either way
    inverse = np.where((x == 1) | (x == -1), np.power(x, y & 1), x.dtype.type(0))
    return np.where(y < 0, inverse, result)


@spells("tanh", writes=True)
def tanh(x: Array, out: Array | None = None) -> Array:
    """Hyperbolic tangent; complex ones of an infinite real part have an imaginary zero with the sign that x's has."""
    result = np.tanh(x, out=out)
    if x.dtype not in COMPLEX:
        return result
    beyond = np.isinf(x.real) & np.isfinite(x.imag)
    if not beyond.any():
        return result
    # the C library lets the sign turn with sin(2 imag)
    result = np.asarray(result)
    result.imag[...] = np.where(beyond, np.copysign(0, x.imag), result.imag)
    return result


@spells("expm1")
def expm1(x: Array) -> Array:
    """exp(x) - 1; for complex x with the special cases of the Array API standard."""
    if x.dtype not in COMPLEX:
        return np.expm1(x)
    real, imag = x.real, x.imag
    half_sine = np.sin(imag / 2)
    # cos(y) = 1 - 2 sin(y/2)^2 keeps the digits that exp(x) cos(y) - 1 would lose near zero
    result = np.empty(x.shape, x.dtype)
    result.real = np.expm1(real) * np.cos(imag) - 2 * half_sine * half_sine
    result.imag = np.exp(real) * np.sin(imag)
    ordinary = np.isfinite(real) & np.isfinite(imag) & (imag != 0)
    if not ordinary.all():
        _expm1_special(result, np.asarray(x), ordinary)
    return result


def _expm1_special(result: Array, x: Array, ordinary: Array) -> None:
    """Overwrite the elements of complex expm1 that are real, infinite or NaN."""
    real, imag = x.real, x.imag
    chosen = imag == 0
    result.real[chosen] = np.expm1(real[chosen]) + 0.0  # + 0.0: the standard gives +0 at -0
    result.imag[chosen] = imag[chosen]
    chosen = ~ordinary & ~chosen & ~np.isfinite(imag)
    at_bottom, at_top = chosen & (real == -np.inf), chosen & (real == np.inf)
    result[chosen] = complex(np.nan, np.nan)
    result.real[at_bottom] = -1
    result.imag[at_bottom] = np.copysign(0, imag[at_bottom])
    result.real[at_top] = np.inf
    chosen = (real == -np.inf) & np.isfinite(imag) & (imag != 0)
    result.real[chosen] = -1


@spells("dot4")
def dot4(x: Array, y: Array) -> Array:
    """Sum of the products of the four signed bytes that words hold."""
    x, y = np.asarray(x), np.asarray(y)
    total = np.zeros(np.broadcast_shapes(x.shape, y.shape), np.int32)
    for shift in range(0, 32, 8):
        first, second = (
            (words >> np.uint32(shift)).astype(np.int8).astype(np.int32) for words in (x, y)
        )
        total += first * second
    return total
