"""The definitions of a quantile: which two elements in order it lies between, and how near to the upper one.

All are those of NumPy. Nine of them are the definitions in R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical
Packages", The American Statistician 50 (1996).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tensorframe.frontend.tensor import Tensor

# numbers: an array where they are known, a Tensor where they are recorded
Shares = np.ndarray[Any, Any] | Tensor
# the positions below and above a position among sorted elements, which is a real number, and the weight of the latter
Neighbours = tuple[Shares, Shares, Shares]
Method = Callable[[Shares, Any], Neighbours]
MethodName = Literal[
    "linear",
    "lower",
    "higher",
    "midpoint",
    "nearest",
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "median_unbiased",
    "normal_unbiased",
]


def _around(position: Any, last: Any) -> Neighbours:
    """Return the places around a real one and the weight of the upper, places beyond an end being the end."""
    below = np.floor(position)
    ends = [np.minimum(np.maximum(place, 0), last) for place in (below, below + 1)]
    return ends[0], ends[1], position - below


def _linear(shares: Shares, last: Any) -> Neighbours:
    position = shares * last
    below = np.floor(position)
    return below, np.ceil(position), position - below


def _midpoint(shares: Shares, last: Any) -> Neighbours:
    position = shares * last
    below, above = np.floor(position), np.ceil(position)
    return below, above, (above - below) * 0.5


def _rounded(rounding: Callable[[Any], Any]) -> Method:
    def method(shares: Shares, last: Any) -> Neighbours:
        position = shares * last
        only = rounding(position)
        return only, only, position * 0.0

    return method


def _between_definitions(alpha: float, beta: float) -> Method:
    """Return a continuous definition by its two parameters, in Hyndman's and Fan's notation."""

    def method(shares: Shares, last: Any) -> Neighbours:
        return _around((last + 1) * shares + (alpha + shares * (1 - alpha - beta)) - 1, last)

    return method


def _stepwise(shift: float, is_lower: Callable[[Any, Any], Any]) -> Method:
    """Return a definition that jumps: to the upper neighbour, unless the lower one is told."""

    def method(shares: Shares, last: Any) -> Neighbours:
        position = (last + 1) * shares - 1 - shift
        below = np.floor(position)
        chosen = np.where(is_lower(position - below, below), below, below + 1)
        only = np.minimum(np.maximum(chosen, 0), last)
        return only, only, position * 0.0

    return method


def _averaged(shares: Shares, last: Any) -> Neighbours:
    below, above, weight = _around((last + 1) * shares - 1, last)
    return below, above, np.where(weight == 0, 0.5, 1.0)


# these are NumPy's functions, which record where they meet a Tensor
METHODS: dict[str, Method] = {
    "linear": _linear,
    "lower": _rounded(np.floor),
    "higher": _rounded(np.ceil),
    "midpoint": _midpoint,
    "nearest": _rounded(np.rint),
    "inverted_cdf": _stepwise(0.0, lambda rest, _below: rest == 0),
    "averaged_inverted_cdf": _averaged,
    "closest_observation": _stepwise(0.5, lambda rest, below: (rest == 0) & (below % 2 == 1)),
    "interpolated_inverted_cdf": _between_definitions(0.0, 1.0),
    "hazen": _between_definitions(0.5, 0.5),
    "weibull": _between_definitions(0.0, 0.0),
    "median_unbiased": _between_definitions(1 / 3, 1 / 3),
    "normal_unbiased": _between_definitions(3 / 8, 3 / 8),
}
