"""Joining and splitting: tensors put together along axes, repeated, and taken apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorframe.dtypes import INTEGER, DTypeLike, as_dtype
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.dtypes.casting import Casting, raise_unless_allowed
from tensorframe.frontend.fast_paths.memoization import memoized
from tensorframe.frontend.indexing.few_elements import parts_viewed
from tensorframe.frontend.indexing.index_nodes import as_array
from tensorframe.frontend.indexing.searching import take
from tensorframe.frontend.manipulation.views import (
    expand_dims,
    joined,
    part_of,
    ravel,
)
from tensorframe.frontend.operands import (
    along_line,
    converted,
    expanded,
    operand,
    promoted,
    reshaped,
    weakly,
    with_axes,
)
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import integer, integers, items
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import as_shape, normalize_axis

__all__ = [
    "array_split",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "repeat",
    "split",
    "stack",
    "tile",
    "unstack",
    "vsplit",
    "vstack",
]


def _alike(
    name: str, arrays: Any, dtype: DTypeLike | None = None, casting: Casting = "same_kind"
) -> list[Tensor]:
    """Return what is joined, the parts of a tensor or a sequence, in one dtype: `dtype`, or what they promote to."""
    parts = unstack(arrays) if isinstance(arrays, Tensor) else items(name, "arrays", arrays)
    if not parts:
        raise ArgumentError(f"{name}: takes one tensor at least")
    if dtype is None:
        return promoted(*parts)
    target = as_dtype(dtype)
    tensors = weakly(parts)
    for tensor in tensors:
        raise_unless_allowed(name, tensor.dtype, target, casting)
    return [converted(tensor, target) for tensor in tensors]


@memoized
def concat(
    arrays: Iterable[ArrayLike],
    /,
    axis: int | None = 0,
    out: Output = None,
    *,
    dtype: DTypeLike | None = None,
    casting: Casting = "same_kind",
) -> Tensor:
    """Return the tensors of a sequence joined along an existing axis, or all flattened if it is None.

    They promote to one dtype, or are converted to `dtype`. ShapeError unless their other axes have equal sizes.
    `out` receives the result. `casting` is the rule that conversion to `dtype` has to keep, DTypeError if it does not.

    >>> tfr.concat([tfr.asarray([1, 2]), tfr.asarray([3])]).tolist()
    [1, 2, 3]
    >>> tfr.concat([tfr.ones((2, 3)), tfr.zeros((2, 1))], axis=1).tolist()
    [[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0]]
    """
    tensors = _alike("concat", arrays, dtype, casting)
    if axis is None:
        return delivered("concat", joined([ravel(tensor) for tensor in tensors], 0), out)
    if tensors[0].ndim == 0:
        raise ShapeError(
            "concat: 0-d tensors have no axis to join along",
            suggestions=("tfr.stack, which makes a new axis",),
        )
    dimension = normalize_axis("concat", axis, tensors[0].ndim)
    return delivered("concat", joined(tensors, dimension), out)


concatenate = concat


@memoized
def stack(
    arrays: Iterable[ArrayLike],
    axis: int = 0,
    out: Output = None,
    *,
    dtype: DTypeLike | None = None,
    casting: Casting = "same_kind",
) -> Tensor:
    """Return tensors of one shape joined along a new axis, which stands at the position `axis` of the result.

    >>> tfr.stack([tfr.asarray([1, 2]), tfr.asarray([3, 4])], axis=1).tolist()
    [[1, 3], [2, 4]]
    """
    tensors = _alike("stack", arrays, dtype, casting)
    shapes = [tensor.shape for tensor in tensors]
    if len(set(shapes)) > 1:
        listed = " and ".join(map(str, dict.fromkeys(shapes)))
        hint = "tfr.concat joins along an axis that is there"
        raise ShapeError(f"stack: shapes {listed} differ", suggestions=(hint,))
    dimension = normalize_axis("stack", axis, len(shapes[0]) + 1)
    if dimension == 0 and shapes[0]:
        result = _stacked(tensors)
    else:
        result = joined([expand_dims(tensor, dimension) for tensor in tensors], dimension)
    return result if out is None else delivered("stack", result, out)


def _stacked(tensors: list[Tensor]) -> Tensor:
    """Return tensors of one shape joined along a new first axis: in C order, one after the other."""
    shape = (len(tensors), *tensors[0].shape)
    return reshaped(joined(tensors, 0), shape)


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the slices of `x` along `axis`, without that axis.

    As many tensors as the axis is long, in a tuple: the inverse of `stack`.

    >>> [row.tolist() for row in tfr.unstack(tfr.asarray([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    tensor = operand(x)
    dimension = normalize_axis("unstack", axis, tensor.ndim)
    shape = tensor.shape[:dimension] + tensor.shape[dimension + 1 :]
    parts = parts_viewed(tensor.node, dimension)
    if parts is not None:
        return parts
    return tuple(
        reshaped(part_of(tensor, dimension, index, 1), shape)
        for index in range(tensor.shape[dimension])
    )


@memoized
def hstack(
    tup: Iterable[ArrayLike], *, dtype: DTypeLike | None = None, casting: Casting = "same_kind"
) -> Tensor:
    """Return the tensors side by side: joined along axis 1, vectors and numbers along axis 0.

    >>> tfr.hstack([tfr.asarray([1]), tfr.asarray([2, 3])]).tolist()
    [1, 2, 3]
    """
    tensors = [with_axes(tensor, 1) for tensor in _alike("hstack", tup)]
    axis = 0 if tensors[0].ndim == 1 else 1
    return concat(tensors, axis=axis, dtype=dtype, casting=casting)


@memoized
def vstack(
    tup: Iterable[ArrayLike], *, dtype: DTypeLike | None = None, casting: Casting = "same_kind"
) -> Tensor:
    """Return the tensors below each other: joined along axis 0, vectors as rows.

    >>> tfr.vstack([tfr.asarray([1, 2]), tfr.asarray([3, 4])]).tolist()
    [[1, 2], [3, 4]]
    """
    tensors = _alike("vstack", tup)
    if dtype is None and len({tensor.shape for tensor in tensors}) == 1 == tensors[0].ndim:
        return _stacked(tensors)
    rows = [with_axes(tensor, 2) for tensor in tensors]
    return concat(rows, axis=0, dtype=dtype, casting=casting)


@memoized
def dstack(tup: Iterable[ArrayLike]) -> Tensor:
    """Return the tensors behind each other: joined along axis 2, matrices getting that axis.

    >>> tfr.dstack([tfr.asarray([1, 2]), tfr.asarray([3, 4])]).tolist()
    [[[1, 3], [2, 4]]]
    """
    planes = [with_axes(tensor, 2) for tensor in _alike("dstack", tup)]
    return concat([expand_dims(plane, 2) if plane.ndim == 2 else plane for plane in planes], axis=2)


@memoized
def column_stack(tup: Iterable[ArrayLike]) -> Tensor:
    """Return vectors as the columns of a matrix; matrices are joined along axis 1.

    >>> tfr.column_stack([tfr.asarray([1, 2]), tfr.asarray([3, 4])]).tolist()
    [[1, 3], [2, 4]]
    """
    tensors = _alike("column_stack", tup)
    return concat(
        [reshaped(tensor, (tensor.size, 1)) if tensor.ndim < 2 else tensor for tensor in tensors],
        axis=1,
    )


def block(arrays: Iterable[ArrayLike]) -> Tensor:
    """Return blocks put together: the innermost lists along the last axis, their lists along the one before, ...

    >>> tfr.block([[tfr.ones((1, 1)), tfr.zeros((1, 2))], [tfr.zeros((1, 3))]]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    depth = _depth(arrays)
    blocks = weakly(list(_leaves(arrays)))
    ndim = max([depth, *[part.ndim for part in blocks]])
    return _joined_blocks(arrays, iter(blocks), ndim - depth, ndim)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(array) for array in arrays}
    if len(depths) != 1:
        raise ShapeError("block: lists are nested to one depth everywhere, and not empty")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> Iterable[Any]:
    if not isinstance(arrays, list):
        yield arrays
        return
    for array in arrays:
        yield from _leaves(array)


