"""Grids: the vectors of several axes, and the indices of all elements, repeated along the other axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from tensorframe import dtypes
from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import DTypeLike, as_dtype, int64
from tensorframe.errors import ArgumentError, DTypeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.creation.ranges import arange
from tensorframe.frontend.fast_paths.constant_results import made_of_numbers
from tensorframe.frontend.manipulation.joining import stack
from tensorframe.frontend.operands import expanded, filled, operand, reshaped
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import default_on
from tensorframe.graph.shape import Shape, as_shape, broadcast

__all__ = ["fromfunction", "indices", "meshgrid"]


def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: Literal["xy", "ij"] = "xy"
) -> tuple[Tensor, ...]:
    """Return one tensor per vector: its elements along the vector's own axis, repeated along the others.

    Tensors of more axes count as vectors of their elements in C order. Axis i belongs to vector i with `indexing="ij"`;
    the first two change places with "xy". With `sparse` the other axes have size 1. `copy` is NumPy's: tensors
    never see what happens to others.

    >>> x, y = tfr.meshgrid(tfr.asarray([1, 2, 3]), tfr.asarray([4, 5]))
    >>> x.tolist(), y.tolist()
    ([[1, 2, 3], [1, 2, 3]], [[4, 4, 4], [5, 5, 5]])
    """
    del copy
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid: indexing is 'xy' or 'ij', got {indexing!r}")
    vectors = [operand(array) for array in xi]
    order = list(range(len(vectors)))
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    grid = []
    for vector, axis in zip(vectors, order, strict=True):
        shape = [1] * len(vectors)
        shape[axis] = vector.size
        grid.append(reshaped(vector, tuple(shape)))
    if sparse or not grid:
        return tuple(grid)
    full = broadcast("meshgrid", *[tensor.shape for tensor in grid])
    return tuple(expanded(tensor, full) for tensor in grid)


@made_of_numbers
def indices(
    dimensions: ShapeLike,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
    *,
    device: OnDevice = None,
) -> Any:
    """Return the index of every element of a tensor of shape `dimensions`, one axis index after another.

    int64 unless `dtype` says otherwise. `sparse` gives a tuple of tensors of size 1 along all axes but one.

    >>> tfr.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    shape = as_shape(dimensions)
    if not shape and not sparse:
        place = resolve_device(device)
        counted = default_on(place, int64) if dtype is None else as_dtype(dtype)
        return filled((0,), 0, counted, place)
    axes = [arange(size, dtype=dtype, device=device) for size in shape]
    grid = meshgrid(*axes, sparse=bool(sparse), indexing="ij")
    return grid if sparse else stack(grid)


def fromfunction(
    function: Callable[..., Any],
    shape: Iterable[int],
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    like: ArrayLike | None = None,
    **kwargs: Any,
) -> Any:
    """Return `function(i, j, ...)` called once with the indices of a tensor of `shape`, floats by default.

    Other keyword arguments are the function's own.

    >>> tfr.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=tfr.int64).tolist()
    [[0, 1, 2], [10, 11, 12]]
    """
    del like
    kind = dtypes.default_float() if dtype is None else dtype
    if not callable(function):
        raise DTypeError(f"fromfunction: takes a function, got {type(function).__name__}")
    return function(*_index_grid(as_shape(shape), kind, device=device), **kwargs)


@made_of_numbers
def _index_grid(shape: Shape, dtype: DTypeLike, *, device: OnDevice) -> tuple[Tensor, ...]:
    axes = [arange(size, dtype=dtype, device=device) for size in shape]
    return meshgrid(*axes, indexing="ij")
