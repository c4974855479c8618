"""Windows: weights that fall off towards both ends, as for spectra."""

from __future__ import annotations

import math
from typing import Any

from tensorframe import dtypes
from tensorframe.backends.registry import resolve_device
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.creation.filled import default_real
from tensorframe.frontend.creation.ranges import counted
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.fast_paths.constant_results import made_of_numbers
from tensorframe.frontend.operand_nodes import placed
from tensorframe.frontend.operands import converted, filled
from tensorframe.frontend.parameters import integer, number
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU
from tensorframe.graph.holding import holds
from tensorframe.ops.elementwise import COS, MAXIMUM, SQRT

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def _odd_places(name: str, M: Any) -> Any:
    """Return -(M - 1), -(M - 3) ... M - 1 in float64, as NumPy computes windows; nothing for no points."""
    size = max(integer(name, "M", M), 0)
    place = resolve_device(None)
    home = place if holds(place, dtypes.as_dtype("float64")) else CPU
    return counted(size, 1.0 - size, 2.0, dtypes.as_dtype("float64"), home)


def _window(name: str, values: Any, device: OnDevice) -> Tensor:
    """Return a window in the default dtype, where the user wants it; one point is 1."""
    place = resolve_device(device)
    target = default_real(name, None, place)
    if values.size == 1:
        return filled((1,), 1.0, target, place)
    return Tensor(placed(converted(values, target).node, place))


def _cosines(name: str, M: Any, *weights: float) -> Any:
    places = _odd_places(name, M)
    gaps = max(places.size - 1, 1)
    result: Any = weights[0]
    for turns, weight in enumerate(weights[1:], start=1):
        result = result + weight * apply(COS, places * (math.pi * turns / gaps))
    return result


@made_of_numbers
def bartlett(M: int, *, device: OnDevice = None) -> Tensor:
    """The triangular window of `M` points, with zeros at both ends.

    It rises linearly to the middle and falls likewise; a vector of the default dtype.

    >>> tfr.bartlett(5).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    places = _odd_places("bartlett", M)
    return _window("bartlett", 1 - abs(places) / max(places.size - 1, 1), device)


@made_of_numbers
def blackman(M: int, *, device: OnDevice = None) -> Tensor:
    """The Blackman window of `M` points: a sum of three cosines, almost zero at both ends.

    >>> tfr.blackman(3).numpy().round(3) + 0.0
    array([0., 1., 0.], dtype=float32)
    """
    return _window("blackman", _cosines("blackman", M, 0.42, 0.5, 0.08), device)


@made_of_numbers
def hamming(M: int, *, device: OnDevice = None) -> Tensor:
    """The Hamming window of `M` points: a raised cosine, 0.08 at both ends.

    Its constants 0.54 and 0.46 weaken the nearest side lobe of its spectrum.

    >>> tfr.hamming(3).numpy().round(3)
    array([0.08, 1.  , 0.08], dtype=float32)
    """
    return _window("hamming", _cosines("hamming", M, 0.54, 0.46), device)


@made_of_numbers
def hanning(M: int, *, device: OnDevice = None) -> Tensor:
    """The Hann window of `M` points: a raised cosine, zero at both ends.

    >>> tfr.hanning(5).numpy().round(3)
    array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _window("hanning", _cosines("hanning", M, 0.5, 0.5), device)


@made_of_numbers
def kaiser(M: int, beta: float, *, device: OnDevice = None) -> Tensor:
    """The Kaiser window of `M` points, made of Bessel functions: the larger `beta`, the narrower.

    >>> tfr.kaiser(3, 0.0).tolist()
    [1.0, 1.0, 1.0]
    """
    from tensorframe.frontend.numpy_names.elementwise import i0

    shape = number("kaiser", "beta", beta)
    places = _odd_places("kaiser", M)
    part = places / max(places.size - 1, 1)
    inside = apply(SQRT, apply(MAXIMUM, 1.0 - part * part, 0.0))
    return _window(
        "kaiser", i0(inside * shape) / i0(converted(places[:1] * 0 + shape, places.dtype)), device
    )