def _joined_blocks(arrays: Any, blocks: Iterator[Tensor], axis: int, ndim: int) -> Tensor:
    """Return the next `blocks` joined as the nested lists `arrays` say."""
    if not isinstance(arrays, list):
        return with_axes(next(blocks), ndim)
    return concat([_joined_blocks(array, blocks, axis + 1, ndim) for array in arrays], axis=axis)


def array_split(ary: ArrayLike, indices_or_sections: ArrayLike, axis: int = 0) -> list[Tensor]:
    """Return parts of `ary` along `axis`: so many, the first ones larger by one, or cut at the given indices.

    >>> [part.tolist() for part in tfr.array_split(tfr.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    >>> [part.shape for part in tfr.array_split(tfr.ones((2, 4)), 3, axis=1)]
    [(2, 2), (2, 1), (2, 1)]
    """
    return _parts("array_split", *_to_split("array_split", ary, indices_or_sections, axis))


def _to_split(
    name: str, ary: ArrayLike, given: ArrayLike, axis: int
) -> tuple[Tensor, int, int | Sequence[int]]:
    """Return the tensor, its axis counted from the front, and the number of parts, or the indices to cut at."""
    tensor = operand(ary)
    return tensor, normalize_axis(name, axis, tensor.ndim), _cuts(name, given)


