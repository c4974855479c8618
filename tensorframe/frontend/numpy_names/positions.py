"""Positions: numbers and index tensors for elements, grids of them, and NumPy's `mgrid`, `ogrid` and `r_`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, Final, Literal

import numpy as np

from tensorframe.dtypes import BOOL, INTEGER, as_dtype
from tensorframe.errors import ArgumentError, DTypeError, IndexingError, ShapeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.creation.grids import meshgrid
from tensorframe.frontend.creation.ranges import arange, linspace, positions
from tensorframe.frontend.creation.triangles import tril_indices, triu_indices
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.fast_paths.constant_results import made_of_numbers
from tensorframe.frontend.fast_paths.exact_functions import exact
from tensorframe.frontend.indexing.searching import nonzero
from tensorframe.frontend.manipulation.joining import concat, stack
from tensorframe.frontend.operands import operand, reshaped, weakly
from tensorframe.frontend.parameters import choice, count
from tensorframe.frontend.protocols.ufuncs import through_numpy
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU
from tensorframe.graph.shape import as_shape
from tensorframe.ops.elementwise import MAXIMUM, MINIMUM, REMAINDER

__all__ = [
    "c_",
    "diag_indices",
    "diag_indices_from",
    "ix_",
    "mask_indices",
    "mgrid",
    "ndenumerate",
    "ogrid",
    "r_",
    "ravel_multi_index",
    "tril_indices_from",
    "triu_indices_from",
    "unravel_index",
]

# NumPy takes the largest of these for negative ones
_UNSIGNED: Final = frozenset({as_dtype("uint64")})


def _integers(name: str, value: Any) -> Any:
    tensor = operand(value)
    if tensor.dtype not in INTEGER:
        raise DTypeError(f"{name}: indices are integers, got {tensor.dtype}")
    return tensor


def _check(name: str, index: Any, size: int, what: str) -> None:
    """Raise IndexingError if an index that is known already is out of bounds; what is not computed yet wraps."""
    if index.node.storage is None or not index.size:
        return
    places = index._array()
    if places.min() < 0 or places.max() >= size:
        raise IndexingError(f"{name}: an index is out of bounds for {what}")


@exact(np.unravel_index, 3, besides=_UNSIGNED)
def unravel_index(
    indices: ArrayLike, shape: ShapeLike, order: Literal["C", "F"] = "C"
) -> tuple[Tensor, ...]:
    """The indices along each axis of a tensor of `shape`, of elements that are counted in C (or Fortran) order.

    >>> [axis.tolist() for axis in tfr.unravel_index(tfr.asarray([5, 7]), (3, 4))]
    [[1, 1], [1, 3]]
    """
    choice("unravel_index", "order", order, ("C", "F"))
    rest = _integers("unravel_index", indices)
    sizes = as_shape(shape)
    _check("unravel_index", rest, prod(sizes), f"shape {sizes}")
    coordinates = []
    for size in sizes if order == "F" else sizes[::-1]:
        coordinates.append(apply(REMAINDER, rest, max(size, 1)))
        rest = rest // max(size, 1)
    return tuple(coordinates if order == "F" else coordinates[::-1])


@exact(np.ravel_multi_index, 4, besides=_UNSIGNED)
def ravel_multi_index(
    multi_index: ArrayLike,
    dims: ShapeLike,
    mode: str | tuple[str, ...] = "raise",
    order: Literal["C", "F"] = "C",
) -> Tensor:
    """The positions, counted in C (or Fortran) order, of elements with these indices along each axis.

    `mode`, one for all axes or one for each, says what becomes of an index out of bounds: "raise", "wrap" or "clip".

    >>> tfr.ravel_multi_index((tfr.asarray([1, 1]), tfr.asarray([1, 3])), (3, 4)).tolist()
    [5, 7]
    """
    name = "ravel_multi_index"
    choice(name, "order", order, ("C", "F"))
    sizes = as_shape(dims)
    parts = [_integers(name, part) for part in _parts(name, multi_index, len(sizes))]
    modes = list(mode) if isinstance(mode, tuple | list) else [mode] * len(sizes)
    if len(modes) != len(sizes):
        raise ArgumentError(f"{name}: {len(modes)} modes for {len(sizes)} axes")
    step, result = 1, 0
    for axis in range(len(sizes)) if order == "F" else reversed(range(len(sizes))):
        size, index = sizes[axis], parts[axis]
        way = choice(name, "mode", modes[axis], ("raise", "wrap", "clip"))
        if way == "wrap":
            index = apply(REMAINDER, index, max(size, 1))
        elif way == "clip":
            index = apply(MAXIMUM, apply(MINIMUM, index, size - 1), 0)
        else:
            _check(name, index, size, f"axis {axis} of size {size}")
        result = result + index * step
        step *= size
    return operand(result)


def _parts(name: str, multi_index: Any, axes: int) -> list[Any]:
    parts = (
        list(multi_index) if isinstance(multi_index, tuple | list) else list(operand(multi_index))
    )
    if len(parts) != axes:
        raise ShapeError(f"{name}: indices for {len(parts)} axes, but dims has {axes}")
    return parts


def ix_(*args: Any) -> tuple[Tensor, ...]:
    """Index tensors that select all combinations: vector i along axis i, bools as the positions where they are true.

    >>> tfr.asarray([[1, 2, 3], [4, 5, 6]])[tfr.ix_([0, 1], [0, 2])].tolist()
    [[1, 3], [4, 6]]
    """
    result = []
    for place, arg in enumerate(args):
        tensor = operand(arg)
        if tensor.ndim != 1:
            raise ShapeError(f"ix_: takes vectors, got shape {tensor.shape}")
        if tensor.size == 0:
            tensor = tensor.astype("int64")
        if tensor.dtype in BOOL:
            (tensor,) = nonzero(tensor)
        shape = [1] * len(args)
        shape[place] = tensor.size
        result.append(reshaped(_integers("ix_", tensor), tuple(shape)))
    return tuple(result)


@made_of_numbers
def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The indices of the diagonal of a tensor with `ndim` axes of size `n`.

    >>> [axis.tolist() for axis in tfr.diag_indices(3)]
    [[0, 1, 2], [0, 1, 2]]
    """
    places = positions(count("diag_indices", "n", n), CPU)
    return tuple(Tensor(places.node) for _ in range(count("diag_indices", "ndim", ndim)))


