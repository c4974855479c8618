"""Comparison: how many representable numbers lie between two results, and where they differ most."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX, FLOAT

Array = np.ndarray[Any, Any]

__all__ = ["assert_close", "ulp_distance"]

SHOWN = 5  # differing elements that a message lists


def ulp_distance(actual: Any, expected: Any) -> Array:
    """The number of representable numbers from `actual` to `expected`, elementwise, as float64.

    Both have one shape and dtype. Zeros of either sign are one number, and so are all NaN; from NaN to a number is
    infinitely far. For complex elements it is the distance of the part that is further off; for integers and bools
    the absolute difference.

    Method: the bits of an IEEE 754 number, read as sign and magnitude, count the numbers in order (Goldberg,
    "What every computer scientist should know about floating-point arithmetic", 1991, "Relative error and ulps").

    >>> from tensorframe.testing.compare import ulp_distance
    >>> ulp_distance(np.float32([1.0, 2.0]), np.nextafter(np.float32([1.0, 2.0]), np.float32(9)))
    array([1., 1.])
    """
    left, right = host(actual), host(expected)
    if left.dtype in COMPLEX:
        real, imag = (_steps(part(left), part(right)) for part in (np.real, np.imag))
        return np.maximum(real, imag)
    if left.dtype in FLOAT:
        return _steps(left, right)
    return _apart(left.astype(np.uint64), right.astype(np.uint64), left > right)


def host(value: Any) -> Array:
    """Return the elements of a Tensor, an array or a number as an array."""
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def _steps(left: Array, right: Array) -> Array:
    first, second = _rank(left), _rank(right)
    distance = _apart(first, second, first > second)
    nans = np.isnan(left), np.isnan(right)
    distance = np.where(nans[0] != nans[1], np.inf, distance)
    return np.where(nans[0] & nans[1], 0.0, distance)


def _apart(first: Array, second: Array, descending: Array) -> Array:
    """Return the distance of unsigned integers, which wrap around if the larger is subtracted."""
    with np.errstate(over="ignore"):
        return np.where(descending, first - second, second - first).astype(np.float64)


def _rank(array: Array) -> Array:
    """Return the place of each number in the order of all; zero has the place 2**63."""
    bits = np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").reshape(array.shape)
    magnitude = (bits & np.iinfo(bits.dtype).max).astype(np.uint64)
    zero = np.uint64(1 << 63)
    return np.where(bits < 0, zero - magnitude, zero + magnitude)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    ulp: float = 0.0,
    rtol: float = 0.0,
    atol: float = 0.0,
    name: str = "",
) -> None:
    """Raise AssertionError unless shapes and dtypes are equal and every element is near enough.

    An element is near enough if it is within `ulp` representable numbers of the expected one, or within
    `atol + rtol * abs(expected)`. NaN is near NaN only, an infinity near itself only. The message names the elements
    that are furthest off, with both values and their distance; `name` says which result it is about.

    >>> from tensorframe.testing.compare import assert_close
    >>> assert_close(tfr.sin(tfr.asarray([0.5])), np.sin(np.float32([0.5])), ulp=2)
    """
    left, right = host(actual), host(expected)
    subject = f"{name}: " if name else ""
    if left.shape != right.shape:
        raise AssertionError(f"{subject}the shape is {left.shape}, expected {right.shape}")
    if left.dtype != right.dtype:
        raise AssertionError(f"{subject}the dtype is {left.dtype}, expected {right.dtype}")
    distance = ulp_distance(left, right)
    wrong = distance > ulp
    if (rtol or atol) and wrong.any():
        wrong &= ~_within(left, right, rtol, atol)
    if wrong.any():
        allowed = f"ulp={ulp:g}, rtol={rtol:g}, atol={atol:g}"
        raise AssertionError(subject + _report(left, right, distance, wrong, allowed))


def _within(left: Array, right: Array, rtol: float, atol: float) -> Array:
    wide = np.complex128 if left.dtype in COMPLEX else np.float64
    first, second = left.astype(wide), right.astype(wide)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(first - second) <= atol + rtol * np.abs(second)
    # an infinite tolerance must not swallow an infinity
    return np.asarray(near & np.isfinite(first) & np.isfinite(second))


def _report(left: Array, right: Array, distance: Array, wrong: Array, allowed: str) -> str:
    places = np.argwhere(wrong)
    furthest = np.argsort(-distance[wrong], kind="stable")[:SHOWN]
    lines = [
        f"{len(places)} of {left.size} elements of {left.dtype}{list(left.shape)} differ ({allowed})"
    ]
    for place in places[furthest]:
        at = tuple(place.tolist())
        where = f"  at {list(at)}: " if at else "  "
        lines.append(f"{where}{left[at]!s}, expected {right[at]!s} ({distance[at]:g} ULP)")
    if len(places) > SHOWN:
        lines.append("  ...")
    return "\n".join(lines)
