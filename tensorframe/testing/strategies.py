"""Hypothesis strategies: dtypes, shapes, arrays of odd layouts, and tensors of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.dtypes import COMPLEX, FLOAT, NARROW, DType, as_dtype, real_of
from tensorframe.graph.shape import Shape

Array = np.ndarray[Any, Any]

__all__ = ["arrays", "broadcastable_shapes", "dtypes_of", "shapes", "tensors"]


def dtypes_of(accepts: frozenset[DType] = dtypes.ANY) -> st.SearchStrategy[DType]:
    """Dtypes out of a set of `tensorframe.dtypes`, such as FLOAT or INTEGER.

    >>> from tensorframe.testing import strategies
    >>> strategies.dtypes_of(tfr.dtypes.COMPLEX)
    sampled_from([dtype('complex128'), dtype('complex64')])
    """
    return st.sampled_from(sorted(accepts, key=str))


def shapes(*, max_ndim: int = 4, max_size: int = 5, min_size: int = 0) -> st.SearchStrategy[Shape]:
    """Shapes, those of no axes and of no elements included."""
    return hnp.array_shapes(min_dims=0, max_dims=max_ndim, min_side=min_size, max_side=max_size)


@st.composite
def broadcastable_shapes(
    draw: st.DrawFn, count: int = 2, *, max_ndim: int = 4
) -> tuple[Shape, ...]:
    """As many shapes as said, which broadcast together."""
    result = draw(shapes(max_ndim=max_ndim))

    def operand() -> Shape:
        shape = tuple(size if draw(st.booleans()) else 1 for size in result)
        return shape[draw(st.integers(0, len(shape))) :]

    return tuple(operand() for _ in range(count))


def elements(dtype: DType, *, special: bool = True) -> st.SearchStrategy[Any]:
    """Elements of a dtype; `special` lets NaN and infinities in."""
    if dtype in COMPLEX:
        part = elements(real_of(dtype), special=special)
        return st.builds(complex, part, part)
    if dtype in FLOAT:
        width: Any = 16 if dtype in NARROW else dtype.itemsize * 8
        return st.floats(width=width, allow_nan=special, allow_infinity=special)
    if dtype == dtypes.bool_:
        return st.booleans()
    limits = np.iinfo(dtype)
    return st.integers(int(limits.min), int(limits.max))


@st.composite
def arrays(
    draw: st.DrawFn,
    dtype: DType | st.SearchStrategy[DType] | None = None,
    shape: Shape | st.SearchStrategy[Shape] | None = None,
    *,
    special: bool = True,
) -> Array:
    """NumPy arrays: contiguous ones, and strided, reversed and transposed views."""
    dtype_drawn = as_dtype(draw(dtypes_of()) if dtype is None else _drawn(draw, dtype))
    sizes = draw(shapes()) if shape is None else _drawn(draw, shape)
    count = math.prod(sizes)
    values = draw(st.lists(elements(dtype_drawn, special=special), min_size=count, max_size=count))
    with np.errstate(
        over="ignore"
    ):  # float16's largest numbers are none of bfloat16's neighbours, but NumPy checks
        array: Array = np.array(values, dtype_drawn).reshape(sizes)
    return draw(st.sampled_from(_LAYOUTS))(array)


def _drawn(draw: st.DrawFn, value: Any) -> Any:
    return draw(value) if isinstance(value, st.SearchStrategy) else value


def _strided(array: Array) -> Array:
    if not array.shape:
        return array
    return np.repeat(array, 2, axis=-1)[..., ::2]


def _reversed(array: Array) -> Array:
    return np.flip(np.flip(array).copy()) if array.shape else array


def _columns(array: Array) -> Array:
    return np.asarray(array, order="F")


def _as_it_is(array: Array) -> Array:
    return array


_LAYOUTS = (_as_it_is, _strided, _reversed, _columns)


@st.composite
def tensors(
    draw: st.DrawFn,
    dtype: DType | st.SearchStrategy[DType] | None = None,
    shape: Shape | st.SearchStrategy[Shape] | None = None,
    *,
    special: bool = True,
) -> tfr.Tensor:
    """Tensors that share the memory of `arrays`."""
    return tfr.asarray(draw(arrays(dtype, shape, special=special)), copy=False)