def diag_indices_from(arr: ArrayLike) -> tuple[Tensor, ...]:
    """The indices of the diagonal of a tensor with two axes or more, all of one size.

    >>> [axis.tolist() for axis in tfr.diag_indices_from(tfr.zeros((2, 2)))]
    [[0, 1], [0, 1]]
    """
    shape = operand(arr).shape
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ShapeError(f"diag_indices_from: takes axes of one size, two or more, got {shape}")
    return diag_indices(shape[0], len(shape))


def _matrix_shape(name: str, arr: Any) -> tuple[int, int]:
    shape = operand(arr).shape
    if len(shape) != 2:
        raise ShapeError(f"{name}: takes a matrix, got shape {shape}")
    return shape[0], shape[1]


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Tensor, Tensor]:
    """The row and column indices of the lower triangle of a matrix, up to the diagonal `k`.

    >>> [axis.tolist() for axis in tfr.tril_indices_from(tfr.zeros((2, 2)))]
    [[0, 1, 1], [0, 0, 1]]
    """
    rows, columns = _matrix_shape("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Tensor, Tensor]:
    """The row and column indices of the upper triangle of a matrix, from the diagonal `k` on.

    >>> [axis.tolist() for axis in tfr.triu_indices_from(tfr.zeros((2, 2)))]
    [[0, 0, 1], [0, 1, 1]]
    """
    rows, columns = _matrix_shape("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> tuple[Tensor, ...]:
    """The indices of an n by n matrix where `mask_func(ones, k)` is not zero. Computes at once.

    >>> [axis.tolist() for axis in tfr.mask_indices(2, tfr.triu)]
    [[0, 0, 1], [0, 1, 1]]
    """
    size = count("mask_indices", "n", n)
    if not callable(mask_func):
        raise DTypeError(f"mask_indices: takes a function, got {type(mask_func).__name__}")
    ones = reshaped(positions(size * size, CPU), (size, size)) * 0 + 1
    return nonzero(operand(mask_func(ones, k)) != 0)


def ndenumerate(arr: ArrayLike) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the index and the value of each element, in C order. Computes the elements at once.

    >>> list(tfr.ndenumerate(tfr.asarray([[1, 2]])))
    [((0, 0), 1), ((0, 1), 2)]
    """
    elements = operand(arr)._array()
    return ((index, value.item()) for index, value in np.ndenumerate(elements))


def _line(part: slice) -> Tensor:
    """Return the numbers of a slice: from start to below stop, or so many up to stop where step is imaginary."""
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if part.stop is None:
        raise ArgumentError("mgrid: a slice says where it stops", suggestions=("0:5", "0:1:11j"))
    if isinstance(step, complex):
        line: Tensor = linspace(start, part.stop, int(abs(step)))
        return line
    return arange(start, part.stop, step)


class Grid:
    """Grids by slices: `mgrid[0:2, 0:3]`. A step such as `5j` gives five numbers, the last of them at the stop."""

    __slots__ = ("_sparse",)

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if not all(isinstance(part, slice) for part in parts):
            raise IndexingError("mgrid and ogrid take slices", suggestions=("tfr.mgrid[0:2, 0:3]",))
        lines = [_line(part) for part in parts]
        if not isinstance(key, tuple):
            return lines[0]
        dtypes = [line.dtype for line in lines]
        if any(dtype not in INTEGER for dtype in dtypes):
            kind = next(dtype for dtype in dtypes if dtype not in INTEGER)
            lines = [line.astype(kind) for line in lines]
        grid = meshgrid(*lines, indexing="ij", sparse=self._sparse)
        return grid if self._sparse else stack(grid)


mgrid = Grid(sparse=False)
ogrid = Grid(sparse=True)


class Join:
    """Joining by index: `r_[1:4, 0, x]` joins numbers, the numbers of slices, and tensors."""

    __slots__ = ("_numpy",)

    def __init__(self, numpy: Any) -> None:
        self._numpy = numpy

    def __getitem__(self, key: Any) -> Tensor:
        parts = key if isinstance(key, tuple) else (key,)
        values = [_line(part) if isinstance(part, slice) else part for part in parts]
        numeric = iter(weakly([value for value in values if not isinstance(value, str)]))
        given = [value if isinstance(value, str) else next(numeric) for value in values]
        vectors = [value for value in given if isinstance(value, Tensor) and value.ndim < 2]
        if self._numpy is np.r_ and len(vectors) == len(given):
            return concat([reshaped(vector, (vector.size,)) for vector in vectors])
        result: Tensor = through_numpy(self._numpy.__getitem__, (tuple(given),), {})
        return result


r_ = Join(np.r_)
c_ = Join(np.c_)
