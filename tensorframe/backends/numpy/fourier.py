"""Fourier transforms through NumPy's pocketfft, which keeps single precision single."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import Function, spells
from tensorframe.dtypes import DType, complex_of, real_of

Array = Any

# What runs transforms of one axis: (array, that axis) -> array
_Line = Callable[[Array, int], Array]
# of NumPy's ufuncs: a line of points and a factor give a line of as many points as the output has
_SIGNATURES = ("(n),()->(m)", "(m),()->(n)")


def _transform(name: str) -> Function:
    def run(x: Array, sizes: tuple[int, ...], axes: tuple[int, ...], norm: str) -> Array:
        for line, axis in _lines(name, x.dtype, sizes, axes, norm):
            x = line(x, axis)
        return x

    return run


@lru_cache(maxsize=1024)
def _lines(
    name: str, dtype: DType, sizes: tuple[int, ...], axes: tuple[int, ...], norm: str
) -> tuple[tuple[_Line, int], ...]:
    """Return what transforms an array of a dtype along each axis, in NumPy's order: the last first, of `irfft` last.

    Of real values the last axis alone is a transform of real values, or gives some.
    """
    along_one = name.removesuffix("n")
    names = ["ifft" if name.startswith("i") else "fft"] * (len(axes) - 1) + [along_one]
    lines = []
    places = range(len(axes)) if name == "irfftn" else reversed(range(len(axes)))
    for place in places:
        lines.append((_line(names[place], dtype, sizes[place], norm), axes[place]))
        dtype = complex_of(dtype)
    return tuple(lines)


@lru_cache(maxsize=1024)
def _line(name: str, dtype: DType, points: int, norm: str) -> _Line:
    """Return what transforms lines of a dtype to so many points.

    It is the ufunc that NumPy's function calls, with the factor and the dtype that it works out in each call, which
    takes twice as long as a transform of 64 points. A factor of 1 has the precision of the elements here: NumPy's
    integer has single precision copied to double, and back, for three to seven times the time. Those ufuncs have no
    public name: where a version of NumPy has none of this kind, its function it is. Real values are complex before a
    transform of complex ones: of the ufunc's loops NumPy takes the first that is wide enough, in double precision.
    """
    public = getattr(np.fft, name)
    ufunc = _ufunc(name, points)
    if ufunc is None:
        return lambda x, axis: public(x, points, axis, norm)
    result = real_of(dtype) if name == "irfft" else complex_of(dtype)
    length = points // 2 + 1 if name == "rfft" else points
    factor = _factor(points, real_of(dtype), norm, is_inverse=name.startswith("i"))

    widens = name in ("fft", "ifft") and dtype != result

    def run(x: Array, axis: int) -> Array:
        if widens:
            x = x.astype(result)
        if x.ndim == 1:
            return ufunc(x, factor, np.empty(length, result))
        shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
        out = np.empty_like(x, dtype=result, shape=shape)
        return ufunc(x, factor, axes=[(axis,), (), (axis,)], out=out)

    return run


def _ufunc(name: str, points: int) -> np.ufunc | None:
    parity = ("_n_odd" if points % 2 else "_n_even") if name == "rfft" else ""
    ufunc = getattr(getattr(np.fft, "_pocketfft_umath", None), name + parity, None)
    return ufunc if getattr(ufunc, "signature", None) in _SIGNATURES else None


def _factor(points: int, dtype: DType, norm: str, *, is_inverse: bool) -> Array:
    """Return the factor of a transform in the precision that NumPy takes for it, an array: ufuncs take these sooner."""
    factor: Any = 1
    if norm == "ortho":
        factor = np.reciprocal(np.sqrt(points, dtype=dtype))
    elif (norm == "backward") is is_inverse:
        factor = np.reciprocal(points, dtype=dtype)
    return np.asarray(factor, dtype)


for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    spells(_name)(_transform(_name))