def _parts(name: str, tensor: Tensor, dimension: int, cuts: int | Sequence[int]) -> list[Tensor]:
    """Return so many parts along an axis, or those between cuts."""
    size = tensor.shape[dimension]
    if isinstance(cuts, int):
        sections = cuts
        if sections < 1:
            raise ArgumentError(f"{name}: number of parts must be positive, got {sections}")
        shorter, longer = divmod(size, sections)
        cuts = [part * shorter + min(part, longer) for part in range(1, sections)]
    bounds = [slice(start, stop).indices(size)[:2] for start, stop in _between(cuts)]
    return [part_of(tensor, dimension, start, max(0, stop - start)) for start, stop in bounds]


def _cuts(name: str, given: Any) -> int | Sequence[int]:
    """Return the number of parts, or the indices to cut at."""
    parameter = "indices_or_sections"
    is_sequence = type(given) in (list, tuple) or (
        isinstance(given, Iterable) and getattr(given, "shape", None) != ()
    )
    return (integers if is_sequence else integer)(name, parameter, given)


def _between(cuts: Sequence[int]) -> Iterable[tuple[int, int | None]]:
    """Return the pairs of neighbouring cuts, with both ends."""
    return zip([0, *cuts], [*cuts, None], strict=True)


def split(ary: ArrayLike, indices_or_sections: ArrayLike, axis: int = 0) -> list[Tensor]:
    """Return equal parts of `ary` along `axis`, or parts cut at the given indices; ShapeError if they are not equal.

    >>> [part.tolist() for part in tfr.split(tfr.arange(4), 2)]
    [[0, 1], [2, 3]]
    >>> [part.shape for part in tfr.split(tfr.ones((2, 4)), 2, axis=1)]
    [(2, 2), (2, 2)]
    """
    tensor, dimension, cuts = _to_split("split", ary, indices_or_sections, axis)
    size = tensor.shape[dimension]
    if isinstance(cuts, int) and cuts > 0 and size % cuts:
        raise ShapeError(
            f"split: {size} elements do not make {indices_or_sections} equal parts",
            suggestions=("tfr.array_split, whose parts may differ by one",),
        )
    return _parts("split", tensor, dimension, cuts)


