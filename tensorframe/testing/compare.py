"""Comparison: how many representable numbers lie between two results, and where they differ most."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX
from tensorframe.frontend.trials import differences

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
    return differences.ulp_distance(host(actual), host(expected))


def host(value: Any) -> Array:
    """Return the elements of a Tensor, an array or a number as an array."""
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


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
        position = tuple(place.tolist())
        where = f"  at {list(position)}: " if position else "  "
        lines.append(
            f"{where}{left[position]!s}, expected {right[position]!s} ({distance[position]:g} ULP)"
        )
    if len(places) > SHOWN:
        lines.append("  ...")
    return "\n".join(lines)