def hsplit(ary: ArrayLike, indices_or_sections: ArrayLike) -> list[Tensor]:
    """Return `ary` split along axis 1, a vector along axis 0.

    `indices_or_sections` is the number of equal parts, or the positions to split before, as for
    `split`.

    >>> [part.shape for part in tfr.hsplit(tfr.zeros((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    tensor = _with_dimensions("hsplit", ary, 1)
    return split(tensor, indices_or_sections, 0 if tensor.ndim == 1 else 1)


def vsplit(ary: ArrayLike, indices_or_sections: ArrayLike) -> list[Tensor]:
    """Return `ary` split along axis 0; ShapeError if it has less than two axes.

    >>> [part.shape for part in tfr.vsplit(tfr.zeros((2, 4)), 2)]
    [(1, 4), (1, 4)]
    """
    return split(_with_dimensions("vsplit", ary, 2), indices_or_sections, 0)


def dsplit(ary: ArrayLike, indices_or_sections: ArrayLike) -> list[Tensor]:
    """Return `ary` split along axis 2; ShapeError if it has less than three axes.

    >>> [part.shape for part in tfr.dsplit(tfr.zeros((2, 3, 4)), 2)]
    [(2, 3, 2), (2, 3, 2)]
    """
    return split(_with_dimensions("dsplit", ary, 3), indices_or_sections, 2)


def _with_dimensions(name: str, x: Any, least: int) -> Tensor:
    tensor = operand(x)
    if tensor.ndim < least:
        raise ShapeError(
            f"{name}: takes {least} dimensions or more, got shape {tensor.shape}",
            suggestions=("tfr.split, which takes the axis",),
        )
    return tensor


@memoized
def repeat(a: ArrayLike, repeats: ArrayLike, axis: int | None = None) -> Tensor:
    """Return `a` with each element repeated `repeats` times along `axis`, or in the flattened tensor if it is None.

    A number is recorded as a view. A tensor or sequence, one count for each place on the axis, is computed here and
    now, since the shape depends on it.

    >>> tfr.repeat(tfr.asarray([1, 2]), 2).tolist()
    [1, 1, 2, 2]
    >>> tfr.repeat(tfr.asarray([[1, 2], [3, 4]]), tfr.asarray([1, 2]), axis=0).tolist()
    [[1, 2], [3, 4], [3, 4]]
    """
    tensor, dimension = along_line("repeat", a, axis)
    if type(repeats) is int and repeats >= 0:
        return _each_repeated(tensor, dimension, repeats)
    counts = _counts(repeats)
    size = tensor.shape[dimension]
    if counts.size == 1:
        return _each_repeated(tensor, dimension, int(counts.reshape(())[()]))
    if counts.shape != (size,):
        raise ShapeError(
            f"repeat: {counts.shape} counts do not fit axis {dimension} of shape {tensor.shape}"
        )
    return take(tensor, np.repeat(np.arange(size), counts), axis=dimension)


def _each_repeated(tensor: Tensor, axis: int, count: int) -> Tensor:
    before, size, after = tensor.shape[:axis], tensor.shape[axis], tensor.shape[axis + 1 :]
    spread = expanded(reshaped(tensor, (*before, size, 1, *after)), (*before, size, count, *after))
    return reshaped(spread, (*before, size * count, *after))


def _counts(repeats: Any) -> np.ndarray[Any, Any]:
    counts = as_array(operand(repeats))
    if counts.dtype not in INTEGER and counts.size:
        raise DTypeError(f"repeat: counts are integers, got {counts.dtype}")
    if (counts < 0).any():
        raise ArgumentError("repeat: counts must not be negative")
    return counts.astype(np.int64)


@memoized
def tile(A: ArrayLike, reps: ShapeLike) -> Tensor:
    """Return `A` laid side by side `repetitions[i]` times along axis i; missing axes of either side are of size 1.

    >>> tfr.tile(tfr.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    tensor = operand(A)
    times = as_shape(reps)
    ndim = max(len(times), tensor.ndim)
    times = (1,) * (ndim - len(times)) + times
    shape = with_axes(tensor, ndim).shape
    paired = tuple(length for size in shape for length in (1, size))
    spread = tuple(length for pair in zip(times, shape, strict=True) for length in pair)
    final = tuple(math.prod(pair) for pair in zip(times, shape, strict=True))
    return reshaped(expanded(reshaped(tensor, paired), spread), final)
